"""The plans of products by persistent blocks: how many clusters share the tiles, and which tiles are split."""

import numpy as np
import pytest

from ladder.errors import LadderError
from ladder.workloads.gemm import cuda_packed, cuda_tma, cuda_wgmma, persistent

LARGE_TILING = cuda_tma.TILES[0]  # tiles of 128 x 128, a block per multiprocessor
CLUSTER_TILING = cuda_wgmma.TILES[0]  # tiles of 128 x 256, two blocks of a cluster below each other
ALIGNED = (False, False)  # neither a nor b is unaligned
ITEMSIZES = {cuda_tma: 8, cuda_packed: 4, cuda_wgmma: 4}


def plan_of(m, n, k, multiprocessors=132, stream_k=True, unaligned=ALIGNED, tiling=LARGE_TILING, variant=cuda_tma):
    """The plan (clusters, split tiles, cost) of a product; a cluster is one block unless the tiling has `cluster`."""
    arguments = m, n, k, unaligned, multiprocessors, stream_k
    return persistent.plan(variant.MODEL, ITEMSIZES[variant], *arguments, **tiling)


def test_tiles_that_divide_evenly_among_the_blocks_are_not_split():
    assert plan_of(128 * 132, 128, 4096)[:2] == (132, 0)
    assert plan_of(128 * 66, 256, 4096)[:2] == (132, 0)


def test_few_tiles_with_long_sums_are_split_among_all_blocks():
    assert plan_of(128, 128, 200_000)[:2] == (132, 1)
    assert plan_of(128, 128, 200_000, stream_k=False)[:2] == (1, 0)


def test_tiles_left_over_are_split_alone_or_with_as_many_as_blocks():
    clusters, split_tiles, _ = plan_of(128 * 133, 128, 8192)
    assert (clusters, split_tiles) in ((132, 1), (132, 133))
    assert plan_of(128 * 133, 128, 8192, stream_k=False)[:2] == (132, 0)


def test_a_short_sum_is_not_worth_a_second_launch():
    assert plan_of(128 * 133, 128, 16).split_tiles == 0


@pytest.mark.parametrize("shape", [(1, 1, 1), (17, 65, 1), (1, 262_144, 3), (4096, 4096, 4096), (65, 17, 300_001)])
@pytest.mark.parametrize(
    ("variant", "tiling"), [(variant, tiling) for variant in ITEMSIZES for tiling in variant.TILES], ids=str
)
def test_every_plan_covers_the_product(shape, variant, tiling):
    (m, n, k), cluster = shape, tiling.get("cluster", 1)
    tiles = -(-m // (tiling["bm"] * cluster)) * -(-n // tiling["bn"])
    steps = -(-k // (persistent.LINE_BYTES // ITEMSIZES[variant]))
    clusters, split_tiles, cost = plan_of(*shape, tiling=tiling, variant=variant)
    assert 1 <= clusters <= 132 * tiling["blocks"] // cluster
    assert 0 <= split_tiles <= tiles
    assert clusters <= tiles * steps, "no cluster without a step"
    assert cost > 0


def test_a_cluster_has_a_tile_of_each_of_its_blocks():
    assert plan_of(256 * 66, 256, 4096, tiling=CLUSTER_TILING, variant=cuda_wgmma)[:2] == (66, 0)
    assert plan_of(256 * 66, 256, 4096, tiling=CLUSTER_TILING | {"cluster": 1}, variant=cuda_wgmma)[:2] == (132, 0)


def test_elements_that_are_copied_singly_cost_more():
    costs = [
        plan_of(64, 4096, 4096, unaligned=unaligned, tiling=cuda_tma.TILES[4]).cost  # tiles of 32 x 128
        for unaligned in (ALIGNED, (True, True))
    ]
    assert costs[0] < costs[1]


@pytest.mark.parametrize(("address", "columns", "is_aligned"), [(256, 2, True), (256, 3, False), (264, 2, False)])
def test_rows_are_aligned_if_each_begins_at_a_multiple_of_16_bytes(address, columns, is_aligned):
    assert persistent.is_aligned(address, columns, 8) is is_aligned
    *_, stride = cuda_tma.tensor_maps(264, (5, 3), True, 64)
    assert stride == np.int32(3)


def test_other_gpus_are_refused(monkeypatch):
    monkeypatch.setattr(cuda_tma.cuda, "architecture", lambda: "sm_80")
    with pytest.raises(LadderError, match=r"compute capability 9\.0: use cuda_mma\."):
        cuda_tma.product("nn")
