"""Steepest descent as in the earlier study: a kernel per operation, and the step length computed by the host.

An iteration multiplies by A twice, since the residual is recomputed as b - A x. Each multiplication writes n * n
products before their rows are summed. Dot products are products of a row and a column by the same kernels. The host
waits for r.r and r.A r, divides them, and launches the kernels that need the quotient.
"""

import numpy as np


def solver(problem, kernels):
    """A function that solves by `kernels`, a BlockPerRow or a LinearIndex of `descent_kernel.launch`."""
    n, dtype = problem.sizes["n"], np.dtype(problem.sizes["dtype"])
    matrix, b, x = problem.matrix, problem.b, problem.x
    products, row_products, row = (problem.device.empty(shape, dtype) for shape in ((n, n), (1, n), (1, n)))
    row_sums, r, scaled_r = (problem.device.empty((n,), dtype) for _ in range(3))
    rr, rar = (problem.device.empty((1,), dtype) for _ in range(2))
    sum_rows = kernels.reduction(products, row_sums)
    rr_launches = [
        *(kernels.product(matrix, x, products), sum_rows, kernels.launch_vectors("vecdif", b, row_sums, r)),
        kernels.launch_vectors("transpose", r, row),
        *(kernels.product(row, r, row_products), kernels.reduction(row_products, rr)),
    ]
    rar_launches = [
        *(kernels.product(matrix, r, products), sum_rows),
        *(kernels.product(row, row_sums, row_products), kernels.reduction(row_products, rar)),
    ]
    update_x = kernels.launch_vectors("vecsum", x, scaled_r, x)

    def compute(launches, scalar):
        """The scalar that the launches compute."""
        for launch in launches:
            launch()
        return problem.device.to_host(scalar)[0]

    def run():
        history = np.zeros(problem.sizes["iterations"] + 1, dtype)
        x.fill(0)
        for step in range(len(history)):
            history[step] = compute(rr_launches, rr)
            if step == len(history) - 1 or history[step] <= problem.sizes["tolerance"] ** 2 * history[0]:
                break
            # r.A r may be 0 if the residual is tiny.
            alpha = history[step] / max(compute(rar_launches, rar), np.finfo(dtype).tiny)
            kernels.launch_vectors("scale", r, alpha, scaled_r)()
            update_x()
        results = {"history": history, "steps": np.array([step])}
        problem.device.upload(results, {name: problem.outputs[name] for name in results})

    return run
