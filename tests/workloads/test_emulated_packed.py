"""gemm/cuda_wgmma and gemm/cuda_packed on the CPU: launches, packing, schedule and index arithmetic.

g++ compiles the sources with `emulated/device.h`, and the variants launch their kernels as on a GPU. Clusters of
several blocks, and rounding by copies, are tested on GPUs alone.
"""

import functools
import multiprocessing
import shutil
import struct
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import emulator
from ladder import cuda
from ladder.cuda import tensor_map
from ladder.errors import LadderError
from ladder.workloads.gemm import cuda_packed, cuda_wgmma, persistent

pytestmark = [
    pytest.mark.xdist_group("emulated wgmma"),  # each tiling is compiled once
    pytest.mark.skipif(not shutil.which("g++"), reason="requires g++"),
]
FORMS = ("nn", "tn", "nt")
TILINGS = (
    (cuda_wgmma, {"bm": 64, "bn": 64, "stages": 2, "cluster": 1, "blocks": 1}),
    (cuda_wgmma, {"bm": 128, "bn": 128, "stages": 3, "cluster": 1, "blocks": 1}),
    (cuda_packed, {"bm": 64, "bn": 64, "wm": 32, "wn": 32, "stages": 3, "blocks": 1}),
    (cuda_packed, {"bm": 64, "bn": 128, "wm": 32, "wn": 64, "stages": 4, "blocks": 1}),
)
# Smaller and larger than the tiles, with aligned rows and others.
SHAPES = ((1, 1, 1), (1, 17, 65), (65, 17, 1), (132, 36, 68), (130, 70, 90), (129, 65, 33))
# (clusters, split tiles); None for a cluster per tile, none of them split.
SPLITS = (None, (1, 1), (2, 1), (3, 1), (99, 1))
KERNELS = {
    cuda_wgmma: ("gemm_nn", "gemm_nt", "add_nn", "add_nt", "pack"),
    cuda_packed: ("gemm_packed", "add_packed", "pack"),
}


class Array(np.ndarray):
    """An array on the host that has its address in `data.ptr`, as one of CuPy."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def array_of(values):
    return np.array(values, np.float32, order="C").view(Array)


@pytest.fixture(scope="module")
def compile_kernels(tmp_path_factory):
    """The emulated kernels of a tiling, compiled once, after `changes`, pairs of a text in the source and a new one."""

    @functools.cache
    def compile_kernels(index, changes=()):
        folder, (variant, tiling) = tmp_path_factory.mktemp("packed"), TILINGS[index]
        name = variant.__name__.rsplit(".", 1)[-1]
        shared = persistent.shared_bytes(tiling["bm"], tiling["bn"], tiling["stages"])
        # A barrier takes more bytes here than on a GPU.
        macros = emulator.kernel_macros(KERNELS[variant], shared + 4096)
        macros |= emulator.source_macro(folder, "gemm", name, changes) | {"__CUDA_ARCH_FEAT_SM90_ALL": 1}
        return emulator.Kernels(
            folder, "listed_kernels.cpp", "gemm", name, "float32", macros, (f"-I{folder}",), **tiling
        )

    return compile_kernels


@pytest.fixture
def multiply(compile_kernels, monkeypatch):
    """multiply(index, form, a, b, out, c, split=None, changes=()) by the kernels of a tiling."""

    def encode(address, element_type, shape, strides, box):
        assert element_type in ("tf32", "float32")
        assert address % 16 == 0
        assert not any(stride % 16 for stride in strides)
        padded = [(*values, 0, 0)[:count] for values, count in ((shape, 3), (strides, 2), (box, 3))]
        packed = struct.pack("9iq", len(shape), *padded[0], *padded[1], *padded[2], address)
        return np.frombuffer(packed, f"V{len(packed)}")[0]

    stream = SimpleNamespace(ptr=0)
    monkeypatch.setattr(tensor_map, "encode", encode)
    monkeypatch.setattr(
        persistent, "load_cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: stream))
    )
    functions = {"architecture": lambda: "sm_90", "multiprocessors": lambda: 132}
    functions["empty"] = lambda shape, dtype: np.full(shape, np.nan, dtype).view(Array)
    for name, function in functions.items():
        monkeypatch.setattr(cuda, name, function)

    def run(index, form, a, b, out, c, split=None, changes=()):
        monkeypatch.setattr(cuda, "kernel", compile_kernels(index, changes).get)
        variant, tiling = TILINGS[index]
        if split is not None:
            plan = persistent.Plan(split[0], split[1], 0)
            monkeypatch.setattr(persistent, "fastest_tiling", lambda *arguments: (tiling, plan))
        variant.product(form, (tiling,), stream_k=False)(a, b, out, c)

    return run


def is_right(multiply, index, form, shape, addend, split=None, shifted=0, changes=()):
    """Whether a product of whole numbers is exact; each operand begins after `shifted` elements of an aligned array."""
    (m, n, k), generator = shape, np.random.default_rng(sum(shape))
    a, b, c = (generator.integers(-9, 10, sides).astype(np.float32) for sides in ((m, k), (k, n), (m, n)))
    stored = a.T if form == "tn" else a, b.T if form == "nt" else b
    operands = [array_of(np.r_[np.zeros(shifted), x.ravel()])[shifted:].reshape(x.shape) for x in stored]
    out = array_of(c if addend == "out" else np.full((m, n), np.nan))
    tiles = -(-m // TILINGS[index][1]["bm"]) * -(-n // TILINGS[index][1]["bn"])
    split = None if split is None else (split[0], min(tiles, split[1]))
    multiply(index, form, *operands, out, {"none": None, "c": array_of(c), "out": out}[addend], split, changes)
    return np.array_equal(out, a @ b + (0 if addend == "none" else c))


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(TILINGS)))
@pytest.mark.parametrize("form", FORMS)
def test_products_are_right_at_every_edge_and_split(multiply, index, form):
    cases = [(shape, split) for shape in SHAPES for split in SPLITS]
    for number, (shape, split) in enumerate(cases):
        addend = ("none", "c", "out")[number % 3]
        assert is_right(multiply, index, form, shape, addend, split), (shape, addend, split)


@pytest.mark.parametrize("index", [0, 2])
@pytest.mark.parametrize("form", FORMS)
def test_operands_whose_address_is_not_aligned_are_copied(multiply, index, form):
    assert is_right(multiply, index, form, (36, 40, 68), "c", shifted=1)


# {fault: (index in TILINGS, text in the source, its replacement)}.
FAULTS = {
    "no wait for a full buffer": (0, "shared.full[ring.index].wait(ring.phase);", ""),
    "the first part of a tile stored as another": (
        0,
        "blockIdx.x, part.first_step == 0",
        "blockIdx.x, part.first_step > 0",
    ),
    "a part missing in a sum": (0, "cluster <= last_cluster", "cluster < last_cluster"),
    "the rows of a warp in another order": (0, "g / 2 % 2 * 16", "g / 4 * 16"),
    "the columns of X in another order": (0, "k_slice * 8 + half * 4 + t", "k_slice * 8 + t * 2 + half"),
    "a copy that isn't transposed": (0, "transposed ? tile[x][y] : tile[y][x]", "tile[y][x]"),
    "a swizzle of half of the depths": (2, "(i % 2 * 4 ^ depth % 8 / 4 * 4)", "i % 2 * 4"),
    "a buffer that is filled too early": (
        2,
        "arrive();\n    }\n    previous_buffer = current",
        "arrive(), ring.next();\n    }\n    previous_buffer = current",
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_kernels_is_noticed(multiply, fault):
    index, *change = FAULTS[fault]
    change = tuple(change)

    def run():  # in a process of its own: a fault may end it
        cases = [(form, shape, split) for form in FORMS for shape in SHAPES[3:] for split in (None, (3, 1))]
        sys.exit(
            not all(is_right(multiply, index, form, shape, "c", split, 0, (change,)) for form, shape, split in cases)
        )

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(60)
    assert process.exitcode


@pytest.mark.parametrize(("variant", "other"), [(cuda_wgmma, "cuda_mma"), (cuda_packed, "cuda_tiled")])
def test_other_gpus_are_refused(monkeypatch, variant, other):
    monkeypatch.setattr(cuda, "architecture", lambda: "sm_80")
    with pytest.raises(LadderError, match=rf"compute capability 9\.0: use {other}\."):
        variant.product("nn")
