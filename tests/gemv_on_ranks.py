"""The matrix-vector product on the ranks that a launcher has started, at many sizes and in both modes.

    mpiexec -n 3 python tests/gemv_on_ranks.py [--gpus] [N M]

With N and M, the first variant computes one product of this size in float64, and the matrix is sent to the ranks. With
`--gpus`, the variants are those on ranks with a GPU each. At the end, the first rank prints the number of correct
products.
"""

import itertools
import sys

from ladder import devices
from ladder.catalogue import traits, workloads
from ladder.harness import validation, worker
from ladder.harness.steps import Steps, chain_steps
from ladder.machine import nvidia
from ladder.records.case import Case

MODES = ("ship", "resident")  # the matrix is sent to the ranks in every product, or is there already

SIZES = (1, 2, 17, 257)
# All pairs of SIZES, and two shapes that are long in one direction.
SHAPES = [*itertools.product(SIZES, SIZES), (4097, 100), (100, 4097)]
DTYPES = ("float64", "float32")
RANK_VARIANTS = [("mpi", {}), *(("mpi_openmp", {"threads": threads}) for threads in (1, 2))]
GPU_VARIANTS = [(variant, {"chunks": chunks}) for chunks in (1, 3) for variant in ("mpi_cublas", "nccl_cublas")]
GRAPH_RUNS = [("resident", ("nccl_cublas", {"chunks": chunks, "graph": "on"})) for chunks in (1, 3)]


def main():
    on_gpus = sys.argv[1:2] == ["--gpus"] and bool(sys.argv.pop(1))
    device, gemv = devices.load("mpi_cuda" if on_gpus else "mpi"), workloads.load("gemv")
    if on_gpus:
        device.set_variables({"CUDA_VISIBLE_DEVICES": ",".join(gpu["uuid"] for gpu in nvidia.gpus())})
    ranks = device.communicator().size
    shape = [int(word) for word in sys.argv[1:]]
    variants = GPU_VARIANTS if on_gpus else RANK_VARIANTS
    runs = [*itertools.product(MODES, variants), *(GRAPH_RUNS if on_gpus else [])]
    dtypes_and_runs = [("float64", runs[0])] if shape else list(itertools.product(DTYPES, runs))
    shapes = [shape] if shape else SHAPES
    for (n, m), (dtype, (mode, (variant, tuning))) in itertools.product(shapes, dtypes_and_runs):
        sizes = workloads.complete("gemv", {"n": n, "m": m, "dtype": dtype})
        case = Case("gemv", variant, sizes, {"ranks": ranks, "mode": mode, **tuning})
        solve(case, device, gemv, rounds=1 if shape else 2)
    if device.is_first():
        print(f"{len(shapes) * len(dtypes_and_runs)} products were right on {ranks} ranks")


def solve(case, device, gemv, rounds):
    """Run rounds of a case, whose results the first rank checks."""
    variant = workloads.load_variant("gemv", case.variant)
    problem = worker.make_problem(gemv, case, device, variant)
    steps = None
    for round in range(rounds):
        if problem.inputs:
            gemv.fill(problem.inputs, case.sizes, round, None)
        steps = steps or Steps.of(variant.setup(problem, **case.tuning))
        chain_steps(steps.prepare)()
        validation.poison(problem.outputs)
        steps.timed()()
        if problem.outputs:
            validation.require_finite(problem.outputs, problem.output_kinds)
            checks, _ = gemv.check(
                case.sizes, problem.inputs, problem.outputs, round, None, None, traits.precision(case)
            )
            validation.require(checks, case.key)


if __name__ == "__main__":
    main()
