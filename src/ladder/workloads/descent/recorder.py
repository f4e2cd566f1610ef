"""What the peers' conjugate gradients leave out: the history of r.r and the number of iterations.

SciPy's and CuPy's `cg` call their preconditioner with r at the start of every iteration; only the last r is missing.
Neither tells 0 / 0 from an answer: their atol ends a solve whose residual is next to nothing.
"""


class Recorder:
    """A preconditioner of A, of its diagonal or none, that writes down the history of a problem's solve.

    `r` and `z` are those of the last iteration so far.
    """

    def __init__(self, problem):
        self.problem, self.step, self.r = problem, 0, problem.b
        self.weights = problem.matrix.diagonal() if problem.sizes["algorithm"] == "jacobi" else None
        problem.history[:] = 0

    def precondition(self, r):
        """z, the preconditioned r."""
        self.problem.history[self.step] = r @ r
        self.step += 1
        self.r, self.z = r, r if self.weights is None else r / self.weights
        return self.z

    def end(self, r):
        """Write down the residual r after the last iteration, and how many there were.

        A solve of a fixed number of iterations that ended before has met `least`, and counts as solved to the end.
        """
        sizes = self.problem.sizes
        is_solved = not sizes["tolerance"] and self.step < sizes["iterations"]
        self.problem.history[self.step] = 0 if is_solved else r @ r
        self.problem.steps[0] = self.step


def tolerances(problem, finfo):
    """How a `cg` stops as the problem asks it to; `finfo` is that of the dtype.

    A residual counts as nothing where its square would have no accurate digits left.
    """
    return {"rtol": problem.sizes["tolerance"], "atol": float(finfo.tiny / finfo.eps) ** 0.5}
