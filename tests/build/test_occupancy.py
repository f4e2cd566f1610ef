"""Occupancy, compared with values computed by hand, and the launch bounds in a cubin."""

import pytest

from ladder.build import binaries, compiler, report
from ladder.build.occupancy import launch_bounds, occupancy
from ladder.catalogue import locations
from ladder.records import files

SOURCE = """
extern "C" __global__ void __launch_bounds__(96) bounded(float *a) {
  __shared__ float values[96];
  values[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = values[95 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(1024, 1) large(float *a) { a[threadIdx.x] = 1; }
extern "C" __global__ void unbounded(float *a) { a[threadIdx.x] = 1; }
"""


@pytest.mark.parametrize(
    ("architecture", "threads", "registers", "shared", "blocks", "warps", "share"),
    [
        # 8 warps of 32 * 32 = 1024 registers: 64 warps fit.
        ("sm_90", 256, 32, 0, 8, 64, 1.0),
        # A warp's 7296 registers take 29 units, 7424; two warps fit in each partition of 16384.
        ("sm_90", 256, 228, 0, 1, 8, 0.125),
        # A warp has 1280 registers: 12 warps fit in a partition, 48 in all; 51 would fit without partitions.
        ("sm_90", 96, 40, 0, 16, 48, 0.75),
        # A warp's 1056 registers take 5 units, 1280: 12 warps fit in a partition; 15 would fit without units.
        ("sm_80", 256, 33, 0, 6, 48, 0.75),
        # A block's 40000 + 1024 bytes take 321 units, 41088: four blocks fit in 164 KiB, two in 100 KiB.
        ("sm_80", 64, 32, 40000, 4, 8, 0.125),
        ("sm_86", 64, 32, 40000, 2, 4, 4 / 48),
        # The largest block that fits: 227 KiB and the system's 1 KiB.
        ("sm_90", 64, 32, 227 * 1024, 1, 2, 2 / 64),
        ("sm_100", 64, 32, 227 * 1024 + 1, 0, 0, 0.0),
        # 17 threads take a whole warp; the number of blocks is limited by its maximum.
        ("sm_80", 17, 16, 0, 32, 32, 0.5),
        ("sm_86", 17, 16, 0, 16, 16, 1 / 3),
        ("sm_89", 17, 16, 0, 24, 24, 0.5),
        ("sm_120", 1, 16, 0, 24, 24, 0.5),
        # A block has 32 warps, so a second one doesn't fit in 48.
        ("sm_89", 1024, 32, 0, 1, 32, 2 / 3),
        ("sm_90a", 1024, 32, 0, 2, 64, 1.0),
        # With 255 registers, only 8 warps fit, but a block has 32.
        ("sm_90", 1024, 255, 0, 0, 0, 0.0),
    ],
)
def test_blocks_and_warps_are_those_computed_by_hand(architecture, threads, registers, shared, blocks, warps, share):
    result = occupancy(architecture, threads, registers, shared)
    assert (result["blocks"], result["warps"], result["share"]) == (blocks, warps, pytest.approx(share))


@pytest.mark.parametrize("unknown", [("sm_75", 256, 32, 0), ("sm_90", None, 32, 0), ("sm_90", 256, 32, None)])
def test_the_occupancy_is_none_if_anything_is_unknown(unknown):
    assert occupancy(*unknown) is None


@pytest.mark.parametrize("architecture", ["sm_80", "sm_86", "sm_90", "sm_100", "sm_120"])
def test_launch_bounds_are_read_from_a_binary(tmp_path, architecture):
    source = tmp_path / "kernels.cu"
    source.write_text(SOURCE)
    code, log, _ = compiler.compile(source, {"UNUSED": 1}, architecture)
    bounds = launch_bounds(code)
    assert bounds == {"bounded": 96, "large": 1024}
    kernels = report.kernel_resources(log, architecture, bounds, 0)
    assert (kernels["bounded"]["threads"], kernels["bounded"]["shared"]) == (96, 384)  # 96 floats
    assert kernels["unbounded"]["threads"] is kernels["unbounded"]["occupancy"] is None
    # Only the number of warps limits these kernels, whose blocks have 3 and 32 warps.
    max_warps = 48 if architecture in ("sm_86", "sm_120") else 64
    assert kernels["bounded"]["occupancy"]["blocks"] == max_warps // 3
    assert kernels["large"]["occupancy"]["blocks"] == max_warps // 32


def test_an_architecture_without_known_limits_is_built_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = report.write("sm_75", "gemm", "cuda_naive", "dtype=float32,block=8")
    for kernel in files.read_json(path)["kernels"].values():
        assert (kernel["threads"], kernel["occupancy"]) == (64, None)


def test_dynamic_shared_memory_counts(tmp_path, monkeypatch):
    """Four stages of 64 + 32 rows of 16 float64 take 49152 bytes; with 1 KiB for the system, 4 blocks fit."""
    monkeypatch.chdir(tmp_path)
    tuning = {"bm": 64, "bn": 32, "bk": 16, "wm": 32, "wn": 16, "stages": 4, "splitk": 1}
    path = report.write("sm_90", "gemm", "cuda_mma", binaries.slug("gemm", "cuda_mma", "float64", tuning))
    for kernel in files.read_json(path)["kernels"].values():
        assert (kernel["threads"], kernel["shared"], kernel["dynamic"]) == (128, 0, 49152)
        assert kernel["occupancy"] == {"blocks": 4, "warps": 16, "share": 0.25}


def test_dynamic_shared_memory_is_none_if_the_variant_cannot_be_imported(tmp_path, monkeypatch):
    (tmp_path / "gemm").mkdir()
    monkeypatch.setattr(locations, "folders", lambda workload: [locations.WORKLOADS / workload, tmp_path / workload])
    text = 'DEVICE = "cuda"\nRUNTIME = "cuda"\nimport a_library_that_is_not_here\n'
    (tmp_path / "gemm/absent.py").write_text(text + "def geometry(sizes): return 1\ndef setup(problem): return 1\n")
    assert report.dynamic_shared_bytes("gemm", "absent", "dtype=float64") is None
