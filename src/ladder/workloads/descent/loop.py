"""The iteration in array operations, for NumPy and for CuPy; shapes as in `ladder.workloads.descent`."""


def solve(array, product, problem):
    """Solve with the functions of `array`, NumPy or CuPy, and `product(v)`, which returns A v.

    For a fixed number of iterations nothing is copied to the host, so that the GPU isn't synchronised; a tiny residual
    is not updated.
    """
    sizes, x, history = problem.sizes, problem.x, problem.history
    tiny = array.finfo(x.dtype).tiny
    weights = problem.matrix.diagonal() if sizes["algorithm"] == "jacobi" else None
    x[:], history[:] = 0, 0
    r = problem.b
    z = r if weights is None else r / weights
    p, rr, rz = z, r @ r, r @ z
    limit = sizes["tolerance"] ** 2 * rr
    history[0] = rr
    for step in range(1, sizes["iterations"] + 1):
        if sizes["tolerance"] and rr <= limit:
            problem.steps[0] = step - 1
            return
        q = product(p)
        pq = p @ q
        alpha = rz / array.maximum(pq, tiny)
        x += alpha * p
        r = r - alpha * q
        z = r if weights is None else r / weights
        before, rz = rz, r @ z
        rr = rz if weights is None else r @ r
        history[step] = rr
        p = z if sizes["algorithm"] == "steepest" else z + rz / array.maximum(before, tiny) * p
    problem.steps[0] = sizes["iterations"]
