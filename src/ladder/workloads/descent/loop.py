"""The iteration in array operations, for NumPy and for CuPy; shapes as in `ladder.workloads.descent`."""


def solve(xp, product, problem):
    """Solve with the functions of the module `xp`, NumPy or CuPy, and `product(v)`, which returns A v.

    For a fixed number of iterations nothing is copied to the host, so that the host never waits for the GPU. Divisors
    are at least `tiny`, which avoids 0 / 0 for a tiny residual.
    """
    sizes, x, history = problem.sizes, problem.x, problem.history
    tiny = xp.finfo(x.dtype).tiny
    diagonal = problem.matrix.diagonal() if sizes["algorithm"] == "jacobi" else None
    x[:], history[:] = 0, 0
    r = problem.b
    z = r if diagonal is None else r / diagonal
    p, rr, rz = z, r @ r, r @ z
    limit = sizes["tolerance"] ** 2 * rr
    history[0] = rr
    for step in range(1, sizes["iterations"] + 1):
        if sizes["tolerance"] and rr <= limit:
            problem.steps[0] = step - 1
            return
        q = product(p)
        pq = p @ q
        alpha = rz / xp.maximum(pq, tiny)
        x += alpha * p
        r = r - alpha * q
        z = r if diagonal is None else r / diagonal
        previous_rz, rz = rz, r @ z
        rr = rz if diagonal is None else r @ r
        history[step] = rr
        p = z if sizes["algorithm"] == "steepest" else z + rz / xp.maximum(previous_rz, tiny) * p
    problem.steps[0] = sizes["iterations"]
