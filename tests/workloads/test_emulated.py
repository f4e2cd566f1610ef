"""The index arithmetic of GEMM's CUDA kernels, on the CPU: their sources compiled by g++ for `emulated/device.h`.

`emulated/ptx` takes the place of the instructions. Copies arrive as late as they may, the threads take turns by
chance, a cluster's blocks run at the same time, and g++'s sanitizers watch the operands: what lies outside, and how
wide accesses are aligned. Not seen are accesses beyond an array in shared memory, and the instructions themselves.
"""

import functools
import shutil
import struct
import subprocess

import numpy as np
import pytest

import elementary
from ladder.build import binaries
from ladder.catalogue import workloads

pytestmark = pytest.mark.xdist_group("emulated")  # each tiling is compiled once
SANITIZERS = ("-fsanitize=address,alignment", "-fno-sanitize-recover=all")
FORMS = ("nn", "tn", "nt")
OPERANDS = ("a", "b", "c", "out")
ADDENDS = ("none", "c", "out")
# Below, at and beyond the tiles; rows of whole vectors and others. k is within a tile, or passes the ring of buffers.
SHAPES = [(1, 1, 1), (1, 17, 5), (17, 1, 9), (5, 3, 65), (20, 36, 8), (33, 66, 17), (65, 17, 2), (36, 68, 132)]
# The smallest with several threads, warps and vectors along either side.
TILINGS = [
    ("cuda_naive", "float64", {"block": 8}),
    ("cuda_shared", "float64", {"block": 8}),
    ("cuda_columns", "float64", {"bm": 8, "bn": 32, "bk": 8}),
    ("cuda_columns", "float32", {"bm": 16, "bn": 64, "bk": 16}),
    ("cuda_tiled", "float64", {"bm": 16, "bn": 32, "bk": 16, "tm": 4, "tn": 2, "splitk": 1}),
    ("cuda_tiled", "float32", {"bm": 32, "bn": 64, "bk": 8, "tm": 8, "tn": 4, "splitk": 2}),
    ("cuda_mma", "float64", {"bm": 32, "bn": 32, "bk": 32, "wm": 16, "wn": 16, "stages": 3, "splitk": 1}),
    ("cuda_mma", "float64", {"bm": 32, "bn": 64, "bk": 16, "wm": 32, "wn": 32, "stages": 2, "splitk": 2}),
    ("cuda_mma", "float32", {"bm": 64, "bn": 64, "bk": 32, "wm": 64, "wn": 32, "stages": 2, "splitk": 2}),
]
COLUMNS, TILED, MMA, FLOAT32_MMA = 2, 4, 6, 8
# What waits for nothing that another doesn't, too, and other tilings of a source are left to the exhaustive tests.
SLOW = (0, 1, 3, 5, 6, 7)


@pytest.fixture(scope="module", autouse=True)
def compiler():
    """Leave all out where g++ or its sanitizers are missing."""
    command = ["g++", *elementary.OPTIONS, *SANITIZERS, "-x", "c++", "-", "-o", "/dev/null"]
    if not shutil.which("g++") or subprocess.run(command, input=b"int main() {}", capture_output=True).returncode:
        pytest.skip("requires g++ with its sanitizers")


class Emulation:
    """A kernel source with a tiling, compiled for the CPU; `changes`, {text: other text}, are made to it before."""

    def __init__(self, folder, variant, dtype, tiling, changes=None):
        self.dtype, self.tiling, self.program = np.dtype(dtype), tiling, folder / "main"
        self.geometry = workloads.load_variant("gemm", variant).geometry
        source = binaries.source_of("gemm", variant)
        for path in (source, *source.parent.glob("*.cuh")):
            shutil.copy(path, folder)
        kernel = (folder / source.name).read_text()
        for text, other in (changes or {}).items():
            assert kernel.count(text) == 1, text
            kernel = kernel.replace(text, other)
        (folder / source.name).write_text(kernel)
        macros = binaries.macros(binaries.slug("gemm", variant, dtype, tiling))
        macros |= {"SOURCE": f'"{folder / source.name}"', "DYNAMIC": self.launch(1, 1)[2]}
        elementary.compile_program(elementary.EMULATED / "main.cpp", self.program, macros, *SANITIZERS)

    def launch(self, m, n):
        return self.geometry({"m": m, "n": n, "dtype": self.dtype.name}, **self.tiling)

    def task(self, form, a, b, c, addend, shifted):
        """A product of matrices, a being m x k and b k x n in every form, as the program reads it."""
        grid, block, _ = self.launch(*c.shape)
        shifts = sum(1 << OPERANDS.index(name) for name in shifted)
        header = [FORMS.index(form), *c.shape, a.shape[1], ADDENDS.index(addend), shifts, *(*grid, 1)[:3]]
        stored = (a.T if form == "tn" else a, b.T if form == "nt" else b, c)
        data = b"".join(matrix.astype(self.dtype).tobytes() for matrix in stored)
        return struct.pack("12i", *header, *(*block, 1, 1)[:3]) + data

    def results(self, tasks, shapes):
        """The results as far as the program comes, each of its shape, and what it complains of."""
        options = {"env": {"ASAN_OPTIONS": "detect_leaks=0"}, "capture_output": True, "timeout": 60}
        done = subprocess.run([self.program], input=b"".join(tasks), **options)
        found, out = [], done.stdout
        for m, n in shapes:
            if len(out) < m * n * self.dtype.itemsize:
                break
            found.append(np.frombuffer(out, self.dtype, m * n).reshape(m, n))
            out = out[m * n * self.dtype.itemsize :]
        return found, done.stderr.decode() if done.returncode else ""

    def faults(self, cases):
        """The cases, (form, m, n, k, addend, shifted operands) each, whose result is wrong or missing."""
        tasks, expected = [], []
        for form, m, n, k, addend, shifted in cases:
            generator = np.random.default_rng(m * n + k)
            a, b, c = (generator.integers(-9, 10, shape) for shape in ((m, k), (k, n), (m, n)))
            tasks.append(self.task(form, a, b, c, addend, shifted))
            expected.append(a @ b + (0 if addend == "none" else c))
        found, complaint = self.results(tasks, [out.shape for out in expected])
        right = zip(cases, expected, found, strict=False)
        wrong = [case for case, out, result in right if not np.array_equal(result, out)]
        return [*wrong, *((case, complaint) for case in cases[len(found) :][:1])]


def cases(form):
    """Every shape, in the three forms with the three addends; then operands beginning where no whole vector can."""
    first = FORMS.index(form)
    edges = [(form, *shape, ADDENDS[(first + place) % len(ADDENDS)], ()) for place, shape in enumerate(SHAPES)]
    return edges + [(form, 36, 20, 40, "c", shifted) for shifted in [*zip(OPERANDS, strict=True), OPERANDS]]


def named(tiling):
    return "-".join(map(str, (*tiling[:2], *tiling[2].values())))


@pytest.fixture(scope="module")
def emulations(tmp_path_factory):
    """A function: the emulation of a tiling by its place in TILINGS, compiled once."""
    return functools.cache(lambda place: Emulation(tmp_path_factory.mktemp("emulated"), *TILINGS[place]))


PLACES = [
    pytest.param(place, id=named(tiling), marks=[pytest.mark.exhaustive] * (place in SLOW))
    for place, tiling in enumerate(TILINGS)
]


@pytest.fixture(params=PLACES)
def emulation(request, emulations):
    return emulations(request.param)


@pytest.mark.parametrize("form", FORMS)
def test_products_are_right_at_every_edge(emulation, form):
    assert emulation.faults(cases(form)) == []


FAULTS = {
    "a fragment's halves exchanged": (FLOAT32_MMA, {"h % 2 * 8, p + h / 2 * 4": "h / 2 * 8, p + h % 2 * 4"}),
    "a wait for too few copies": (MMA, {"wait_for_groups<STAGES - 2>": "wait_for_groups<STAGES - 1>"}),
    "a barrier missing": (TILED, {"__syncthreads();\n    if (tile": "if (tile"}),
    "a barrier between columns missing": (COLUMNS, {"__syncthreads();\n": ""}),
}


@pytest.mark.parametrize(
    "fault",
    [name if name == "a barrier missing" else pytest.param(name, marks=pytest.mark.exhaustive) for name in FAULTS],
)
def test_a_fault_in_a_kernel_is_seen(tmp_path, fault):
    place, changes = FAULTS[fault]
    emulation = Emulation(tmp_path, *TILINGS[place], changes)
    assert any(emulation.faults(cases(form)) for form in FORMS)


def test_operands_are_rounded_to_tf32_and_not_cut_off(emulations):
    """Integers of 12 bits, of which TF32 holds 11."""
    emulation = emulations(FLOAT32_MMA)
    a, b = np.arange(2049, 2113).reshape(-1, 1), np.arange(4095, 4027, -1).reshape(1, -1)
    task = emulation.task("nn", a, b, np.zeros((64, 68)), "none", ())
    (found,), _ = emulation.results([task], [(64, 68)])
    np.testing.assert_array_equal(found, (np.rint(a / 2) * 2) @ (np.rint(b / 2) * 2))
