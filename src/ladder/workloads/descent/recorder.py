"""The history of r.r and the number of iterations, which the peers' conjugate gradients don't return.

SciPy's and CuPy's `cg` call their preconditioner with r at the start of every iteration; only the last r is missing.
Neither avoids 0 / 0, so `atol` ends a solve whose residual is tiny.
"""


class Recorder:
    """A preconditioner, by A's diagonal or none, that records the history of a problem's solve.

    `step` is the number of calls so far; `r` and `z` are those of the latest call.
    """

    def __init__(self, problem):
        self.problem, self.step, self.r = problem, 0, problem.b
        self.diagonal = problem.matrix.diagonal() if problem.sizes["algorithm"] == "jacobi" else None
        problem.history[:] = 0

    def precondition(self, r):
        """z, the preconditioned r."""
        self.problem.history[self.step] = r @ r
        self.step += 1
        self.r, self.z = r, r if self.diagonal is None else r / self.diagonal
        return self.z

    def end(self, r):
        """Record the residual r after the last iteration, and the number of iterations.

        If a solve of a fixed number of iterations has stopped early, its residual has met `atol` and counts as 0.
        """
        sizes = self.problem.sizes
        is_solved = not sizes["tolerance"] and self.step < sizes["iterations"]
        self.problem.history[self.step] = 0 if is_solved else r @ r
        self.problem.steps[0] = self.step


def tolerances(problem, finfo):
    """The tolerances of a `cg` for the problem's stopping criterion; `finfo` is that of the dtype.

    A residual counts as 0 if its square would have no accurate digits.
    """
    return {"rtol": problem.sizes["tolerance"], "atol": float(finfo.tiny / finfo.eps) ** 0.5}
