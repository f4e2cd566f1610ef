"""The index arithmetic of GEMM's CUDA kernels, on the CPU: g++ compiles their sources with `emulated/device.h`.

`emulated/ptx` replaces the PTX instructions. Asynchronous copies arrive as late as they may, threads are scheduled at
random, and a cluster's blocks run concurrently. g++'s sanitizers detect accesses outside the operands and unaligned
wide accesses. Not tested are accesses beyond an array in shared memory, and the instructions themselves.
"""

import functools
import shutil
import struct
import subprocess

import numpy as np
import pytest

import emulator
from ladder.build import binaries
from ladder.catalogue import workloads

pytestmark = pytest.mark.xdist_group("emulated")  # each tiling is compiled once
SANITIZERS = ("-fsanitize=address,alignment", "-fno-sanitize-recover=all")
FORMS = ("nn", "tn", "nt")
OPERANDS = ("a", "b", "c", "out")
ADDENDS = ("none", "c", "out")
# Smaller and larger than the tiles, never whole tiles, with rows that fit whole vectors and others. k fits in a tile,
# or fills more tiles than there are buffers.
SHAPES = [(1, 1, 1), (1, 17, 5), (17, 1, 9), (5, 3, 65), (20, 36, 8), (33, 66, 17), (65, 17, 2), (36, 68, 132)]
# The smallest tilings with several threads, warps and vectors along both sides.
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
COLUMNS, TILED, MMA, FLOAT32_MMA = 2, 4, 6, 8  # indices of TILINGS
# Indices of the TILINGS that only the exhaustive tests run: kernels without asynchronous copies, and further tilings of
# a source.
EXHAUSTIVE = (0, 1, 3, 5, 6, 7)


@pytest.fixture(scope="module", autouse=True)
def compiler():
    """Skip all tests if g++ or its sanitizers are missing."""
    command = ["g++", *emulator.GXX_OPTIONS, *SANITIZERS, "-x", "c++", "-", "-o", "/dev/null"]
    if not shutil.which("g++") or subprocess.run(command, input=b"int main() {}", capture_output=True).returncode:
        pytest.skip("requires g++ with its sanitizers")


class Emulation:
    """A kernel source with a tiling, compiled for the CPU after `changes`, {text: replacement}."""

    def __init__(self, folder, variant, dtype, tiling, changes=None):
        self.dtype, self.tiling, self.program = np.dtype(dtype), tiling, folder / "main"
        self.geometry = workloads.load_variant("gemm", variant).geometry
        macros = binaries.macros(binaries.slug("gemm", variant, dtype, tiling))
        macros |= emulator.source_macro(folder, "gemm", variant, (changes or {}).items())
        macros |= {"DYNAMIC_BYTES": self.launch(1, 1)[2]}
        emulator.compile_program(emulator.EMULATION_SOURCES / "gemm.cpp", self.program, macros, *SANITIZERS)

    def launch(self, m, n):
        return self.geometry({"m": m, "n": n, "dtype": self.dtype.name}, **self.tiling)

    def task(self, form, a, b, c, addend, shifted):
        """The program's input for a product of a, m x k, and b, k x n; `form` decides how they are stored."""
        grid, block, _ = self.launch(*c.shape)
        shifts = sum(1 << OPERANDS.index(name) for name in shifted)
        header = [FORMS.index(form), *c.shape, a.shape[1], ADDENDS.index(addend), shifts, *(*grid, 1)[:3]]
        stored = (a.T if form == "tn" else a, b.T if form == "nt" else b, c)
        data = b"".join(matrix.astype(self.dtype).tobytes() for matrix in stored)
        return struct.pack("12i", *header, *(*block, 1, 1)[:3]) + data

    def results(self, tasks, shapes):
        """The results that the program has printed, in their shapes, and its error message."""
        options = {"env": {"ASAN_OPTIONS": "detect_leaks=0"}, "capture_output": True, "timeout": 60}
        process = subprocess.run([self.program], input=b"".join(tasks), **options)
        results, output = [], process.stdout
        for m, n in shapes:
            if len(output) < m * n * self.dtype.itemsize:
                break
            results.append(np.frombuffer(output, self.dtype, m * n).reshape(m, n))
            output = output[m * n * self.dtype.itemsize :]
        return results, process.stderr.decode() if process.returncode else ""

    def wrong_cases(self, cases):
        """Of cases (form, m, n, k, addend, shifted operands), those with a wrong result, then the first without one."""
        tasks, expected = [], []
        for form, m, n, k, addend, shifted in cases:
            generator = np.random.default_rng(m * n + k)
            a, b, c = (generator.integers(-9, 10, shape) for shape in ((m, k), (k, n), (m, n)))
            tasks.append(self.task(form, a, b, c, addend, shifted))
            expected.append(a @ b + (0 if addend == "none" else c))
        results, message = self.results(tasks, [out.shape for out in expected])
        pairs = zip(cases, expected, results, strict=False)
        wrong = [case for case, out, result in pairs if not np.array_equal(result, out)]
        return [*wrong, *((case, message) for case in cases[len(results) :][:1])]


def cases(form):
    """Every shape, with addends that differ between the forms; then operands that aren't aligned to vectors."""
    first = FORMS.index(form)
    edges = [(form, *shape, ADDENDS[(first + index) % len(ADDENDS)], ()) for index, shape in enumerate(SHAPES)]
    return edges + [(form, 36, 20, 40, "c", shifted) for shifted in [*zip(OPERANDS, strict=True), OPERANDS]]


def identifier(tiling):
    return "-".join(map(str, (*tiling[:2], *tiling[2].values())))


@pytest.fixture(scope="module")
def emulations(tmp_path_factory):
    """A function that returns the emulation of a tiling by its index in TILINGS, compiled once."""
    return functools.cache(lambda index: Emulation(tmp_path_factory.mktemp("emulated"), *TILINGS[index]))


INDICES = [
    pytest.param(index, id=identifier(tiling), marks=[pytest.mark.exhaustive] * (index in EXHAUSTIVE))
    for index, tiling in enumerate(TILINGS)
]


@pytest.fixture(params=INDICES)
def emulation(request, emulations):
    return emulations(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_products_are_right_at_every_edge(emulation, form):
    assert emulation.wrong_cases(cases(form)) == []


# {fault: (index in TILINGS, {text in the source: its replacement})}.
FAULTS = {
    "a fragment's halves exchanged": (FLOAT32_MMA, {"h % 2 * 8, p + h / 2 * 4": "h / 2 * 8, p + h % 2 * 4"}),
    "a wait for too few copies": (MMA, {"wait_for_groups<STAGES - 2>": "wait_for_groups<STAGES - 1>"}),
    "a barrier missing": (TILED, {"__syncthreads();\n    if (step": "if (step"}),
    "a barrier between columns missing": (COLUMNS, {"__syncthreads();\n    if (start": "    if (start"}),
}


@pytest.mark.parametrize(
    "fault",
    [name if name == "a barrier missing" else pytest.param(name, marks=pytest.mark.exhaustive) for name in FAULTS],
)
def test_a_fault_in_a_kernel_is_noticed(tmp_path, fault):
    index, changes = FAULTS[fault]
    emulation = Emulation(tmp_path, *TILINGS[index], changes)
    assert any(emulation.wrong_cases(cases(form)) for form in FORMS)


def test_operands_are_rounded_to_tf32_and_not_truncated(emulations):
    """The operands are integers of 12 bits, of which TF32 holds 11."""
    emulation = emulations(FLOAT32_MMA)
    a, b = np.arange(2049, 2113).reshape(-1, 1), np.arange(4095, 4027, -1).reshape(1, -1)
    task = emulation.task("nn", a, b, np.zeros((64, 68)), "none", ())
    (result,), _ = emulation.results([task], [(64, 68)])
    np.testing.assert_array_equal(result, (np.rint(a / 2) * 2) @ (np.rint(b / 2) * 2))
