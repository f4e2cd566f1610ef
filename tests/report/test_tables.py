"""The tables and numbers about the study as a whole, compared with lines and cells computed by hand."""

import json

import pandas as pd
import pytest

import made_up
from ladder.catalogue.workloads import complete
from ladder.harness.sensitivity import ANY, ELEMENT, ROW
from ladder.records.case import Case
from ladder.report import about, counters_table, kernels_table, plan_table, sensitivity_table, validation_table
from ladder.report.latex import Missing
from ladder.store import COUNTERS_FILE, counters
from ladder.store.study import Study


def lines(text):
    """The lines of a table that begin with a name in typewriter type."""
    return [line for line in text.splitlines() if line.startswith(r"\texttt")]


def row(variant, threads, machine="here", cache="cold", **further_columns):
    """A row of a case."""
    columns = {"machine": machine, "workload": "gemm", "variant": variant, "cache": cache, "threads": threads}
    return columns | {"case": f"n=1,cache={cache},threads={threads}"} | further_columns


def test_the_plan_counts_the_cases_of_each_experiment_and_of_other_machines():
    samples = [row("blas", 1), row("blas", 1), row("blas", 2), row("blas", 9, "there")]
    too_large = [
        row("blas", 4, why="needs 4 cores, 2 available"),
        row("blas", 8, why="needs 8 cores, 2 available"),
    ]
    missing = [
        row("tiled", 1, why="it isn't built"),
        row("blas", 7, "there", why="no"),
        row("blas", 8, "there", why="no"),
    ]
    tables = {
        "one": {"samples": pd.DataFrame(samples), "missing": pd.DataFrame(too_large + missing)},
        "two": {"samples": pd.DataFrame(samples[:1]).assign(case="m=2"), "missing": pd.DataFrame()},
        "elsewhere": {"samples": pd.DataFrame(samples[-1:]), "missing": pd.DataFrame()},
    }
    reason = r"more threads or ranks than the 2 cores available: \texttt{blas} threads \texttt{4}, \texttt{8}"
    assert lines(plan_table.plan(Study(tables, "here"))) == [
        rf"\texttt{{one}} & 2 & 3 & {reason}. it isn't built: every case of \texttt{{tiled}} \\",
        r"\texttt{two} & 1 & 0 & -- \\",
        r"\texttt{there} & 1 & 2 & another machine, in total \\",
    ]


@pytest.mark.parametrize(
    ("column", "values", "text"),
    [
        ("variant", ["a", "b"], r"\texttt{a}, \texttt{b}"),
        ("threads", [4, 16], r"threads \texttt{4}, \texttt{16}"),
        ("cache", ["cold", "warm"], r"cache \texttt{cold}, \texttt{warm}"),
        ("zero_copy", ["on"], r"zero\_copy \texttt{on}"),
        ("ranks", [2, None], r"ranks \texttt{2}"),
    ],
)
def test_a_value_that_does_not_speak_for_itself_has_the_name_of_its_column(column, values, text):
    assert plan_table.value_list(column, values) == text


def test_cases_of_the_plan_are_named_by_the_fewest_columns_words_first():
    cases = [("a", "nn", 1, 64), ("a", "tn", 2, 128), ("b", "nn", 1, 64), ("b", "tn", 2, 128)]
    rows = pd.DataFrame(cases, columns=["variant", "form", "threads", "m"])
    assert plan_table.naming_columns(rows) == ["variant", "form", "threads"]
    rows = rows.assign(form="nn", threads=1)
    assert plan_table.naming_columns(rows) == ["variant", "threads", "m"]
    texts = plan_table.combine(("variant", "threads"), (("a", 4), ("a", 6), ("b", 4)))
    assert texts == [r"\texttt{a} threads \texttt{4}, \texttt{6}", r"\texttt{b} threads \texttt{4}"]
    texts = plan_table.combine(("threads", "variant"), ((1, "a"), (2, "a"), (3, "a"), (1, "b")))
    assert texts == [r"threads \texttt{1}, \texttt{2}, \texttt{3} \texttt{a}", r"threads \texttt{1} \texttt{b}"]
    assert plan_table.combine(("variant", "ranks"), (("a", None), ("b", None))) == [r"\texttt{a}, \texttt{b}"]


def kernel(registers, shared, dynamic, share, spills=0):
    """A kernel in the build's report; `share` is its occupancy, None if it is unknown."""
    return {
        "registers": registers,
        "shared": shared,
        "dynamic": dynamic,
        "spills": spills,
        "occupancy": share and {"share": share},
    }


def test_a_kernel_takes_its_static_and_its_dynamic_shared_memory(tmp_path):
    """Rows are sorted by architecture and variant, whatever the order of the files."""
    builds = [
        ("sm_90", "cuda_tiled", {"a": kernel(40, 1024, 512, 0.4375), "b": kernel(32, 3072, None, 1.0, 8)}, ["w", "w"]),
        ("sm_90", "cuda_naive", {"a": kernel(40, 1024, 512, 0.4375)}, []),
        ("sm_80", "cuda_tiled", {"a": kernel(255, 0, None, None, 4)}, ["w"]),
    ]
    for number, (architecture, variant, kernels, warnings) in enumerate(builds):
        report = {"architecture": architecture, "workload": "gemm", "variant": variant}
        report |= {"constants": "dtype=float32,block=16", "kernels": kernels, "warnings": warnings}
        (tmp_path / f"{number}.json").write_text(json.dumps(report))
    names = [r"\texttt{gemm/\allowbreak{}cuda\_\allowbreak{}" + name + "}" for name in ("tiled", "naive", "tiled")]
    old, new = (r"\texttt{sm\_\allowbreak{}" + number + "}" for number in ("80", "90"))
    assert lines(kernels_table.kernels(sorted(tmp_path.iterdir()))) == [
        rf"{old} & {names[0]} & float32, block=16 & 255 & 0 & -- & 4 & 1 \\",
        rf"{new} & {names[1]} & float32, block=16 & 40 & 1536 & 44\,\% & 0 & 0 \\",
        rf"{new} & {names[2]} & float32, block=16 & 32--40 & 1536--3072 & 44--100\,\% & 0--8 & 2 \\",
    ]


def test_counters_are_told_by_case_without_kernels_that_take_little_time(tmp_path):
    """A case has the sizes that distinguish it in its first row, and a kernel the end of its name before arguments."""
    shares = {"issue": 0.25, "pipe": "fma", "pipe_share": 0.5, "dram_share": 0.125, "l2_share": 1.0, "stall_share": 0.4}
    experiment = {"machine": "here", "experiment": "one", "workload": "gemm", "stall": "long_scoreboard"}
    kernels = [
        ("cublas", "m=1,math=tf32", "void a<b<c>>::gemm<float, d<e>>(T1)", 3e-3),
        ("cublas", "m=1,math=tf32", "void <unnamed>::add<(int)1>(int)", 1e-3),
        ("cublas", "m=1,math=tf32", "set_up", 4e-4),
        ("tiled", "m=1", "gemm_nn", 2e-3),
    ]
    rows = [
        experiment | shares | {"variant": variant, "case": case, "kernel": name, "kernel_seconds": time}
        for variant, case, name, time in kernels
    ]
    counters.write(tmp_path, rows)
    text = counters_table.table([tmp_path / COUNTERS_FILE])
    name = r"\texttt{gemm/\allowbreak{}"
    cells = r"\qty{25}{\percent} & fma \qty{50}{\percent} & \qty{12}{\percent} & \qty{100}{\percent}"
    cells += r" & long scoreboard \qty{40}{\percent} \\"
    assert [line for line in text.splitlines() if "scoreboard" in line] == [
        rf"\texttt{{here}} & {name}cublas}} math=tf32 & \texttt{{a::gemm}} & \qty{{3.00}}{{\milli\second}} & {cells}",
        rf" &  & \texttt{{add}} & \qty{{1.00}}{{\milli\second}} & {cells}",
        rf" & {name}tiled}} & \texttt{{gemm\_\allowbreak{{}}nn}} & \qty{{2.00}}{{\milli\second}} & {cells}",
    ]
    assert counters_table.table([]) == "\\emph{No counters are published.}\n"


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("(anonymous namespace)::add(int)", "add"),
        ("void at::native::(anonymous namespace)::add<int>(int)", "at::native::add"),
        ("(unknown)", "(unknown)"),
        ("k" * 31, "k" * 27 + "..."),
    ],
)
def test_a_kernel_is_called_by_its_name_alone(kernel, name):
    assert counters_table.short_name(kernel) == name


def test_a_kernel_without_a_stall_has_none():
    kernel = {"kernel": "add", "kernel_seconds": 1e-3, "issue": 0.5, "pipe": "fma", "pipe_share": 0.5}
    kernel |= {"dram_share": 0.0, "l2_share": 0.0, "stall": None, "stall_share": None}
    assert counters_table.kernel_cells(kernel)[-1] == "--"


def sensitivity_row(dtype, array, fault, check, share, count, error, variant="blas"):
    """A row of the file of `ladder sensitivity`, for three places."""
    sizes = complete("gemm", {"m": 3, "n": 5, "k": 7, "dtype": dtype})
    case = Case("gemm", variant, sizes, {"threads": 1})
    columns = {"workload": "gemm", "variant": variant, "case": case.slug, "dtype": dtype, "array": array}
    return columns | {"fault": fault, "check": check, "share": share, "places": 3, "seen": count, "error": error}


@pytest.fixture
def sensitivity(tmp_path):
    """The file with two checks that refuse errors and one that doesn't; float32 has only one check."""
    rows = [
        sensitivity_row("float64", "out", ELEMENT, "loose", 0.3, 3, 1e-4),
        sensitivity_row("float64", "out", ELEMENT, "norm", 0.3, 3, 1.264e-12),
        sensitivity_row("float64", "out", ROW, "norm", 0.3, 2, 3.54e-13),
        sensitivity_row("float64", "out", ELEMENT, "blind", None, 0, None),
        sensitivity_row("float64", "out", ELEMENT, ANY, 0.3, 3, 1.264e-12),
        sensitivity_row("float64", "other", ELEMENT, ANY, 0.1, 0, None),
        sensitivity_row("float32", "out", ELEMENT, "norm", 0.5, 3, 2.26e-5),
        sensitivity_row("float32", "out", ELEMENT, ANY, 0.5, 3, 2.26e-5),
        sensitivity_row("float64", "out", ELEMENT, ANY, 0.04, 3, 5.246e-11, variant="tiled"),
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "sensitivity.csv", index=False)
    return tmp_path / "sensitivity.csv"


def test_the_smallest_errors_refused_stand_under_their_type_and_fault(sensitivity):
    body = sensitivity_table.latex_table(sensitivity).rpartition(r"\endhead")[2].splitlines()
    assert [line for line in body if line.count("&") == 7] == [
        r"loose & \texttt{out} & \num{0.3} & \num{1.0e-4} & -- & -- & -- & -- \\",
        r"norm & \texttt{out} & \num{0.3} & \num{1.3e-12} & \num{3.5e-13} (2/3) & \num{0.5} & \num{2.3e-5} & -- \\",
        r"blind & -- & -- & not seen & -- & -- & -- & -- \\",
        r"-- & \texttt{other} & \num{0.1} & not seen & -- & -- & -- & -- \\",
    ]


def test_of_each_array_the_worst_case_of_all_variants_is_reported(sensitivity):
    """The check that refuses the smallest error is named, even if another one comes first."""
    assert lines(sensitivity_table.faults(sensitivity)) == [
        r"\texttt{gemm} & \texttt{out} & norm & \num{0.3} & \num{5.2e-11} & \num{0.5} & \num{2.3e-5} \\",
        r"\texttt{gemm} & \texttt{other} & -- & \num{0.1} & not seen & -- & -- \\",
    ]


def test_the_nearest_comparison_of_a_variant_uses_most_of_its_bound():
    """It is neither the comparison with the largest error, nor an exact one with a bound of 0."""
    checks = [("large", 0.4, 1.0), ("near", 0.25, 0.5), ("exact", 0.0, 0.0)]
    rows = [
        row("blas", 1, process=0, dtype="float64", check=name, error=error, bound=bound)
        for name, error, bound in checks
    ]
    rows += [row("tiled", 1, process=0, dtype="float32", check="same", error=0.0, bound=0.0)]
    study = Study({"one": {"checks": pd.DataFrame(rows), "samples": pd.DataFrame([row("blas", 1)])}}, "here")
    head = r"\texttt{gemm} & \texttt{blas} & \texttt{float64}"
    assert lines(validation_table.latex_table(study)) == [
        head + r" & 1 & 3 & near & \num{0.250} & \num{0.500} & \num{2.00} \\",
        r"\texttt{gemm} & \texttt{tiled} & \texttt{float32} & 1 & 1 & same & \num{0} & \num{0} & exact \\",
    ]
    assert lines(validation_table.by_workload(study)) == [r"\texttt{gemm} & 2 & 4 & \qty{50}{\percent} \\"]
    worst = about.validation(study)
    assert (worst["checks"], worst["worst-share"]) == (r"\num{4}", r"\qty{50.0}{\percent}")


def test_the_machine_of_a_study_is_described_with_units_and_origin():
    description = made_up.description() | {"cores": 12, "memory": 3 * 2**35}
    study = Study({}, "here", {"here": description, "there (published)": made_up.description()})
    assert about.machine(study) == {
        "name": r"\texttt{here}",
        "cpu": r"A CPU with 100\% of a\_name \& more",
        "cores": r"\num{12}",
        "memory": r"\qty{96.0}{\gibi\byte}",
        "origin": "measurements taken for this build",
    }
    other = about.machine(study.for_machine("there (published)"))
    assert other["name"] == r"\texttt{there}\published{}"
    assert other["origin"] == "the measurements published with the source"
    assert all(isinstance(about.machine(study.for_machine(None))[key], Missing) for key in ("name", "origin"))
