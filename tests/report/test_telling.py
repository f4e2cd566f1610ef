"""The queries of chapters: lines, the choice of machines, units, phases, claims, and unknown names."""

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from ladder.errors import LadderError
from ladder.report import verdict_table
from ladder.report.latex import code
from ladder.report.machine_choice import pick_machines
from ladder.report.telling import chapter_study, claims, functions
from ladder.report.telling.chapter_study import NotMeasured, phase_times_of_call
from ladder.report.telling.lines import (
    MAX,
    OFF,
    SEVERAL,
    UNSTATED,
    Cause,
    Claim,
    Line,
    Needs,
    Source,
    parallelism,
    select,
)
from ladder.store import study as queries
from ladder.store.study import Study, phase_times, rows_of_first_processes
from made_up import MACHINE
from made_up import chapters as made_chapters


def rows(cases, processes=range(6)):
    """Timed calls of cases, {column: value}, with slightly different seconds in each process."""
    return pd.DataFrame(
        case | {"process": process, "sample": 0, "seconds": case["seconds"] * (1 + 0.001 * process)}
        for case in cases
        for process in processes
    )


CASES = [
    {"variant": "a", "case": f"t={count},g={graph}", "threads": count, "graph": graph, "seconds": 8.0 / count}
    for count in (1, 2, 4)
    for graph in (None, "off", "on")
]


@pytest.mark.parametrize(
    ("tuning", "case"),
    [
        ({"threads": MAX, "graph": "on"}, "t=4,g=on"),
        ({"threads": 2, "graph": OFF}, "t=2,g=None"),
        ({"threads": 2, "graph": UNSTATED}, "t=2,g=None"),
        ({"threads": SEVERAL, "graph": "off"}, "t=4,g=off"),
        ({"threads": 8}, None),
    ],
)
def test_a_line_is_one_case_of_its_tuning(tuning, case):
    selected = Line("a", tuning, "any").rows(rows(CASES))
    assert set(selected["case"]) == ({case} if case else set())
    with_graph = rows([row for row in CASES if row["graph"]])
    assert Line("a", {"graph": UNSTATED}, "any").rows(with_graph).empty
    assert set(Line("a", {"graph": OFF, "threads": 1}, "any").rows(with_graph)["case"]) == {"t=1,g=off"}


def test_several_threads_are_more_than_one():
    one_thread_rows = rows(CASES[:3])
    assert Line("a", {"threads": SEVERAL}, "any").rows(one_thread_rows).empty
    assert len(Line("a", {"threads": MAX}, "any").rows(one_thread_rows))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"device": "host", "threads": 1.0}, "1 thread"),
        ({"device": "host", "threads": float("nan")}, "1 thread"),
        ({"device": "host", "threads": 8}, "8 threads"),
        ({"device": "mpi", "ranks": 1, "threads": float("nan")}, "1 rank"),
        ({"device": "mpi", "ranks": 4.0, "threads": 8}, "4 × 8 threads"),
        ({"device": "cuda"}, "1 GPU"),
        ({"device": "mpi_cuda", "ranks": 1}, "1 GPU"),
        ({"device": "mpi_cuda", "ranks": 2.0}, "2 GPUs"),
        ({"device": "offload", "gpus": 2.0, "ranks": float("nan")}, "2 GPUs"),
        ({"device": "offload"}, "1 GPU"),
    ],
)
def test_the_parallelism_of_a_case_is_text(row, words):
    assert parallelism(row) == words


@pytest.mark.parametrize(("ranks", "words"), [(1, "1 rank of 8 threads"), (4.0, "4 ranks of 8 threads")])
def test_a_sentence_has_the_parallelism_in_words(ranks, words):
    assert parallelism({"device": "mpi", "ranks": ranks, "threads": 8}, sign=None) == words


@pytest.fixture(scope="module")
def full_study():
    return made_chapters.full_study("gemv")


@pytest.fixture(scope="module")
def study(full_study):
    return chapter_study.study_of_chapter("gemv", full_study)


def test_times_are_per_unit_on_the_ladder_and_per_call_of_a_source(study):
    on_ladder, plain = study.find("openmp"), study.find(select("openmp", "threads"))
    assert queries.median_time(plain) / queries.median_time(on_ladder) == pytest.approx(plain["bytes"].iloc[0] / 1e9)
    selection = select("ship")
    assert sum(phase_times_of_call(study.find(selection), study.phases(selection)).values()) == pytest.approx(
        queries.median_time(study.find(selection))
    )


def test_phases_are_of_the_selected_case_alone(study):
    """Cases on two and on four ranks have their own phases, although variant and experiment are the same."""
    few, many = (select("ship", "ranks", ranks=ranks) for ranks in (2, 4))
    for selection in (few, many):
        assert set(study.phases(selection)["case"]) == {study.find(selection)["case"].iloc[0]}
    assert set(study.phases(few)["case"]).isdisjoint(study.phases(many)["case"])


def test_a_chapter_study_is_made_once_for_a_study(full_study, study):
    assert chapter_study.study_of_chapter("gemv", full_study) is study
    assert claims.verdicts(study) is claims.verdicts(study)


def test_machines_of_other_roles_stand_apart():
    """A machine that meets both shared roles gets them; a role with `separate` doesn't influence this choice."""
    sources = {name: Source(name, name) for name in ("host", "gpu", "old", "more")}
    needs = {"host": Needs(("old", "host")), "gpu": Needs(("gpu",)), "more": Needs(("more",), separate=True)}

    def pick(**machines_of_sources):
        frames = {
            name: {"samples": pd.DataFrame({"machine": machines, "phase": "total"})}
            for name, machines in machines_of_sources.items()
        }
        return [machine.machine_name for machine in pick_machines(Study(frames, None), needs, sources).values()]

    assert pick(host=["a", "b"], gpu=["b", "c"], more=["c"]) == ["b", "b", "c"]
    assert pick(host=["a"], gpu=["b", "c"]) == ["a", "b", None]
    assert pick(host=["a"], old=["b"], gpu=["a"]) == ["b", "a", None]
    assert pick(host=["b", "a (published)"], gpu=["a (published)"]) == ["a (published)"] * 2 + [None]


def test_every_role_goes_to_the_machine_with_the_most_campaigns():
    """Also the role of a GPU, if the host's machine has no rows for it. More campaigns of other roles don't count."""
    sources = {name: Source(name, name) for name in ("host", "gpu", "old")}
    host, gpu = (["c"] * 3, ["3", "4", "5"]), (["a", "b", "b"], [None, "1", "2"])
    old = ["b", "b", "c"], ["1", "2", "3"]
    frames = {
        name: {"samples": pd.DataFrame({"machine": machines, "campaign": campaigns, "phase": "total"})}
        for name, (machines, campaigns) in {"host": host, "gpu": gpu, "old": old}.items()
    }
    needs = {"host": Needs(("host",)), "gpu": Needs(("gpu",)), "old": Needs(("old",), separate=True)}
    machines_of_roles = pick_machines(Study(frames, None), needs, sources)
    assert [machine.machine_name for machine in machines_of_roles.values()] == ["c", "b", "b"]


def test_a_trace_is_of_the_first_process_of_its_case():
    """Processes of a second campaign have larger numbers."""
    rows = pd.DataFrame({"case": ["a", "a", "b", "b"], "process": [0, 1, 7000, 7001]})
    assert [*rows_of_first_processes(rows)["process"]] == [0, 7000]
    assert rows_of_first_processes(rows.iloc[:0]).empty


@pytest.mark.parametrize(
    ("columns", "are_met"),
    [
        ({"variant": ["a", "b", "c"], "ranks": [1, 2, None]}, True),
        ({"variant": ["a", "b"], "ranks": [1, 1]}, False),
        ({"variant": ["a", "a"], "ranks": [2, 4]}, False),
        ({"variant": ["a", "b"]}, False),
        ({"variant": [], "ranks": []}, False),
    ],
)
def test_a_machine_has_measured_all_variants_and_enough_of_each_column(columns, are_met):
    assert Needs(("any",), frozenset({"a", "b"}), {"ranks": 2}).are_met(pd.DataFrame(columns)) == are_met


@pytest.mark.parametrize(
    ("ranks_of_machines", "machine"),
    [
        ({"a": [1, 2, 3], "b": [4, 1], "c": [1, 4]}, "b"),
        ({"a": [1, None, 2], "b": [1, 1]}, "a"),
        ({"a": [1], "b": [None]}, None),
    ],
)
def test_the_widest_machine_is_the_first_with_the_most_ranks_if_above_one(ranks_of_machines, machine):
    pairs = [(name, rank_count) for name, rank_counts in ranks_of_machines.items() for rank_count in rank_counts]
    rows = [{"machine": name, "phase": "total", "ranks": rank_count} for name, rank_count in pairs]
    study = Study({"any": {"samples": pd.DataFrame(rows)}}, None)
    machines = pick_machines(study, {"wide": Needs(("any",), widest="ranks")}, {"any": Source("wide", "any")})
    assert machines["wide"].machine_name == machine


def test_the_threads_of_the_bandwidth_are_the_most_that_were_measured():
    def chapter(*threads):
        machine = SimpleNamespace(samples=lambda names: pd.DataFrame({"threads": threads}))
        return SimpleNamespace(machine={"host": machine}.get)

    assert functions.bandwidth_threads(chapter(1, 8, 4), "host") == 8
    with pytest.raises(NotMeasured):
        functions.bandwidth_threads(chapter(), "host")


def test_phases_of_one_name_add_up():
    phases = pd.DataFrame(
        {"process": process, "sample": sample, "phase": name, "seconds": seconds}
        for process in range(3)
        for sample in range(2)
        for name, seconds in (("products", 1.0), ("products", 2.0), ("update", 0.5))
    )
    assert phase_times(phases) == {"products": 3.0, "update": 0.5}
    assert phase_times(phases.iloc[:0]) == {}


def test_the_last_selection_of_phases_counts():
    selection = select("ship", "ranks")
    assert selection.without("compute").phase("compute") == selection.phase("compute")
    assert selection.without("compute").phase() == selection


def test_a_ratio_of_phases_is_that_of_their_times(study):
    ship = select("ship", "ranks")
    times = phase_times(study.phases(ship))
    compute_over_rest = study.ratio(ship.phase("compute"), ship.without("compute"))
    assert compute_over_rest.value == pytest.approx(
        times["compute"] / (sum(times.values()) - times["compute"]), rel=0.01
    )
    assert study.ratio(ship.without("compute"), ship.phase("compute")).value == pytest.approx(
        1 / compute_over_rest.value, rel=0.01
    )
    overlapping = select("nccl-ship", "gpus", chunks=4)  # its only phase is `scatter and compute`
    for part in (
        ship.phase("nothing"),
        select("openmp", "threads").phase("compute"),
        overlapping.without("compute"),
    ):
        assert study.find(part).empty


UNMEASURED = select("openmp", "threads", threads=99)


def decide_claim(study, **claim):
    return claims.decide_claim(study, campaign_study=study, claim=Claim("key", "`openmp` over one", **claim))


def test_a_claim_is_answered_from_its_data(study):
    plain = decide_claim(study, slower="serial", faster="openmp", cause=Cause("over `ship`:", "ship", "openmp"))
    assert plain.text == r"\texttt{openmp} over one"
    assert plain.answer.verdict == "as claimed"
    assert plain.cause.startswith(r"over \texttt{ship}: \num{")
    missing = decide_claim(
        study, slower="serial", faster=UNMEASURED, cause=Cause("it", UNMEASURED, "serial"), needs="`it`"
    )
    assert (missing.answer.verdict, missing.cause) == ("not tested", None)
    assert verdict_table.cause(missing) == r"needs \texttt{it}"


def test_a_claim_may_have_functions(study):
    def lacking_nodes(study):
        raise NotMeasured(needs="two nodes")

    computed = decide_claim(
        study, ratio=lambda study: study.ratio("openmp", "serial"), cause=lambda study, ratio: f"{ratio.value:.2f}"
    )
    assert (computed.answer.verdict, computed.cause) == ("the opposite", "0.04")
    assert decide_claim(study, ratio=lacking_nodes).needs == "two nodes"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (lambda study: study.find("opnmp"), "There is no line 'opnmp'. Did you mean 'openmp'?"),
        (lambda study: study.find(select("openmp", "thread")), "no source 'thread'. Did you mean 'threads'?"),
        (lambda study: study.machine("tpu"), "no machine 'tpu'"),
        (lambda study: functions.verdict(study, "stayin"), "no claim 'stayin'. Did you mean 'staying'?"),
        (lambda study: functions.tally(study, "number"), "no group of claims 'number'. Did you mean 'numbers'?"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(study, query, sentence):
    with pytest.raises(LadderError, match=sentence.replace("?", r"\?")):
        query(study)


@pytest.mark.parametrize(
    "query",
    [
        lambda study: functions.time(study, UNMEASURED),
        lambda study: functions.count(study, "serial", "threads"),
        lambda study: functions.energy(study, "openmp"),
        lambda study: functions.time(study, select("openmp").phase("compute")),
        lambda study: functions.phases_over_call(study, select("ship", "ranks")),
        lambda study: functions.other_machine(study, "gpu", "host"),
        lambda study: functions.memory_rate(study, "host", 7),
        lambda study: functions.speedup(study, UNMEASURED, "openmp"),
        lambda study: functions.claimed_ratio(study, "nodes"),
    ],
)
def test_what_was_not_measured_has_no_value(study, query):
    with pytest.raises(NotMeasured):
        query(study)


def test_the_functions_of_a_text_return_measured_values(study):
    text_functions = functions.template_names(study)
    assert text_functions["speedup"]("serial", "openmp").startswith(r"\num{24}\,$\times$")
    assert text_functions["count"]("openmp", "threads") == r"\num{24}"
    assert text_functions["parallelism"]("hybrid") == "2 ranks of 8 threads"
    assert text_functions["machine"]("host") == code(MACHINE)
    study_with_gpu = replace(study.study, descriptions={study.study.machine_name: {"gpus": [{"name": "NVIDIA H200"}]}})
    assert functions.gpu(chapter_study.study_of_chapter("gemv", study_with_gpu), "gpu") == "NVIDIA H200"
    assert text_functions["tally"]("directions").endswith("not tested")
    assert text_functions["rate"]("openmp") == text_functions["rate"]("openmp", "bytes")
