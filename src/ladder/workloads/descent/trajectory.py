"""The solve in plain float64, and a bound for the effect of rounding; products are matrix-free in O(n log n).

There is no formula for the bound of a history, since every step amplifies earlier errors. Therefore the solve is
repeated with noise of the size of rounding errors wherever a variant rounds: with two seeds, and with the residual once
updated by recurrence and once recomputed as b - A x. The drift is the largest distance from the exact history, times
the confidence factor of `ladder.harness.validation`. The workload's `check` adds the possible gap between the true and
the reported residual, and the rounding of the value itself.
"""

import functools
import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ladder.harness.validation import CONFIDENCE, unit_roundoff
from ladder.workloads.descent import system

# A solve continues down to this multiple of its tolerance, in case a variant stops late, or of the unit roundoff.
STOP_FACTOR = 0.1
SEEDS = (0, 1)
# A recomputed residual that is below this multiple of its error is noise.
NOISE_FACTOR = 10.0
# The number of steps by which a history may be late or early, since rounding delays conjugate gradients (Greenbaum,
# Iterative Methods for Solving Linear Systems, 1997, chapter 4). It hardly affects steepest descent, whose drift is
# nearly constant over so few steps.
MAX_DELAY = 2


@dataclass
class Solve:
    """The result of an iterative solve: the last x, and from the start on r.r and |b - A x - r|."""

    x: np.ndarray
    history: list = field(default_factory=list)
    gap: list = field(default_factory=list)


class ExactArithmetic:
    """The arithmetic of a solve in float64: products with A, dot products, and the rounding of a computed vector.

    `roundoff` is the unit roundoff of the results that are compared with this solve.
    """

    def __init__(self, equations, roundoff):
        self.system, self.roundoff = equations, roundoff

    def product(self, v):
        return self.system.product(v)

    def dot(self, u, v):
        return float(u @ v)

    def round_vector(self, v):
        return v


class NoisyArithmetic(ExactArithmetic):
    """An arithmetic with errors of the size of `roundoff` wherever a variant rounds.

    The errors of A's eigenvalues are the same in all products.
    """

    def __init__(self, equations, roundoff, seed):
        super().__init__(equations, roundoff)
        self.generator = np.random.default_rng(seed)
        self.eigenvalues = equations.eigenvalues + self.draw(len(equations.eigenvalues)) * equations.eigenvalues.max()

    def draw(self, count=None):
        """A random number between minus and plus `roundoff`, or an array of `count` of them."""
        return self.roundoff * self.generator.uniform(-1, 1, count)

    def product(self, v):
        """A v with errors of u |row| |v|: those of sums of n products with random signs, even in sequential order.

        As in `random_sum_factor`, a sum has n roundings of partial sums of up to |row| |v| / sqrt(n).
        """
        exact = self.system.product(v, self.eigenvalues)
        return exact + self.draw(len(v)) * self.system.row_norm * np.linalg.norm(v)

    def dot(self, u, v):
        return super().dot(u, v) * (1 + self.draw() * np.sqrt(len(u)))

    def round_vector(self, v):
        return v * (1 + self.draw(len(v)))


def solve(equations, algorithm, iterations, tolerance, arithmetic, is_recomputed=False):
    """The Solve of a System from x = 0, up to `iterations` steps or down to STOP_FACTOR times the tolerance.

    With a recomputed residual, it ends when the residual is noise: conjugate gradients that continue diverge.
    Shewchuk, An Introduction to the Conjugate Gradient Method Without the Agonizing Pain (1994), has the algorithms.
    """
    b = equations.b
    diagonal = equations.diagonal if algorithm == "jacobi" else None
    precondition = (lambda r: arithmetic.round_vector(r / diagonal)) if algorithm == "jacobi" else (lambda r: r)
    result = Solve(np.zeros_like(b))
    x, r = result.x, b
    p = z = precondition(r)
    rz = arithmetic.dot(r, z)
    limit = (STOP_FACTOR * max(tolerance, arithmetic.roundoff)) ** 2 * (b @ b)
    for step in range(iterations + 1):
        result.history.append(arithmetic.dot(r, r) if diagonal is not None else rz)
        result.gap.append(float(np.linalg.norm(b - equations.product(x) - r)))
        if step == iterations or result.history[-1] <= limit:
            break
        if (
            is_recomputed
            and not (NOISE_FACTOR * result.gap[-1]) ** 2 < result.history[-1] < (b @ b) / arithmetic.roundoff
        ):
            break
        q = arithmetic.product(p)
        if (pq := arithmetic.dot(p, q)) == 0:  # r.r is so tiny that the product underflows
            break
        alpha = rz / pq
        x = arithmetic.round_vector(x + alpha * p)
        r = arithmetic.round_vector(b - arithmetic.product(x) if is_recomputed else r - alpha * q)
        z = precondition(r)
        previous_rz, rz = rz, arithmetic.dot(r, z)
        p = z if algorithm == "steepest" else arithmetic.round_vector(z + rz / previous_rz * p)
    result.x = x
    return result


@dataclass(frozen=True)
class Reference:
    """The expected values after every step, float64 (iterations + 1,).

    `history` is r.r, and 0 beyond the end of the exact solve. `drift` bounds the effect of rounding on it. `gap` bounds
    |b - A x - r|, the distance between the true residual and r that rounding causes.
    """

    history: np.ndarray
    drift: np.ndarray
    gap: np.ndarray


@functools.lru_cache(maxsize=4)
def reference(n, kappa, iterations, tolerance, algorithm, start, scaling, dtype, seed, round):
    """The Reference of a case's round."""
    equations, roundoff = system.make(n, kappa, start, scaling, dtype, seed, round), unit_roundoff(dtype)
    arguments = equations, algorithm, iterations, tolerance
    exact = solve(*arguments, ExactArithmetic(equations, roundoff))
    noisy_solves = [
        solve(*arguments, NoisyArithmetic(equations, roundoff, seed), is_recomputed)
        for seed, is_recomputed in itertools.product(SEEDS, (False, True))
    ]
    history, drift, gap = pad(exact.history, iterations), np.zeros(iterations + 1), np.zeros(iterations + 1)
    for noisy in noisy_solves:
        drift = np.maximum(drift, np.abs(pad(noisy.history, iterations) - history))
        gap = np.maximum(gap, pad(noisy.gap, iterations, mode="edge"))
    # The relative drift is at least the rounding of one dot product, and never decreases; from 1 on, it counts as 1.
    relative_drift = np.divide(drift, history, out=np.zeros_like(drift), where=drift < history)
    relative_drift[(drift >= history) & (history > 0)] = 1
    relative_drift = np.maximum.accumulate(np.maximum(relative_drift, roundoff * np.sqrt(n)))
    drift = np.pad(np.maximum(drift, relative_drift * history), MAX_DELAY, mode="edge")
    drift = sliding_window_view(drift, 2 * MAX_DELAY + 1).max(axis=1)
    scale = CONFIDENCE * (1 + unit_roundoff(np.float64) / roundoff)
    return Reference(history, scale * drift, scale * np.maximum.accumulate(gap))


def pad(values, iterations, **mode):
    """The values padded to an array of iterations + 1, by default with zeros."""
    return np.pad(values, (0, iterations + 1 - len(values)), **mode)


def from_sizes(sizes, round):
    """The Reference of a case's round."""
    names = ("n", "kappa", "iterations", "tolerance", "algorithm", "start", "scaling", "dtype", "seed")
    return reference(*(sizes[name] for name in names), round)


@functools.lru_cache(maxsize=4)
def exact_x(n, kappa, algorithm, start, scaling, dtype, seed, round, steps):
    """The exact x after `steps` steps."""
    equations = system.make(n, kappa, start, scaling, dtype, seed, round)
    return solve(equations, algorithm, steps, 0.0, ExactArithmetic(equations, unit_roundoff(dtype))).x


def x_after(sizes, round, steps):
    """The exact x of a case's round after `steps` steps."""
    names = ("n", "kappa", "algorithm", "start", "scaling", "dtype", "seed")
    return exact_x(*(sizes[name] for name in names), round, steps)
