"""gemm/cuda_tma on the CPU, except its instructions: copies, schedule, index arithmetic and barriers.

As in `test_emulated_gemm.py`, g++ compiles the source with `emulated/device.h`. Copies fill a buffer as the Tensor
Memory Accelerator does, from the tensor maps that the launch encodes.
"""

import functools
import shutil
import struct
import subprocess

import numpy as np
import pytest

import emulator
from ladder.build import binaries
from ladder.cuda import tensor_map
from ladder.workloads.gemm import cuda_tma

pytestmark = [
    pytest.mark.xdist_group("emulated tma"),  # each tiling is compiled once
    pytest.mark.skipif(not shutil.which("g++"), reason="requires g++"),
]
FORMS = ("nn", "tn", "nt")
ADDENDS = ("none", "c", "out")
ALL_OPERANDS = 0b1111  # bits of a, b, c and out
TILINGS = (
    {"bm": 64, "bn": 64, "wm": 32, "wn": 32, "stages": 3, "blocks": 1},
    {"bm": 32, "bn": 192, "wm": 16, "wn": 96, "stages": 4, "blocks": 1},
)
# Smaller and larger than the tiles, with rows that are aligned and others.
SHAPES = ((1, 1, 1), (1, 17, 65), (65, 17, 1), (66, 200, 34), (130, 70, 90), (129, 65, 49))
# (blocks, split tiles); None for a block per tile, none of them split. 99 blocks are more than a tile has steps.
SPLITS = (None, (1, 1), (2, 1), (3, 1), (5, 1), (99, 1))


@functools.cache
def program(folder, index, changes=()):
    """The program of a tiling, compiled after `changes`, pairs of a text in the source and its replacement."""
    target = folder / f"{index}-{abs(hash(changes))}"
    target.mkdir()
    macros = binaries.macros(binaries.slug("gemm", "cuda_tma", "float64", TILINGS[index]))
    shared = cuda_tma.geometry({"m": 1, "n": 1}, **TILINGS[index])[2]
    # A barrier takes more bytes here than on a GPU.
    macros |= emulator.source_macro(target, "gemm", "cuda_tma", changes) | {"DYNAMIC_BYTES": shared + 4096}
    emulator.compile_program(emulator.EMULATION_SOURCES / "gemm_tma.cpp", target / "main", macros, f"-I{target}")
    return target / "main"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return functools.partial(program, tmp_path_factory.mktemp("tma"))


@pytest.fixture
def tensor_map_encoding(monkeypatch):
    """Have tensor maps encoded as the program reads them: axes, shape, strides and box."""

    def encode(address, dtype, shape, strides, box):
        padded = [(*values, 0, 0)[:count] for values, count in ((shape, 3), (strides, 2), (box, 3))]
        return [len(shape), *padded[0], *padded[1], *padded[2]]

    monkeypatch.setattr(tensor_map, "encode", encode)
    monkeypatch.setattr(cuda_tma, "empty_map", lambda: [0] * 9)


def task(index, form, shape, addend, split, shifted):
    """The program's input for a product, whose operands are all `shifted` by an element or not; the expected result."""
    tiling, (m, n, k), generator = TILINGS[index], shape, np.random.default_rng(sum(shape))
    a, b, c = (generator.integers(-9, 10, sides).astype(float) for sides in ((m, k), (k, n), (m, n)))
    stored = a.T if form == "tn" else a, b.T if form == "nt" else b
    address = 8 * shifted  # that of the second element isn't aligned
    a_maps = cuda_tma.tensor_maps(address, stored[0].shape, form != "tn", tiling["bm"])
    b_maps = cuda_tma.tensor_maps(address, stored[1].shape, form == "nt", tiling["bn"])
    tiles = -(-m // tiling["bm"]) * -(-n // tiling["bn"])
    blocks, split_tiles = (tiles, 0) if split is None else (split[0], min(tiles, split[1]))
    numbers = [FORMS.index(form), *shape, ADDENDS.index(addend), ALL_OPERANDS * shifted, blocks, split_tiles]
    numbers += [*a_maps[0], *a_maps[1], *b_maps[0], *b_maps[1], int(a_maps[2]), int(b_maps[2])]
    data = struct.pack(f"{len(numbers)}i", *numbers) + b"".join(x.tobytes() for x in (*stored, c))
    return data, a @ b + (0 if addend == "none" else c)


def cases(form):
    """Every shape with every split in turn, then operands that aren't aligned."""
    for number, (shape, split) in enumerate((shape, split) for shape in SHAPES for split in SPLITS):
        yield form, shape, ADDENDS[number % 3], split, False
    yield form, (66, 34, 36), "c", (3, 1), True


def wrong_cases(main, index, form):
    """The cases whose result is wrong or missing."""
    tasks = {case: task(index, *case) for case in cases(form)}
    data = b"".join(data for data, _ in tasks.values())
    output = np.frombuffer(subprocess.run([main], input=data, capture_output=True, timeout=60).stdout)
    wrong = []
    for case, (_, expected) in tasks.items():
        result, output = output[: expected.size], output[expected.size :]
        if not np.array_equal(result, expected.ravel()):
            wrong.append(case)
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(TILINGS)))
@pytest.mark.parametrize("form", FORMS)
def test_products_are_right_at_every_edge_and_split(programs, tensor_map_encoding, index, form):
    assert wrong_cases(programs(index), index, form) == []


# {fault: (text in the source, its replacement)}.
FAULTS = {
    "no wait for a full buffer": ("if (!is_full) shared.full[ring.index].wait(ring.phase);", ""),
    "no wait for an empty buffer": ("shared.empty[ring.index].wait(ring.phase + 1);", ""),
    "the first part of a tile stored as another": (
        "blockIdx.x, part.first_step == 0",
        "blockIdx.x, part.first_step > 0",
    ),
    "a part missing in a sum": ("cluster <= last_cluster", "cluster < last_cluster"),
    "another order of the depths": ("depth_group * (2 * LINE_BYTES + 32)", "depth_group * (2 * LINE_BYTES)"),
    "a swizzle of the wrong line": ("(e / V ^ line)", "(e / V ^ line / 2)"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_kernel_is_noticed(programs, tensor_map_encoding, fault):
    main = programs(0, (FAULTS[fault],))
    assert any(wrong_cases(main, 0, form) for form in FORMS)


def test_lanes_read_their_elements_from_different_banks(programs):
    lines = subprocess.run([programs(0), "offsets"], capture_output=True, check=True, text=True).stdout.splitlines()
    read, stored = np.array([line.split() for line in lines], int).T
    np.testing.assert_array_equal(read, stored)
    for half in read.reshape(-1, 16):  # the lanes that one access of 128 bytes serves
        assert len(set(half // 8 % 16)) == 16
