"""What the paper says of matrix-vector products, of times made up by rule."""

import pandas as pd
import pytest

import made_up
from ladder.records.case import Case
from ladder.report.latex import code, percent, rate
from ladder.report.phrases import Missing
from ladder.report.study import Study
from ladder.workloads.gemv.paper import numbers as gemv_numbers
from ladder.workloads.gemv.paper import tables as gemv_tables

EVERYTHING = [*made_up.cases(), *made_up.gpu_cases(), *made_up.gemv_cases()]


@pytest.fixture(scope="module")
def found():
    return made_up.study(chosen=EVERYTHING)


@pytest.fixture(scope="module")
def values(found):
    return gemv_numbers.numbers(found)


def without(drop):
    """The numbers without the cases of which `drop(experiment, case)` is true."""
    return gemv_numbers.numbers(made_up.study(chosen=[one for one in EVERYTHING if not drop(*one[:2])]))


def test_the_keys_do_not_depend_on_what_was_measured(values):
    for some in ("gemv_threads", "gemv_mpi", "gemv_gpu", "gemv_cards"):
        one = made_up.study(chosen=[one for one in EVERYTHING if one[0] == some])
        assert list(gemv_numbers.numbers(one)) == list(values)
    nothing = gemv_numbers.numbers(Study({}, None))
    assert list(nothing) == list(values)
    assert all(value is None or isinstance(value, Missing) for value in nothing.values())


def test_a_whole_study_lacks_only_what_cannot_be(values):
    missing = {key for key, value in values.items() if value is None or isinstance(value, Missing)}
    assert missing == {
        "gemv/mpi/ship/sending",  # it is part of every product
        "gemv/mpi/largest/shared",  # no threads multiplied that matrix
        "gemv/mpi/nodes",  # there is one
        "gemv/cards/ship/best/sending",
        "gemv/cards/ship/cores/sending",
        *(f"gemv/cards/ship/best/{name}" for name in ("computation", "imbalance", "verdict")),  # it overlaps
        "gemv/cards/shared/time",  # as above
        *(f"gemv/cards/{mode}/best/against/shared" for mode in ("ship", "resident")),
    }


def test_the_fastest_on_threads_is_held_against_reading_by_as_many(found, values):
    reading = found.samples("ceiling_bandwidth", kernel="read", threads=12)
    every = [found.samples(name, threads=12) for name in ("ceiling_bandwidth", "gemv_threads")]
    best = max((rows["bytes"] / rows["seconds"]).max() for rows in every)
    rows = found.samples("gemv_threads", variant="openmp_bound", binding="spread", threads=12)
    reached = rows["bytes"].iloc[0] / rows["seconds"].median()
    assert values["gemv/threads/intensity"] == r"\num{0.250}"
    assert values["gemv/threads/side"] == "below the ridge, where memory is the limit"
    assert values["gemv/threads/best/method"] == f"{code('openmp_bound')} ({code('spread')})"
    assert values["gemv/threads/best/threads"] == r"\num{12} threads"
    assert values["gemv/threads/best/rate"] == rate(reached, "bandwidth")
    assert values["gemv/threads/best/share"] == percent(reached / best)
    usual = reading["bytes"].iloc[0] / reading["seconds"].median()
    assert values["gemv/threads/best/against/reading"].startswith(
        rf"is \num{{{reached / usual:#.3g}}} times as fast as reading alone"
    )


def test_bindings_are_told_apart(values):
    assert values["gemv/threads/spread/against/openmp"].startswith(r"is \num{1.50} times as fast")
    assert values["gemv/threads/close/against/openmp"].startswith(r"takes \num{2.00} times as long")
    assert values["gemv/threads/spread/against/close"].startswith(r"is \num{3.00} times as fast")
    assert values["gemv/threads/spread/against/blas"].startswith(r"is \num{1.50} times as fast")


def test_communication_is_held_against_computation(values):
    """Four ranks: 4096 rows are computed in 10 ms and sent in 132 ms."""
    assert values["gemv/mpi/ship/ranks"] == r"\num{4} ranks"
    assert values["gemv/mpi/ship/verdict"].startswith(r"takes \num{13.2} times as long as the computation")
    assert values["gemv/mpi/ship/against/one"].startswith(r"takes \num{3.55} times as long as one rank")
    assert values["gemv/mpi/resident/against/one"].startswith(r"is \num{3.9")
    assert values["gemv/mpi/resident/verdict"].startswith(r"is \num{500} times as fast as the computation")
    assert values["gemv/mpi/resident/imbalance"] == r"\num{1.25}"
    assert values["gemv/mpi/ship/hybrid"] == r"\num{2} ranks of \num{2} threads"
    assert values["gemv/mpi/ship/pure"] == r"\num{2} ranks"
    assert values["gemv/mpi/resident/hybrid/against/pure"].startswith(r"takes \num{1.10} times as long")


def test_a_hybrid_has_threads():
    """Of one thread it is the program without, which luck may make the faster of the two."""
    sizes, tuning = made_up.gemv(4096), {"ranks": 2, "threads": 1}
    lucky = [
        ("gemv_mpi", Case("gemv", "mpi_openmp", sizes, {**tuning, "mode": mode}), 1e-4) for mode in ("ship", "resident")
    ]
    values = gemv_numbers.numbers(made_up.study(chosen=[*EVERYTHING, *lucky]))
    for mode in ("mpi/ship/hybrid", "mpi/resident/hybrid", "cards/ship/cores/place"):
        assert values[f"gemv/{mode}"] == r"\num{2} ranks of \num{2} threads"


def test_ranks_on_several_nodes_are_told_of(values):
    assert values["gemv/mpi/nodes"] is None
    spread = made_up.study(chosen=[one for one in EVERYTHING if one[0] == "gemv_mpi"])
    samples = spread.tables["gemv_mpi"]["samples"]
    spread.tables["gemv_mpi"]["samples"] = samples.assign(nodes=samples["ranks"].clip(upper=2))
    assert gemv_numbers.numbers(spread)["gemv/mpi/nodes"] == r"\num{2} nodes"
    assert r"4 on \num{2} nodes" in gemv_tables.tables(spread)["mpi"]
    # As beside another machine, of which they are known.
    spread.tables["gemv_mpi"]["samples"] = samples.assign(nodes=pd.array([pd.NA] * len(samples), dtype="Int64"))
    assert gemv_numbers.numbers(spread)["gemv/mpi/nodes"] is None


def test_ranks_pay_once_what_they_save_makes_up_for_the_sending(values):
    """132 ms are sent to save 30 ms with every product; threads that share their memory are faster than four ranks."""
    assert values["gemv/mpi/largest/one"] == r"after \num{5} products"
    assert values["gemv/mpi/smallest/place"] == r"\num{4} ranks"
    assert values["gemv/mpi/smallest/shared"] == "never"
    threads = Case("gemv", "blas", made_up.gemv(1024), {"threads": 4})
    resident = made_up.PRODUCT / 4 + 2 * made_up.TALK
    for seconds, told in ((resident, "can't be told"), (resident + 0.01, r"after \num{4} products")):
        alike = [("gemv_threads", threads, seconds), *(one for one in EVERYTHING if one[0] == "gemv_mpi")]
        assert told in gemv_numbers.numbers(made_up.study(chosen=alike))["gemv/mpi/smallest/shared"]


def test_the_findings_hold_where_the_data_say_so(values):
    assert values["gemv/findings/communication/verdict"] == "holds"
    assert values["gemv/findings/resident/verdict"] == "holds"
    assert r"repaid after \num{5} products" in values["gemv/findings/resident/evidence"]
    alone = without(lambda name, case: name == "gemv_mpi" and case.ranks > 1)
    for finding in ("communication", "resident"):
        assert alone[f"gemv/findings/{finding}/verdict"] == "not tested"
    assert alone["gemv/mpi/largest/one"] == "at a number of products that was not measured"


@pytest.mark.parametrize(
    ("sending", "verdict"), [(0.4, "does not hold"), (1.0, "can't be told"), (1.5, "holds in part"), (3.0, "holds")]
)
def test_far_longer_means_more_than_twice(found, sending, verdict):
    changed = made_up.study(chosen=[one for one in EVERYTHING if one[0] == "gemv_mpi"])
    samples = changed.tables["gemv_mpi"]["samples"]
    of_phase = samples.set_index(["variant", "case", "process", "sample"])["seconds"]
    compute = of_phase[(samples["phase"] == "compute").to_numpy()].reindex(
        samples.set_index(["variant", "case", "process", "sample"]).index
    )
    scatter = (samples["phase"] == "scatter").to_numpy()
    samples.loc[scatter, "seconds"] = sending * compute.to_numpy()[scatter]
    samples.loc[samples["phase"].isin(["broadcast", "gather"]), "seconds"] = 1e-12
    assert gemv_numbers.numbers(changed)["gemv/findings/communication/verdict"] == verdict


def test_the_rungs_on_a_gpu_are_told_by_matrix(values):
    assert values["gemv/gpu/large/float64/matrix"] == r"$4096 \times 8192$"
    assert values["gemv/gpu/long/float64/matrix"] == r"$10 \times 1000000$"
    assert values["gemv/gpu/small/float32/matrix"] == r"$1000 \times 784$"
    assert values["gemv/gpu/large/float64/cuda_warp/against/cublas"].startswith(r"is \num{1.1")
    assert values["gemv/gpu/long/float64/cuda_naive/rate"].startswith(r"\qty{99.9}{\giga")
    # In half the time on a block that only one of the two was tried with.
    assert values["gemv/gpu/large/float64/cuda_shared/against/cuda_naive"].startswith(r"is \num{2.00} times as fast")
    assert values["gemv/gpu/large/float64/cuda_shared/block"] == r"\num{128}"
    two = without(lambda name, case: name == "gemv_gpu" and case.sizes["n"] == 10)
    assert two["gemv/gpu/long/float64/matrix"] is None


def test_cards_are_held_against_the_best_of_several_ranks_on_the_same_matrix(values):
    """Sending 4096 rows to two cards takes 4.4 ms by NCCL; the hybrid sends them in 44 ms and computes for 11 ms."""
    assert values["gemv/cards/matrix"] == r"$4096 \times 8192$"
    assert values["gemv/cards/ship/best/method"] == code("nccl_cublas")
    assert values["gemv/cards/resident/best/method"] == code("nccl_cublas") + " as one CUDA graph"
    assert values["gemv/cards/large/method"] == code("nccl_cublas") + " as one CUDA graph"
    assert values["gemv/cards/ship/cores/place"] == r"\num{2} ranks of \num{2} threads"
    assert values["gemv/cards/ship/best/against/cores"].startswith(r"is \num{12.4} times as fast")
    assert values["gemv/cards/graph/against/eager"].startswith(r"is \num{1.25} times as fast as the same launched")
    assert (values["gemv/cards/graph/matrix"], values["gemv/cards/graph/place"]) == (
        values["gemv/cards/matrix"],
        r"\num{2} GPUs",
    )
    assert "the fastest on one GPU" in values["gemv/cards/ship/best/against/one"]
    assert values["gemv/cards/ship/nccl/against/mpi"].startswith(r"is \num{2.00} times as fast")
    for key in (
        "gemv/cards/resident/nccl/against/mpi",
        "gemv/cards/large/nccl/against/mpi",
    ):  # though a graph is faster
        assert values[key].startswith("can't be told apart from")
    # One card computes for 400 us and two for 200; to broadcast and to gather takes 10 us each.
    assert values["gemv/cards/large/efficiency"] == rf"\qty{{{100 * 420 / 440:.1f}}}{{\percent}}"
    # Without a graph those in pieces are the fastest, in which results travel beside the computation.
    assert values["gemv/cards/large/eager/efficiency"] == rf"\qty{{{100 * 410 / 420:.1f}}}{{\percent}}"
    assert values["gemv/cards/large/matrix"] == r"$8192 \times 8192$"
    assert values["gemv/cards/large/against/one"].startswith(r"is \num{1.9")
    one = without(lambda name, case: "cublas" in case.variant and case.ranks > 1)
    assert one["gemv/cards/large/against/one"] is None or isinstance(one["gemv/cards/large/against/one"], Missing)
    assert one["gemv/cards/large/efficiency"] is None
    assert one["gemv/cards/ship/best/time"] is None


def test_another_machine_is_spoken_of_where_the_subject_has_not_measured(found):
    subject = made_up.study("here", chosen=[one for one in EVERYTHING if one[0] == "gemv_mpi"])
    both = made_up.both(found, subject).of("here")
    values = gemv_numbers.numbers(both)
    assert values["gemv/mpi/machine"] == code("here")
    assert values["gemv/gpu/machine"] == code(made_up.MACHINE)


def test_cards_are_held_against_threads_too_to_whom_nothing_is_sent():
    threads = "gemv_mpi", Case("gemv", "openmp", made_up.gemv(4096), {"threads": 2}), 0.0011
    values = gemv_numbers.numbers(made_up.study(chosen=[*EVERYTHING, threads]))
    assert values["gemv/cards/shared/time"] == r"\qty{1.10}{\milli\second}"
    assert values["gemv/cards/ship/best/against/shared"].startswith(r"takes \num{4.02} times as long as the fastest on")
    assert "times as fast as the fastest on threads" in values["gemv/cards/resident/best/against/shared"]


def test_of_other_machines_the_one_with_most_cases_is_spoken_of(found):
    one = [case for case in EVERYTHING if case[0] == "gemv_cards"][:1]
    both = made_up.both(made_up.study("a-first", chosen=one), found)
    for subject, machine in (("nobody", made_up.MACHINE), ("a-first", "a-first")):
        assert gemv_numbers.numbers(both.of(subject))["gemv/cards/machine"] == code(machine)


def test_cards_with_ranks_on_cores_beside_them_are_spoken_of_before_more_cards(found):
    fewer = made_up.study("fewer", chosen=[one for one in EVERYTHING if one[0] in ("gemv_cards", "gemv_mpi")][:-2])
    more = made_up.study("more", chosen=[one for one in EVERYTHING if one[0] == "gemv_cards"])
    both = made_up.both(fewer, more)
    assert gemv_numbers.numbers(both.of("nobody"))["gemv/cards/machine"] == code("fewer")
    assert gemv_numbers.numbers(both.of("more"))["gemv/cards/machine"] == code("more")


def test_a_missing_phase_is_no_error(found):
    changed = made_up.study(chosen=[one for one in EVERYTHING if one[0] == "gemv_mpi"])
    samples = changed.tables["gemv_mpi"]["samples"]
    changed.tables["gemv_mpi"]["samples"] = samples[~samples["phase"].isin(["scatter", "compute"])].drop(
        columns="imbalance"
    )
    values = gemv_numbers.numbers(changed)
    assert values["gemv/mpi/ship/computation"] is None
    assert values["gemv/mpi/largest/one"] == "at a number of products that was not measured"
    assert values["gemv/findings/communication/verdict"] == "not tested"
    assert gemv_tables.tables(changed)["mpi"].count("--") > 16


def test_the_tables_have_a_row_for_every_case_or_say_that_there_is_none(found):
    tables = gemv_tables.tables(found)
    counts = {"threads": 2 + 2 + 3, "mpi": 2 * 2 * 5, "gpu": 3 * 5, "cards": 3 * 2 * 2}
    for name, count in counts.items():
        lines = [line for line in tables[name].splitlines() if line.endswith(r"\\") and "texttt{" in line]
        assert len(lines) == count, name
    assert "1, graph" in tables["cards"]
    for text in gemv_tables.tables(Study({}, None)).values():
        assert text.startswith(r"\emph{There is no measurement")


def test_several_cards_are_told_of_without_ranks_on_cores_too():
    alone = without(lambda name, case: name == "gemv_mpi")
    told = {key for key, value in alone.items() if value is not None and not isinstance(value, Missing)}
    assert {"gemv/cards/ship/best/time", "gemv/cards/resident/best/place"} <= told
    assert told.isdisjoint({"gemv/cards/ship/cores/time", "gemv/cards/resident/best/against/cores"})
