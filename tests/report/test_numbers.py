"""The numbers of the paper's sentences: the same keys whatever was measured, and words that agree with the samples."""

import json
import re

import pandas as pd
import pytest

from ladder.catalogue.traits import gpus
from ladder.errors import LadderError
from ladder.planning import configuration
from ladder.report import latex, numbers, plan_table, ratios, validation_table
from ladder.report.phrases import Missing
from ladder.report.telling import chapter_study
from ladder.store import study as queries
from ladder.store.study import Study, load
from ladder.workloads.gemm.paper import tables as gemm_tables
from ladder.workloads.stream.paper import tables as stream_tables
from made_up import MACHINE, description, merge, study, tables
from made_up import chapters as made_chapters

PROTOCOL = configuration.protocol({})
# The beginnings of keys that have values even without measurements.
ALWAYS_KNOWN = ("study/protocol/", "study/cases/", "study/machines", "study/verdicts/", "study/flags")


def numbers_of(study):
    """The numbers of the paper about a study, {key: LaTeX}."""
    return numbers.numbers(study, PROTOCOL, margin=1.25)


def host_study(machine=MACHINE, **options):
    """The study of products and trainings on the host."""
    names = {
        *made_chapters.experiments("gemm"),
        *made_chapters.experiments("mlp"),
        "ceiling_arithmetic",
        "ceiling_bandwidth",
    }
    measurements = [item for name in sorted(names) for item in made_chapters.measurements(name)]
    return study([item for item in measurements if not gpus(item.case)], machine, **options)


@pytest.fixture(scope="module")
def full_study():
    return host_study()


@pytest.fixture(scope="module")
def values(full_study):
    return numbers_of(full_study)


def host_keys(values):
    """The keys except those of GPUs and those that summarise all chapters, of which `host_study()` has only some."""
    ignored = r"study/(toy|behind|verdicts|campaigns)|/gpu/"
    return [key for key in values if not re.search(ignored, key)]


def test_the_keys_do_not_depend_on_what_was_measured(values):
    partial = Study({"gemm_square": host_study().tables["gemm_square"]}, MACHINE)
    assert list(numbers_of(Study({}, None))) == list(values) == list(numbers_of(partial))


def test_a_whole_study_lacks_nothing(values):
    assert [key for key in host_keys(values) if isinstance(values[key], Missing)] == []


def test_without_measurements_every_number_is_replaced_by_words():
    for key, value in numbers_of(Study({}, None)).items():
        if not key.startswith(ALWAYS_KNOWN):
            assert isinstance(value, Missing) or "want of a measurement" in value, key


def product_rows(full_study, variant):
    return full_study.samples("gemm_square", variant=variant, form="nn", dtype="float64")


def test_ratios_are_those_of_the_made_up_times(full_study):
    plain, tiled, in_c = (product_rows(full_study, name) for name in ("openmp", "tiled", "c_openmp"))
    assert ratios.comparison(ratios.of(plain, tiled), "it").startswith(r"is \num{25}\,$\times$ faster")
    assert ratios.comparison(ratios.of(tiled, plain), "it").startswith(r"is \num{25}\,$\times$ slower")
    assert ratios.comparison(ratios.of(in_c, plain), "it").startswith(("does not differ", "is as fast as it"))


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (183, 304, r"\num{190} [\num{180}, \num{300}]"),
        (189, 191, r"\num{190} [\num{189}, \num{191}]"),
        (0.0, 304, r"\num{190} (at most \num{300})"),
        (183, float("inf"), r"\num{190} (at least \num{180})"),
        (0.0, float("inf"), r"\num{190}"),
    ],
)
def test_a_number_has_the_ends_of_its_interval_that_are_known(low, high, text):
    assert ratios.size_with_interval(190, low, high) == text


def test_a_share_of_the_ceiling_is_of_the_same_threads(full_study):
    ceiling = full_study.samples("ceiling_arithmetic", dtype="float64", threads=1)
    best = (ceiling["flops"] / ceiling["seconds"]).max()
    rows = product_rows(full_study, "blas")
    expected = rows["flops"].iloc[0] / queries.median_time(rows) / best
    line = next(
        line
        for line in gemm_tables.square(chapter_study.study_of_chapter("gemm", full_study)).splitlines()
        if line.startswith(latex.code("blas"))
    )
    assert line.split(" & ")[4] == latex.percent(expected)


def test_the_largest_size_is_that_with_the_most_work():
    """In the order of texts, 512 would come last."""
    experiments = ("gemm_large", "gemm_square")
    samples = [tables(made_chapters.measurements(name))[name]["samples"] for name in experiments]
    frame = pd.concat(samples).query("dtype == 'float64'")
    assert set(frame["m"]) == {512, 1024, 2048}
    assert set(queries.largest_size(frame)["m"]) == {2048}


def test_a_case_of_one_process_gives_no_verdict(full_study):
    rows = full_study.samples("gemm_square", form="nn", dtype="float64")
    one_process = rows[rows["process"] == 0]
    plain, tiled = one_process[one_process["variant"] == "openmp"], one_process[one_process["variant"] == "tiled"]
    text = ratios.comparison(ratios.of(tiled, plain), "it")
    assert text == "does not differ significantly from it (too few processes to detect any difference)"


def test_a_study_is_about_this_machine_or_the_first_published_one(tmp_path):
    for name, frames in tables(made_chapters.measurements("gemm_square"), "published-one (published)").items():
        (tmp_path / name).mkdir()
        for table, frame in frames.items():
            frame.to_csv(tmp_path / name / f"{table}.csv", index=False)
    folders = sorted(tmp_path.iterdir())
    assert load(folders, "published-one").machine_name == "published-one (published)"
    assert load(folders, "published-one (published)").machine_name == "published-one (published)"
    assert load([], "anything").machine_name is None
    (tmp_path / "roofs.json").write_text("{}")
    with pytest.raises(LadderError, match=r"roofs.json has no ceilings of published-one \(published\)\. Delete it"):
        load(folders, "anything", ceilings=tmp_path / "roofs.json")


def test_a_machine_is_described_alike_here_and_published(tmp_path):
    machine_description = description()
    local_path, published = tmp_path / f"{MACHINE}.json", tmp_path / "there/machine.json"
    published.parent.mkdir()
    local_path.write_text(json.dumps(machine_description))
    published.write_text(json.dumps({"machine": "there", "description": machine_description}))
    assert load([], MACHINE, [local_path, published]).descriptions == {
        MACHINE: machine_description,
        "there (published)": machine_description,
    }


def test_of_two_machines_only_the_one_that_the_study_is_about_is_described(full_study, values):
    slower = host_study("another (published)")
    for frames in slower.tables.values():
        if "seconds" in frames["samples"]:
            frames["samples"]["seconds"] *= 3
    merged_values = numbers_of(merge(full_study, slower))
    differing_keys = {key for key in values if values[key] != merged_values[key]}
    assert differing_keys == {"study/machines", "study/validation/checks"}


@pytest.mark.slow
def test_a_gpu_beside_the_host_changes_nothing_of_what_is_said_of_threads(full_study, values):
    """The training is measured on both in one experiment; a machine without a GPU stands beside."""
    with_gpu = merge(made_chapters.full_study("gemm"), host_study("another (published)"))
    merged_values = numbers_of(with_gpu)
    differing_keys = {key for key in host_keys(values) if values[key] != merged_values[key]}
    counts = {"study/validation/checks", "study/cases/measured", "study/cases/converged"}
    assert differing_keys == counts | {"study/machines"}
    assert set(stream_tables.ceilings(full_study).splitlines()) <= set(stream_tables.ceilings(with_gpu).splitlines())


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (9.999, "10.0"), (1234, "1230"), (0.01234, "0.0123"), (1, "1.00"), (99.95, "100"), (999.9, "1000")],
)
def test_a_number_has_three_digits(value, text):
    assert latex.digits(value) == text


def test_a_time_reads_in_its_own_unit():
    assert latex.seconds(0.0123) == r"\qty{12.3}{\milli\second}"
    assert latex.seconds(2e-10) == r"\qty{0.200}{\nano\second}"


def test_text_is_escaped():
    assert latex.escape("100% of a_b & c#d\\") == r"100\% of a\_b \& c\#d\textbackslash{}"


def test_skipped_cases_are_named_by_combinations_of_values():
    columns = ("variant", "threads")
    assert len(plan_table.combine(columns, (("a", 4), ("a", 6), ("b", 4), ("b", 6)))) == 1
    parts = plan_table.combine(columns, (("a", 4), ("a", 6), ("b", 4)))
    assert len(parts) == 2
    assert all("6" not in part for part in parts if "texttt{b}" in part)


def test_the_plan_names_what_a_small_machine_skipped():
    text = plan_table.plan(host_study(max_threads=2))
    line = next(line for line in text.splitlines() if "mlp" in line and "threads" in line)
    assert "more threads or ranks than the 2 cores available" in line
    assert all(f"\\texttt{{{count}}}" in line for count in (4, 12, 24))


def test_a_variant_skipped_entirely_for_one_reason_is_named_alone():
    skipped = pd.DataFrame(
        [
            {"variant": variant, "case": f"{variant}{threads}", "threads": threads, "why": why}
            for variant, threads, why in [
                ("a", 1, "no"),
                ("a", 2, "no"),
                ("b", 2, "no"),
                ("c", 1, "no"),
                ("c", 2, "never"),
            ]
        ]
    ).assign(workload="w", machine="m", cache="warm")
    text = plan_table.reasons(skipped, pd.DataFrame({"variant": ["b"]}))
    assert text.startswith(r"no: every case of \texttt{a}; ")
    assert r"\texttt{b}" in text.split(". never: ")[0]
    assert r"\texttt{c}" in text.split(". never: ")[1]


def test_validation_tells_the_worst_of_every_variant():
    study = host_study()
    frames = study.tables["gemm_square"]
    any_row = 7
    frames["checks"].loc[any_row, ["error", "bound"]] = [0.9, 1.0]  # the others are 0.1 and 1.0
    row = frames["checks"].loc[any_row]
    table = validation_table.nearest_comparisons(study)
    worst = table[(table["variant"] == row["variant"]) & (table["dtype"] == row["dtype"])].iloc[0]
    assert worst["error"] == 0.9
    assert worst["margin"] == pytest.approx(1 / 0.9)
    assert r"\num{0.900}" in validation_table.latex_table(study)
    assert "0.9" in validation_table.page(study)
