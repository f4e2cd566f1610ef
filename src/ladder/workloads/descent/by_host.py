"""Steepest descent as in the earlier study: a kernel per operation, and the step length computed by the host.

An iteration multiplies by A twice, since the residual is recomputed as b - A x, and each product is written, n n
elements, before its rows are summed. Dot products are products of a row and a column by the same kernels. The host
waits for r.r and r.A r, divides, and launches the kernels that need the quotient.
"""

import numpy as np


def solver(problem, kernels):
    """A function that solves by `kernels`, a OneBlock or a LinearIndex of `descent_kernel`."""
    n, dtype = problem.sizes["n"], np.dtype(problem.sizes["dtype"])
    matrix, b, x = problem.matrix, problem.b, problem.x
    products, of_row, row = (problem.device.empty(shape, dtype) for shape in ((n, n), (1, n), (1, n)))
    product, r, step = (problem.device.empty((n,), dtype) for _ in range(3))
    rr, ra = (problem.device.empty((1,), dtype) for _ in range(2))
    sum_rows = kernels.reduction(products, product)
    residual = [
        *(kernels.product(matrix, x, products), sum_rows, kernels.on_vectors("vecdif", b, product, r)),
        kernels.on_vectors("transpose", r, row),
        *(kernels.product(row, r, of_row), kernels.reduction(of_row, rr)),
    ]
    curvature = [
        *(kernels.product(matrix, r, products), sum_rows),
        *(kernels.product(row, product, of_row), kernels.reduction(of_row, ra)),
    ]
    move = kernels.on_vectors("vecsum", x, step, x)

    def found(launches, scalar):
        """The scalar that the launches compute."""
        for launch in launches:
            launch()
        return problem.device.to_host(scalar)[0]

    def run():
        history = np.zeros(problem.sizes["iterations"] + 1, dtype)
        x.fill(0)
        for done in range(len(history)):
            history[done] = found(residual, rr)
            if done == len(history) - 1 or history[done] <= problem.sizes["tolerance"] ** 2 * history[0]:
                break
            # If the residual is tiny, r.A r may be 0.
            alpha = history[done] / max(found(curvature, ra), np.finfo(dtype).tiny)
            kernels.on_vectors("scale", r, alpha, step)()
            move()
        results = {"history": history, "steps": np.array([done])}
        problem.device.upload(results, {name: problem.outputs[name] for name in results})

    return run
