"""The number of blocks of a kernel that fit on a multiprocessor, by hand, and the launch bounds in a cubin."""

import pytest

from ladder.build import binaries, compiler, report
from ladder.build.occupancy import launch_bounds, occupancy
from ladder.catalogue import workloads
from ladder.records import files

SOURCE = """
extern "C" __global__ void __launch_bounds__(96) bounded(float *a) {
  __shared__ float s[96];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = s[95 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(1024, 1) large(float *a) { a[threadIdx.x] = 1; }
extern "C" __global__ void unbounded(float *a) { a[threadIdx.x] = 1; }
"""


@pytest.mark.parametrize(
    ("architecture", "threads", "registers", "shared", "blocks", "warps", "share"),
    [
        # 8 warps of 32 * 32 = 1024 registers: 64 warps fit.
        ("sm_90", 256, 32, 0, 8, 64, 1.0),
        # 7296 registers of a warp are 29 units, 7424; two of them fit in each part of 16384.
        ("sm_90", 256, 228, 0, 1, 8, 0.125),
        # 40 registers are 1280 of a warp: 12 fit in a part, 48 in all, though 51 would in one piece.
        ("sm_90", 96, 40, 0, 16, 48, 0.75),
        # 33 registers are 1056 of a warp and take 5 units, 1280: 12 fit in a part, though 15 would without units.
        ("sm_80", 256, 33, 0, 6, 48, 0.75),
        # 40000 + 1024 bytes are 321 units, 41088: four of them fit in 164 KiB, two in 100 KiB.
        ("sm_80", 64, 32, 40000, 4, 8, 0.125),
        ("sm_86", 64, 32, 40000, 2, 4, 4 / 48),
        # The largest block that has a place: 227 KiB and the system's one.
        ("sm_90", 64, 32, 227 * 1024, 1, 2, 2 / 64),
        ("sm_100", 64, 32, 227 * 1024 + 1, 0, 0, 0.0),
        # One warp, counted whole: as many blocks as are allowed.
        ("sm_80", 17, 16, 0, 32, 32, 0.5),
        ("sm_86", 17, 16, 0, 16, 16, 1 / 3),
        ("sm_89", 17, 16, 0, 24, 24, 0.5),
        ("sm_120", 1, 16, 0, 24, 24, 0.5),
        # 32 warps: a second block has no place among 48.
        ("sm_89", 1024, 32, 0, 1, 32, 2 / 3),
        ("sm_90a", 1024, 32, 0, 2, 64, 1.0),
        # 255 registers: 8 warps fit, but a block has 32.
        ("sm_90", 1024, 255, 0, 0, 0, 0.0),
    ],
)
def test_blocks_and_warps_by_hand(architecture, threads, registers, shared, blocks, warps, share):
    found = occupancy(architecture, threads, registers, shared)
    assert (found["blocks"], found["warps"], found["share"]) == (blocks, warps, pytest.approx(share))


@pytest.mark.parametrize("unknown", [("sm_75", 256, 32, 0), ("sm_90", None, 32, 0), ("sm_90", 256, 32, None)])
def test_what_is_unknown_is_none(unknown):
    assert occupancy(*unknown) is None


@pytest.mark.parametrize("architecture", ["sm_80", "sm_86", "sm_90", "sm_100", "sm_120"])
def test_a_binary_tells_its_launch_bounds(tmp_path, architecture):
    source = tmp_path / "kernels.cu"
    source.write_text(SOURCE)
    code, log, _ = compiler.compile(source, {"UNUSED": 1}, architecture)
    bounds = launch_bounds(code)
    assert bounds == {"bounded": 96, "large": 1024}
    found = report.resources(log, architecture, bounds, 0)
    assert (found["bounded"]["threads"], found["bounded"]["shared"]) == (96, 384)
    assert found["unbounded"]["threads"] is found["unbounded"]["occupancy"] is None
    # Too small for any limit but that of the warps: blocks have 3 and 32.
    most = 48 if architecture in ("sm_86", "sm_120") else 64
    assert found["bounded"]["occupancy"]["blocks"] == most // 3
    assert found["large"]["occupancy"]["blocks"] == most // 32


def test_an_architecture_without_known_limits_is_built_all_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = report.write("sm_75", "gemm", "cuda_naive", "dtype=float32,block=8")
    for kernel in files.read_json(path)["kernels"].values():
        assert (kernel["threads"], kernel["occupancy"]) == (64, None)


def test_the_memory_that_a_launch_asks_for_counts(tmp_path, monkeypatch):
    """Four stages of 64 + 32 rows of 16 float64 are 49152 bytes: four blocks and their shares fit in 228 KiB."""
    monkeypatch.chdir(tmp_path)
    tuning = {"bm": 64, "bn": 32, "bk": 16, "wm": 32, "wn": 16, "stages": 4, "splitk": 1}
    path = report.write("sm_90", "gemm", "cuda_mma", binaries.slug("gemm", "cuda_mma", "float64", tuning))
    for kernel in files.read_json(path)["kernels"].values():
        assert (kernel["threads"], kernel["shared"], kernel["dynamic"]) == (128, 0, 49152)
        assert kernel["occupancy"] == {"blocks": 4, "warps": 16, "share": 0.25}


def test_a_launcher_that_cannot_be_imported_leaves_it_open(tmp_path, monkeypatch):
    (tmp_path / "gemm").mkdir()
    monkeypatch.setattr(workloads, "folders", lambda workload: [workloads.HOME / workload, tmp_path / workload])
    text = 'DEVICE = "cuda"\nRUNTIME = "cuda"\nimport a_library_that_is_not_here\n'
    (tmp_path / "gemm/absent.py").write_text(text + "def geometry(sizes): pass\ndef setup(problem): pass\n")
    assert report.dynamic_memory("gemm", "absent", "dtype=float64") is None
