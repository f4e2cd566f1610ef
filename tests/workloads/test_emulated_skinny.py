"""gemm/cuda_skinny on the CPU: its kernels, strides, slices of the short side, and blocks that share sums."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest

import emulator
from ladder import cuda
from ladder.workloads.gemm import cuda_skinny

pytestmark = [pytest.mark.xdist_group("emulated skinny"), emulator.needs_compiler]
GUARD = 1024  # elements behind each array that a kernel writes
TILING = {"short": 4, "unroll": 2}
# Sums are added up in three groups, not one; and in float64 a lane has two elements of the long side, not four.
WIDE_TILING = {"short": 12, "unroll": 4}
KERNEL_NAMES = ("gemm_across", "gemm_along", "gemm_outer", "add")
# (form, m, n, k, the kernels that are launched).
PRODUCTS = [
    ("nn", 3, 140, 150, ["gemm_across", "add"]),
    ("nn", 33, 1, 130, ["gemm_along", "add"]),
    ("tn", 130, 6, 17, ["gemm_across"]),
    ("tn", 2049, 2, 2060, ["gemm_across"]),  # more terms than fit in shared memory
    ("nt", 5, 65, 17, ["gemm_along"]),
    ("nt", 65, 5, 130, ["gemm_along", "add"]),
    ("nn", 17, 130, 2, ["gemm_outer"]),
    ("tn", 65, 9, 4, ["gemm_outer"]),
    ("nt", 9, 5, 3, ["gemm_outer"]),
    ("nt", 1, 1, 1, ["gemm_outer"]),
]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """A function that compiles the kernels of a dtype for the CPU, once, after a replacement in the source."""

    @functools.cache
    def compile_kernels(dtype, short, unroll, old="", new=""):
        folder = tmp_path_factory.mktemp("skinny")
        macros = emulator.kernel_macros(KERNEL_NAMES, 100_000)
        macros |= emulator.source_macro(folder, "gemm", "cuda_skinny", [(old, new)] if old else [])
        return emulator.Kernels(
            folder, "listed_kernels.cpp", "gemm", "cuda_skinny", dtype, macros, short=short, unroll=unroll
        )

    return compile_kernels


@pytest.fixture
def multiply(kernels, monkeypatch):
    """A function that multiplies whole numbers by emulated kernels; returns their names, and whether all is right."""
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 1)
    monkeypatch.setattr(cuda, "empty", lambda count, dtype: np.full(count + GUARD, np.nan, dtype)[:count])
    # So low that blocks share even the short sums of these tests.
    monkeypatch.setattr(cuda_skinny, "MIN_TERMS", 32)
    monkeypatch.setattr(cuda_skinny, "WAVES", 8)
    stream = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=0))
    monkeypatch.setattr(cuda_skinny, "load_cupy", lambda: SimpleNamespace(cuda=stream))

    def run(form, m, n, k, dtype="float32", tiling=TILING, change=()):
        compiled = kernels(dtype, *tiling.values(), *change)
        compiled.launches.clear()
        monkeypatch.setattr(cuda, "kernel", compiled.get)
        generator = np.random.default_rng(m * n * k)
        a, b, c = (generator.integers(-9, 9, shape).astype(dtype) for shape in ((m, k), (k, n), (m, n)))
        guarded = np.full(m * n + GUARD, np.nan, dtype)
        out, c = guarded[: m * n].reshape(m, n), c if form == "nt" else None
        stored = np.ascontiguousarray(a.T if form == "tn" else a), np.ascontiguousarray(b.T if form == "nt" else b)
        cuda_skinny.skinny_product(form, (tiling,))(*stored, out, c)
        expected = a @ b + (0 if c is None else c)
        is_right = np.array_equal(out, expected) and np.isnan(guarded[m * n :]).all()
        return [name for name, *_ in compiled.launches], is_right

    return run


@pytest.mark.parametrize(
    ("dtype", "tiling"),
    [
        ("float32", TILING),
        ("float64", WIDE_TILING),
        pytest.param("float32", WIDE_TILING, marks=pytest.mark.slow),
        pytest.param("float64", TILING, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("form", "m", "n", "k", "kernel_names"), PRODUCTS)
def test_products_with_a_short_side_are_right(multiply, form, m, n, k, kernel_names, dtype, tiling):
    assert multiply(form, m, n, k, dtype, tiling) == (kernel_names, True)


@pytest.mark.parametrize(
    ("old", "new", "shape"),  # a text in the source, its replacement, and a product that shows the fault
    [
        ("l < long_side && s < block.short_count", "l < long_side", ("tn", 130, 6, 17)),
        ("row + v < end && s < block.short_count", "s < block.short_count", ("nt", 65, 5, 17)),
        ("w * REDUCTION_SIZE * WARP_ELEMENTS + e", "e", ("nn", 3, 140, 150)),
        ("column + v * WARP < n", "true", ("nt", 9, 5, 3)),
        ("part += WARPS", "part += 2 * WARPS", ("nn", 3, 9, 520)),
    ],
)
def test_a_wrong_kernel_is_noticed(multiply, old, new, shape):
    assert not multiply(*shape, change=(old, new))[1]


def test_every_product_has_a_plan_within_the_limits():
    """Limits of grids, shared memory and terms per block; and every element of the long side belongs to a block."""
    generator = np.random.default_rng(1)
    for form in ("nn", "tn", "nt"):
        for m, n, k in (2 ** (17 * generator.random((300, 3)))).astype(int).tolist():
            for dtype, tilings in cuda_skinny.TILES.items():
                itemsize = np.dtype(dtype).itemsize
                tiling = cuda_skinny.pick_tiling(tilings, m, n, k)
                plan = cuda_skinny.plan(form, m, n, k, itemsize, 132, **tiling)
                assert plan.shared <= 113 * 1024, "two blocks fit into a multiprocessor of an H200"
                assert all(0 < count <= 65535 for count in plan.grid[1:]), "CUDA's limit"
                if plan.kernel == "gemm_outer":
                    assert k <= tiling["short"]
                    continue
                long_side, short_side, terms, terms_per_block, *rows = plan.counts
                assert (long_side, short_side, terms) == (max(m, n), min(m, n), k)
                assert plan.parts == plan.grid[1] == -(-k // terms_per_block)
                slices = -(-short_side // tiling["short"])
                warp_elements = cuda_skinny.WARP * cuda_skinny.lane_elements(tiling["short"], itemsize)
                assert plan.grid[0] // slices * (rows[0] if rows else warp_elements) >= long_side
                if rows:
                    assert terms_per_block * itemsize * tiling["short"] <= 2 * cuda_skinny.SHARED_BYTES
