"""The solve in plain float64, and a bound for the effect of rounding; products are matrix-free in O(n log n).

There is no formula for the bound of a history, since every step amplifies earlier errors. So the solve runs again with
noise of the size of rounding errors wherever a variant rounds, with the residual updated by recurrence and recomputed
as b - A x, and with two seeds. The largest distance from the exact history, times the confidence factor of
`ladder.harness.validation`, is the drift; the workload's `check` adds the possible gap between the true residual and
the reported one, and the rounding of the value itself.
"""

import functools
import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ladder.harness.validation import CONFIDENCE, unit_roundoff
from ladder.workloads.descent import system

# A solve is followed down to this share of its tolerance, in case a variant stops late, and of the rounding error.
BEYOND = 0.1
SEEDS = (0, 1)
# A recomputed residual below this multiple of its error is noise.
NOISE = 10.0
# Rounding delays conjugate gradients (Greenbaum, Iterative Methods for Solving Linear Systems, 1997, chapter 4): the
# number of steps by which a history may be late or early where it falls steeply. The drift of steepest descent, nearly
# constant over so few steps, hardly grows by it.
LATE = 2


@dataclass
class Solve:
    """An iterative solve: r.r and |b - A x - r| from the start on, and the last x."""

    x: np.ndarray
    history: list = field(default_factory=list)
    gap: list = field(default_factory=list)


class Exact:
    """Only the errors of float64. `unit` is the unit roundoff of the results that are compared with it."""

    def __init__(self, its, unit):
        self.system, self.unit = its, unit

    def product(self, v):
        return self.system.product(v)

    def dot(self, u, v):
        return float(u @ v)

    def vector(self, v):
        return v


class Noisy(Exact):
    """Errors of the size of a unit roundoff wherever a variant rounds.

    The eigenvalues have fixed errors, as have those of the reference.
    """

    def __init__(self, its, unit, seed):
        super().__init__(its, unit)
        self.generator = np.random.default_rng(seed)
        self.eigenvalues = its.eigenvalues + self.draw(len(its.eigenvalues)) * its.eigenvalues.max()

    def draw(self, count=None):
        return self.unit * self.generator.uniform(-1, 1, count)

    def product(self, v):
        """Sums of n products with random signs: errors of u |row| |v|, even for sequential sums.

        As in `random_sum_factor`: n roundings of partial sums of up to |row| |v| / sqrt(n).
        """
        exact = self.system.product(v, self.eigenvalues)
        return exact + self.draw(len(v)) * self.system.row_norm * np.linalg.norm(v)

    def dot(self, u, v):
        return super().dot(u, v) * (1 + self.draw() * np.sqrt(len(u)))

    def vector(self, v):
        return v * (1 + self.draw(len(v)))


def solve(its, algorithm, iterations, tolerance, arithmetic, is_recomputed=False):
    """The Solve of a System from x = 0, to `iterations` or BEYOND a tolerance.

    A recomputed residual is followed down to the noise: conjugate gradients that continue beyond it diverge.
    Shewchuk, An Introduction to the Conjugate Gradient Method Without the Agonizing Pain (1994), has the algorithms.
    """
    b = its.b
    weights = its.diagonal if algorithm == "jacobi" else None
    precondition = (lambda r: arithmetic.vector(r / weights)) if algorithm == "jacobi" else (lambda r: r)
    found = Solve(np.zeros_like(b))
    x, r = found.x, b
    p = z = precondition(r)
    rz = arithmetic.dot(r, z)
    stop = (BEYOND * max(tolerance, arithmetic.unit)) ** 2 * (b @ b)
    for step in range(iterations + 1):
        found.history.append(arithmetic.dot(r, r) if weights is not None else rz)
        found.gap.append(float(np.linalg.norm(b - its.product(x) - r)))
        if step == iterations or found.history[-1] <= stop:
            break
        if is_recomputed and not (NOISE * found.gap[-1]) ** 2 < found.history[-1] < (b @ b) / arithmetic.unit:
            break
        q = arithmetic.product(p)
        if (pq := arithmetic.dot(p, q)) == 0:  # r.r is next to nothing and its square is nothing
            break
        alpha = rz / pq
        x = arithmetic.vector(x + alpha * p)
        r = arithmetic.vector(b - arithmetic.product(x) if is_recomputed else r - alpha * q)
        z = precondition(r)
        before, rz = rz, arithmetic.dot(r, z)
        p = z if algorithm == "steepest" else arithmetic.vector(z + rz / before * p)
    found.x = x
    return found


@dataclass(frozen=True)
class Reference:
    """The expected values after every step, float64 (iterations + 1,).

    `history` is r.r, 0 after the end of the exact solve, `drift` the bound for the effect of rounding on it, and `gap`
    the distance |b - A x - r| that rounding causes between the true residual and r.
    """

    history: np.ndarray
    drift: np.ndarray
    gap: np.ndarray


@functools.lru_cache(maxsize=4)
def reference(n, kappa, iterations, tolerance, algorithm, start, scaling, dtype, seed, round):
    """The Reference of a case's round."""
    its, unit = system.make(n, kappa, start, scaling, dtype, seed, round), unit_roundoff(dtype)
    same = its, algorithm, iterations, tolerance
    exact = solve(*same, Exact(its, unit))
    shaken = [solve(*same, Noisy(its, unit, seed), way) for seed, way in itertools.product(SEEDS, (False, True))]
    history, drift, gap = padded(exact.history, iterations), np.zeros(iterations + 1), np.zeros(iterations + 1)
    for one in shaken:
        drift = np.maximum(drift, np.abs(padded(one.history, iterations) - history))
        gap = np.maximum(gap, padded(one.gap, iterations, mode="edge"))
    # The first step rounds one dot product; relative to the history, drifts only grow, up to all of it.
    share = np.divide(drift, history, out=np.zeros_like(drift), where=drift < history)
    share[(drift >= history) & (history > 0)] = 1
    share = np.maximum.accumulate(np.maximum(share, unit * np.sqrt(n)))
    drift = np.pad(np.maximum(drift, share * history), LATE, mode="edge")
    drift = sliding_window_view(drift, 2 * LATE + 1).max(axis=1)
    scale = CONFIDENCE * (1 + unit_roundoff(np.float64) / unit)
    return Reference(history, scale * drift, scale * np.maximum.accumulate(gap))


def padded(values, iterations, **mode):
    """The values as an array of iterations + 1."""
    return np.pad(values, (0, iterations + 1 - len(values)), **mode)


def of(sizes, round):
    """The Reference of a case's round."""
    names = ("n", "kappa", "iterations", "tolerance", "algorithm", "start", "scaling", "dtype", "seed")
    return reference(*(sizes[name] for name in names), round)


@functools.lru_cache(maxsize=4)
def exact_x(n, kappa, algorithm, start, scaling, dtype, seed, round, steps):
    """The exact x after `steps` steps."""
    its = system.make(n, kappa, start, scaling, dtype, seed, round)
    return solve(its, algorithm, steps, 0.0, Exact(its, unit_roundoff(dtype))).x


def x_after(sizes, round, steps):
    """The exact x of a case's round after `steps` steps."""
    names = ("n", "kappa", "algorithm", "start", "scaling", "dtype", "seed")
    return exact_x(*(sizes[name] for name in names), round, steps)
