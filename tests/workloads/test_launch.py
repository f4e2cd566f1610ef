"""How the CUDA variants of gemm choose their tiles by the shape of a product."""

import pytest

from ladder import cuda
from ladder.build import binaries
from ladder.catalogue import workloads
from ladder.errors import LadderError
from ladder.records.case import Case
from ladder.workloads.gemm import launch

TILED = ("cuda_tiled", "cuda_mma")  # test_persistent_products.py tests others, which have another model
VARIANTS_AND_DTYPES = [(name, dtype) for name in TILED for dtype in ("float64", "float32")]


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """A GPU of 132 multiprocessors."""
    monkeypatch.setattr(cuda, "multiprocessors", lambda: 132)


@pytest.mark.parametrize(("variant", "dtype"), VARIANTS_AND_DTYPES)
def test_large_results_get_large_tiles_and_small_ones_enough_blocks(variant, dtype):
    tilings = binaries.tiling_choices("gemm", variant, dtype)
    areas = {id(tiling): tiling["bm"] * tiling["bn"] for tiling in tilings}
    large = launch.fastest_tiling(tilings, 4096, 4096, 4096)
    assert areas[id(large)] == max(areas.values())
    assert large["splitk"] == 1
    small = launch.fastest_tiling(tilings, 100, 300, 784)
    assert areas[id(small)] < areas[id(large)]
    assert small["splitk"] > 1
    assert launch.fastest_tiling(tilings, 784, 300, 60000)["splitk"] > 1, "long sums are split"


def test_a_tiling_is_given_in_full_or_not_at_all():
    """A part of 0 isn't given."""
    assert binaries.tiling_or("any", bm=0, bn=0) == "any"
    assert binaries.tiling_or("any", bm=32, bn=64) == ({"bm": 32, "bn": 64},)
    with pytest.raises(LadderError, match="sets all of bm, bn or none: bn is missing"):
        binaries.tiling_or("any", bm=32, bn=0)


def test_a_product_without_a_tiling_needs_the_binaries_of_all():
    sizes = workloads.complete("gemm", {"m": 8, "n": 8, "k": 8, "dtype": "float32"})
    kernels = binaries.of_case(Case("gemm", "cuda_tiled", sizes, {}))
    assert len(kernels) == len(binaries.tiling_choices("gemm", "cuda_tiled", "float32"))
    assert all("bm=0" not in constants for *_, constants in kernels)
