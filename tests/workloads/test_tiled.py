"""The tiled matrix product compared with plain float64 sums, at every edge of its blocks."""

import itertools
import os
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from ladder.workloads.gemm import tiled, unpacked

pytestmark = pytest.mark.xdist_group("gemm")  # its functions are compiled once
FORMS = ["nn", "tn", "nt"]
SUBSCRIPTS = {"nn": "ik,kj->ij", "tn": "ki,kj->ij", "nt": "ik,jk->ij"}
DTYPES = [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)]  # each compiles for ten seconds


@pytest.fixture(params=["packed", "in place"])
def placement(request, monkeypatch):
    """Operands are packed, or used in place, whatever the shape."""
    monkeypatch.setattr(unpacked, "is_faster_in_place", lambda *sizes: request.param == "in place")


def operands(form, m, n, k, dtype, seed=0):
    """a, b and a possible addend of the product, with entries in ±1."""
    rng = np.random.default_rng(seed)
    shapes = [(k, m) if form == "tn" else (m, k), (n, k) if form == "nt" else (k, n), (m, n)]
    return [rng.uniform(-1, 1, shape).astype(dtype) for shape in shapes]


def error_over_bound(form, a, b, c, out):
    """The largest error of an element as a multiple of its bound (K + 1)·u·(|A||B| + |C|); inf for NaN."""
    float64_operands = [x.astype(np.float64) for x in (a, b)]
    unit_roundoff = np.finfo(out.dtype).eps / 2
    exact = np.einsum(SUBSCRIPTS[form], *float64_operands)
    scale = np.einsum(SUBSCRIPTS[form], *map(np.abs, float64_operands))
    if c is not None:
        exact = exact + c
        scale = scale + np.abs(c)
    depth = a.shape[0] if form == "tn" else a.shape[1]
    error = np.where(np.isfinite(out), np.abs(out - exact), np.inf)
    return np.max(error / ((depth + 1) * unit_roundoff * scale))


def check_product(form, m, n, k, dtype, addend=False):
    a, b, c = operands(form, m, n, k, dtype)
    c = c if addend else None
    before = [x.copy() for x in (a, b)]
    out = np.full((m, n), np.nan, dtype)
    tiled.product(form)(a, b, out, c)
    assert error_over_bound(form, a, b, c, out) <= 1, (form, m, n, k, dtype, addend)
    assert np.array_equal(a, before[0])
    assert np.array_equal(b, before[1])


@pytest.mark.usefixtures("placement")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
def test_odd_shapes_are_right(form, dtype):
    for m, n, k in itertools.product([1, 17, 65], repeat=3):
        check_product(form, m, n, k, dtype)
    for m, n, k in [
        (97, 101, 103),
        (100, 300, 784),
        (3, 500, 2),
        (500, 3, 2),
        (2, 3, 2000),
        (784, 10, 100),
        (7, 530, 300),
        (13, 700, 130),
    ]:
        check_product(form, m, n, k, dtype)


@pytest.mark.usefixtures("placement")
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_addend_is_added(dtype):
    for m, n, k in [(1, 1, 1), (17, 65, 1), (100, 784, 300), (65, 17, 1000)]:
        check_product("nt", m, n, k, dtype, addend=True)


@pytest.mark.usefixtures("placement")
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_edge_of_the_micro_tile(dtype):
    mr, nr = tiled.MR, tiled.NR_BYTES // np.dtype(dtype).itemsize
    for m in [*range(1, 2 * mr + 2)]:
        for n in [1, nr - 1, nr, nr + 1, 2 * nr - 1, 2 * nr, 2 * nr + 1]:
            check_product("nn", m, n, 7, dtype)
    for n in range(1, 2 * nr + 2):
        check_product("tn", mr + 1, n, 3, dtype)


@pytest.mark.slow
@pytest.mark.usefixtures("placement")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_every_edge_of_the_cache_blocks(form, dtype, offset):
    kc = tiled.KC_BYTES // np.dtype(dtype).itemsize
    for blocks in (1, 2):
        check_product(form, blocks * tiled.MC + offset, 9, 11, dtype)
        check_product(form, 9, blocks * tiled.NC + offset, 11, dtype)
        check_product(form, 9, 11, blocks * kc + offset, dtype, addend=form == "nt")
    check_product(form, tiled.MC + offset, tiled.NC + offset, kc + offset, dtype)


@pytest.mark.slow
@pytest.mark.usefixtures("placement")
@pytest.mark.parametrize("form", FORMS)
def test_any_alignment_and_nothing_outside_out_is_written(form):
    m, n, k = 19, 53, 31
    a, b, _ = operands(form, m, n, k, np.float64)
    multiply = tiled.product(form)
    for shift in range(8):
        shifted = []
        for array in (a, b):
            memory = np.empty(array.size + shift)
            memory[shift:] = array.ravel()
            shifted.append(memory[shift:].reshape(array.shape))
        memory = np.full(m * n + 2 * shift + 2, np.nan)
        out = memory[shift + 1 : shift + 1 + m * n].reshape(m, n)
        multiply(*shifted, out)
        assert error_over_bound(form, a, b, None, out) <= 1
        assert np.isnan(memory[: shift + 1]).all()
        assert np.isnan(memory[shift + 1 + m * n :]).all()


@pytest.mark.slow
def test_a_product_can_be_reused_for_other_shapes_and_dtypes():
    multiply = tiled.product("nt")
    for (m, n, k), dtype in itertools.product([(65, 300, 400), (3, 2, 1), (33, 400, 500)], [np.float64, np.float32]):
        a, b, c = operands("nt", m, n, k, dtype)
        for addend in (None, c):
            out = np.full((m, n), np.nan, dtype)
            multiply(a, b, out, addend)
            assert error_over_bound("nt", a, b, addend, out) <= 1


def test_setup_runs_the_product_of_the_problem():
    a, b, c = operands("nt", 5, 6, 7, np.float64)
    problem = SimpleNamespace(sizes={"form": "nt"}, a=a, b=b, c=c, out=np.full((5, 6), np.nan))
    tiled.setup(problem, threads=1)()
    assert error_over_bound("nt", a, b, c, problem.out) <= 1


def test_the_bound_notices_a_dropped_term_and_a_lower_precision():
    a, b, _ = operands("nn", 30, 40, 50, np.float64)
    assert error_over_bound("nn", a, b, None, np.einsum("ik,kj->ij", a, b)) <= 1
    assert error_over_bound("nn", a, b, None, np.einsum("ik,kj->ij", a[:, :-1], b[:-1])) > 1
    assert error_over_bound("nn", a, b, None, np.einsum("ik,kj->ij", a, b.astype(np.float32))) > 1


@pytest.mark.slow
def test_other_forms_layouts_and_dtypes_are_refused():
    with pytest.raises(KeyError):
        tiled.product("tt")
    a, b, out = (np.ones((4, 4)) for _ in range(3))
    for operand in (a.T, a[:, ::2], a.astype(np.float32)):
        with pytest.raises(numba.TypingError, match="C-contiguous arrays of one dtype"):
            tiled.product("nn")(operand, b, out)


@pytest.mark.parametrize("extent", [1, 7, 8, 9, 240, 241, 784, 1025])
def test_even_steps_cover_the_extent_within_the_limit(extent):
    for limit, unit in [
        (tiled.MC, tiled.MR),
        (tiled.NC, tiled.NR_BYTES // 8),
        (tiled.NC, tiled.NR_BYTES // 4),
    ]:
        assert limit % unit == 0
        step = tiled._even_step.py_func(extent, limit, unit)
        assert step % unit == 0
        assert 0 < step <= limit
        assert -(-extent // step) == -(-extent // limit)


@pytest.mark.parametrize("threads", [1, 2, 3, 6, 24])
def test_rectangles_of_the_threads_cover_out_once(threads):
    panel_rows, panel_columns = 8, 24
    for m, n in [(1, 1), (17, 65), (100, 300), (1000, 10)]:
        panels = [-(-m // panel_rows), -(-n // panel_columns)]
        rows, columns = tiled._grid.py_func(*panels, threads)
        assert rows * columns == threads
        counts = np.zeros((m, n), int)
        for row, column in itertools.product(range(rows), range(columns)):
            top, bottom = tiled._part_range.py_func(panels[0], panel_rows, m, rows, row)
            left, right = tiled._part_range.py_func(panels[1], panel_columns, n, columns, column)
            counts[top:bottom, left:right] += 1
        assert (counts == 1).all()


IN_ANOTHER_PROCESS = """
import numba
import numpy as np
from ladder.workloads.gemm import tiled

rng = np.random.default_rng(0)
for threads in {threads}:
    numba.set_num_threads(threads)
    for m, n, k in [(1, 1, 1), (200, 17, 300), (17, 400, 30), (97, 331, 101), (3, 2, 999), (33, 601, 101)]:
        a, b, out = rng.uniform(-1, 1, (m, k)), rng.uniform(-1, 1, (k, n)), np.full((m, n), np.nan)
        for form, operands in {{"nn": (a, b), "tn": (a.T.copy(), b), "nt": (a, b.T.copy())}}.items():
            out[:] = np.nan
            tiled.product(form)(*operands, out)
            assert np.allclose(out, np.einsum("ik,kj->ij", a, b), rtol=0, atol=1e-12), (threads, form, m, n, k)
print(tiled.VECTOR_BYTES, numba.threading_layer(), sum(tiled._multiply.stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_threads_share_a_product_on_a_cpu_without_features_and_the_compiled_code_is_cached(tmp_path):
    """On up to six threads, with vectors of 16 bytes; the second process loads what the first compiled."""
    environment = os.environ | {
        "NUMBA_NUM_THREADS": "6",
        "NUMBA_THREADING_LAYER": "omp",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "OMP_WAIT_POLICY": "passive",
    }
    for threads, misses in [([6, 2, 3], 1), ([1, 2], 0)]:
        run = subprocess.run(
            [sys.executable, "-c", IN_ANOTHER_PROCESS.format(threads=threads)],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.split() == ["16", "omp", str(misses)]
