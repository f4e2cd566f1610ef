"""Traces of simulated GPUs, on which drawing an image takes a second and copying it half a second."""

from types import SimpleNamespace

import numpy as np
import pytest
import test_dcgan

from ladder import cuda
from ladder.catalogue import traits
from ladder.cuda import trace
from ladder.harness import traces
from ladder.harness.steps import chain_steps
from ladder.records.case import Case
from ladder.workloads.dcgan import cuda as cuda_variant
from ladder.workloads.dcgan import gpu, home
from simulated_gpus import SimulatedGpus

LATENT_WIDTH = 3


@pytest.fixture
def gpus(monkeypatch):
    """Simulated GPUs, with a generator whose picture of a latent is twice the latent."""
    gpus = SimulatedGpus()

    def copy(target, values, stream):
        stream.enqueue(0.5 * len(target))
        target[...] = values

    def steps(latents, pictures):
        (batch,) = pictures  # groups of one batch

        def draw():
            gpus.current_stream().enqueue(float(len(latents)))
            batch[...] = 2 * latents

        return [[("projection", lambda: gpus.current_stream().enqueue(0.0)), ("layer 1", draw)]]

    for name, stand_in in {
        "load_cupy": lambda: gpus,
        "empty": np.empty,
        "empty_pinned": np.empty,
        "lock_pages": lambda array: None,
        "copy_in": lambda array, values, stream: np.copyto(array, values),
        "copy_out": lambda array, values, stream: copy(values, array, stream),
    }.items():
        monkeypatch.setattr(cuda, name, stand_in)
    monkeypatch.setattr(trace, "load_cupy", lambda: gpus)
    for module in (trace, home):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=gpus.perf_counter))
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    monkeypatch.setattr(gpu, "generator", lambda *arguments, **options: SimpleNamespace(steps=steps, prepare=[]))
    return gpus


def problem_of(images):
    sizes = {"images": images, "pictures": "float32"}
    latents = np.arange(images * LATENT_WIDTH, dtype="float32").reshape(images, LATENT_WIDTH)
    return SimpleNamespace(sizes=sizes, network=np.zeros(1), latents=latents, pictures=np.full_like(latents, np.nan))


def spans_of(run_trace):
    """{lane: [(start, end), ...]} of the trace that `run_trace()` returns, whose batches must be numbered in order."""
    spans = {}
    for lane, name, *span in traces.validate(run_trace(), Case("dcgan", "home", {}, {})):
        spans.setdefault(lane, []).append(tuple(span))
        assert name == str(len(spans[lane]))
    return spans


# {lane: [(start, end), ...]} in seconds, of nine images in batches of four, for each value of the tuning `copies`.
HIDDEN_COPIES = {"compute": [(0, 4), (4, 8), (8, 9)], "copy": [(4, 6), (8, 10), (10, 10.5)]}
COPIES_AFTER = {"compute": [(0, 4), (6, 10), (12, 13)], "copy": [(4, 6), (10, 12), (13, 13.5)]}


@pytest.mark.parametrize(("copies", "expected"), [("hidden", HIDDEN_COPIES), ("after", COPIES_AFTER)])
@pytest.mark.parametrize("memory", ["pinned", "staged", "pageable"])
def test_copies_overlap_the_next_batch_or_precede_it(gpus, memory, copies, expected):
    problem = problem_of(9)
    spans = spans_of(home.setup(problem, memory=memory, copies=copies, batch=4, streams=1).trace)
    host_copies = [(end, end) for _, end in expected["copy"]]
    assert spans == expected | ({"host": host_copies} if memory == "staged" else {})
    assert (problem.pictures == 2 * problem.latents).all(), "the traced run must be a whole one"


def test_each_stream_has_a_lane_and_copies_share_one(gpus):
    rows = home.setup(problem_of(9), batch=4, streams=2).trace()
    assert [row[:2] for row in rows if row[0] != "copy"] == [
        ("compute 1", "1"),
        ("compute 2", "2"),
        ("compute 1", "3"),
    ]
    assert [row[1] for row in rows if row[0] == "copy"] == ["1", "2", "3"]


@pytest.mark.parametrize("images", [2, 7])
def test_each_of_several_gpus_has_its_own_lanes(gpus, images):
    problem = problem_of(images)
    spans = spans_of(home.setup(problem, gpus=2, batch=4).trace)
    images_of_first = images // 2
    assert list(spans) == [f"card {number} {lane}" for number in range(2) for lane in ("compute", "copy")]
    compute = [spans[f"card {number} compute"] for number in range(2)]  # one thread may have run both
    assert [lane[-1][1] - lane[0][0] for lane in compute] == [images_of_first, images - images_of_first]
    assert (problem.pictures == 2 * problem.latents).all()


def test_a_timed_run_records_no_times_even_after_a_trace(gpus):
    problem = problem_of(9)
    steps = home.setup(problem, batch=4)
    for _ in range(2):
        before = len(gpus.timed_events)
        steps.timed()()
        assert len(gpus.timed_events) == before
        assert steps.trace()
        assert len(gpus.timed_events) > before


# A record holds 400 rows. A batch has one of its kernels, one of its copy and, if staged, one of the host's copy.
@pytest.mark.parametrize(("memory", "max_batches"), [("pinned", 200), ("staged", 133)])
def test_a_run_of_more_batches_than_a_record_holds_has_no_trace(gpus, memory, max_batches):
    steps = home.setup(problem_of(max_batches), memory=memory, batch=1)
    assert traces.MAX_ROWS - 3 < len(steps.trace()) <= traces.MAX_ROWS
    assert home.setup(problem_of(max_batches + 1), memory=memory, batch=1).trace is None


def test_on_one_gpu_each_step_follows_the_previous_one(gpus):
    steps = cuda_variant.setup(problem_of(5), batch=4)
    assert steps.trace() == [
        ("card", "projection", 0.0, 0.0),
        ("card", "layer 1", 0.0, 4.0),
        ("card", "projection", 4.0, 4.0),
        ("card", "layer 1", 4.0, 5.0),
    ]
    chain_steps(steps.run)()
    assert cuda_variant.setup(problem_of(201), batch=1).trace is None, "a record can't hold 402 rows"


@pytest.mark.gpu
@pytest.mark.parametrize("index", range(len(test_dcgan.HOME_TUNINGS)))
def test_on_a_real_gpu_a_copy_follows_its_batch_and_all_pictures_are_right(index):
    case = Case("dcgan", "home", test_dcgan.sizes_of(101, 64), test_dcgan.HOME_TUNINGS[index])
    problem = test_dcgan.problem_of(case.sizes)
    steps = home.setup(problem, **case.tuning)
    chain_steps(steps.prepare)()
    rows = traces.validate(steps.trace(), case)
    assert not test_dcgan.has_failed(problem, precision=traits.precision(case))
    kernels_end = {name: end for lane, name, _, end in rows if lane.startswith("compute")}
    copy_start = {name: start for lane, name, start, _ in rows if lane == "copy"}
    assert kernels_end.keys() == copy_start.keys()
    assert all(copy_start[name] >= kernels_end[name] for name in copy_start)
