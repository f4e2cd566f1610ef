"""What runs beside what when pictures are drawn, on simulated cards: a second to draw an image, a half to copy it."""

from types import SimpleNamespace

import numpy as np
import pytest
import test_dcgan

from ladder import cuda
from ladder.catalogue import workloads
from ladder.cuda import trace
from ladder.harness import traces
from ladder.harness.steps import in_order
from ladder.records.case import Case
from ladder.workloads.dcgan import cuda as on_card
from ladder.workloads.dcgan import gpu, home
from simulated import Card

WIDTH = 3


@pytest.fixture
def cards(monkeypatch):
    cards = Card()

    def copy(target, values, stream):
        stream.do(0.5 * len(target))
        target[...] = values

    def steps(latents, pictures):
        (own,) = pictures  # groups of one batch

        def draw():
            cards.current().do(float(len(latents)))
            own[...] = 2 * latents

        return [[("projection", lambda: cards.current().do(0.0)), ("layer 1", draw)]]

    for name, stand_in in {
        "load_cupy": lambda: cards,
        "empty": np.empty,
        "empty_pinned": np.empty,
        "lock_pages": lambda array: None,
        "copy_in": lambda array, values, stream: np.copyto(array, values),
        "copy_out": lambda array, values, stream: copy(values, array, stream),
    }.items():
        monkeypatch.setattr(cuda, name, stand_in)
    monkeypatch.setattr(trace, "load_cupy", lambda: cards)
    for module in (trace, home):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=cards.perf_counter))
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    monkeypatch.setattr(gpu, "generator", lambda *given, **how: SimpleNamespace(steps=steps, prepare=[]))
    return cards


def problem_of(images):
    sizes = {"images": images, "pictures": "float32"}
    latents = np.arange(images * WIDTH, dtype="float32").reshape(images, WIDTH)
    return SimpleNamespace(sizes=sizes, network=np.zeros(1), latents=latents, pictures=np.full_like(latents, np.nan))


def rows_of(trace):
    """The spans of every lane, whose batches are named by their numbers."""
    found = {}
    for lane, name, *span in traces.validate(trace(), Case("dcgan", "home", {}, {})):
        found.setdefault(lane, []).append(tuple(span))
        assert name == str(len(found[lane]))
    return found


HIDDEN = {"compute": [(0, 4), (4, 8), (8, 9)], "copy": [(4, 6), (8, 10), (10, 10.5)]}
AFTER = {"compute": [(0, 4), (6, 10), (12, 13)], "copy": [(4, 6), (10, 12), (13, 13.5)]}


@pytest.mark.parametrize(("copies", "expected"), [("hidden", HIDDEN), ("after", AFTER)])
@pytest.mark.parametrize("memory", ["pinned", "staged", "pageable"])
def test_copies_run_beside_the_next_batch_or_before_it(cards, memory, copies, expected):
    problem = problem_of(9)
    found = rows_of(home.setup(problem, memory=memory, copies=copies, batch=4, streams=1).trace)
    arrived = [(end, end) for _, end in expected["copy"]]
    assert found == expected | ({"host": arrived} if memory == "staged" else {})
    assert (problem.pictures == 2 * problem.latents).all(), "what is traced is a whole run"


def test_streams_have_lanes_of_their_own_and_one_link(cards):
    trace = home.setup(problem_of(9), batch=4, streams=2).trace()
    assert [row[:2] for row in trace if row[0] != "copy"] == [
        ("compute 1", "1"),
        ("compute 2", "2"),
        ("compute 1", "3"),
    ]
    assert [row[1] for row in trace if row[0] == "copy"] == ["1", "2", "3"]


@pytest.mark.parametrize("images", [2, 7])
def test_each_of_several_cards_has_lanes_of_its_own(cards, images):
    problem = problem_of(images)
    found = rows_of(home.setup(problem, gpus=2, batch=4).trace)
    share = images // 2
    assert list(found) == [f"card {number} {lane}" for number in range(2) for lane in ("compute", "copy")]
    spans = [found[f"card {number} compute"] for number in range(2)]  # one thread may have done both
    assert [some[-1][1] - some[0][0] for some in spans] == [share, images - share]
    assert (problem.pictures == 2 * problem.latents).all()


def test_the_timed_run_records_no_times_also_once_one_was_traced(cards):
    problem = problem_of(9)
    steps = home.setup(problem, batch=4)
    for _ in range(2):
        made = len(cards.timed)
        steps.timed()()
        assert len(cards.timed) == made
        assert steps.trace()
        assert len(cards.timed) > made


@pytest.mark.parametrize(("memory", "most"), [("pinned", 200), ("staged", 133)])
def test_a_run_of_more_batches_than_a_record_holds_has_no_trace(cards, memory, most):
    steps = home.setup(problem_of(most), memory=memory, batch=1)
    assert traces.MAX_ROWS - 3 < len(steps.trace()) <= traces.MAX_ROWS
    assert home.setup(problem_of(most + 1), memory=memory, batch=1).trace is None


def test_on_one_card_each_step_follows_the_one_before(cards):
    steps = on_card.setup(problem_of(5), batch=4)
    assert steps.trace() == [
        ("card", "projection", 0.0, 0.0),
        ("card", "layer 1", 0.0, 4.0),
        ("card", "projection", 4.0, 4.0),
        ("card", "layer 1", 4.0, 5.0),
    ]
    in_order(steps.run)()
    assert on_card.setup(problem_of(201), batch=1).trace is None


@pytest.mark.gpu
@pytest.mark.parametrize("way", range(len(test_dcgan.HOME)))
def test_on_a_real_card_a_copy_follows_its_batch_and_all_pictures_are_right(way):
    case = Case("dcgan", "home", test_dcgan.sizes_of(101, 64), test_dcgan.HOME[way])
    problem = test_dcgan.problem_of(case.sizes)
    steps = home.setup(problem, **case.tuning)
    in_order(steps.prepare)()
    rows = traces.validate(steps.trace(), case)
    assert not test_dcgan.failed(problem, precision=workloads.precision(case))
    drawn = {name: end for lane, name, _, end in rows if lane.startswith("compute")}
    copied = {name: start for lane, name, start, _ in rows if lane == "copy"}
    assert drawn.keys() == copied.keys()
    assert all(copied[name] >= drawn[name] for name in drawn)
