"""What single chapters say in addition to what every chapter does, of made-up times."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import chapter
import made_up
from chapter import CHAPTERS, all_tables, cells_of, full_study, text_functions, verdicts
from drawings import draw, tables, visible_texts
from ladder.catalogue.traits import gpus
from ladder.data import dataset
from ladder.report import figures, verdict_table
from ladder.report.latex import code, num
from ladder.report.telling import chapter_study, ladder
from ladder.report.telling.lines import select
from ladder.store.study import NO_ROWS, Study
from ladder.workloads.backprop.paper import text
from ladder.workloads.backprop.paper.lines import CHANGES, OTHER, part_of
from ladder.workloads.backprop.paper.tables import measured_changes
from ladder.workloads.dcgan.paper import lines, splits, timeline
from ladder.workloads.dcgan.paper.tables import WAYS
from ladder.workloads.descent.paper import lines as descent_lines
from ladder.workloads.descent.paper import residuals
from ladder.workloads.gemv.paper.lines import PHASES
from made_up import chapters as made_chapters


def change_samples(workload, experiment, samples):
    """The study of a chapter with other samples of an experiment."""
    return replace(full_study(workload), tables=full_study(workload).tables | {experiment: {"samples": samples}})


# Products and streams on a GPU.
def test_multiply_adds_and_the_link_are_the_best_ever_sampled():
    """The link from the bytes of streams' arrays: triad sends two and brings back one; read brings back sums alone."""
    host = made_chapters.study("gemm", drop=lambda case: "cu" in case.variant, machine="another (published)")
    table = CHAPTERS["stream"].table("gpu_ceilings", made_up.merge(full_study("gemm"), host))
    (cells,) = (cells for cells in cells_of(table, "texttt{a-") if len(cells) == 12)  # of made_up.MACHINE
    # The made-up 60 TFLOP/s and 50 GB/s, over the factor 0.997 of the fastest process.
    assert (cells[5], cells[-2:]) == ("60.2", ["50.2", "50.2"])


def test_a_gpus_data_sheet_stands_under_what_was_measured():
    study = full_study("gemm")
    gpus = [{"name": "NVIDIA H200"}, {"name": "NVIDIA H200"}, {"name": "a GPU without a data sheet"}]
    table = CHAPTERS["stream"].table("gpu_ceilings", replace(study, descriptions={study.machine_name: {"gpus": gpus}}))
    (cells,) = cells_of(table, "data sheet")
    # TFLOP/s of products and of multiply-adds, and GB/s of memory; the sheet doesn't have the link.
    promised = ["67.0", "67.0", "495", "989", "33.5", "67.0", *["4800"] * 3, "--", "--"]
    assert cells == ["NVIDIA H200, data sheet", *promised]
    assert "data sheet" not in CHAPTERS["stream"].table("gpu_ceilings", study)


def test_cases_on_a_throttled_gpu_are_counted_each_once():
    cases = {
        measurement.case.key: measurement
        for name in full_study("gemm").tables
        for measurement in made_chapters.measurements(name)
    }
    throttled = [
        measurement.columns["throttled"] for measurement in cases.values() if "throttled" in measurement.columns
    ]
    gpu_cases = text_functions("gemm")["gpu_cases"]
    assert (gpu_cases(), gpu_cases(throttled=True)) == (num(len(throttled)), num(throttled.count(True)))
    study_without_states = made_up.study(
        replace(measurement, columns={}) for measurement in made_chapters.measurements("gemm_gpu_float64")
    )
    with pytest.raises(chapter_study.NotMeasured):
        text_functions("gemm", study_without_states)["gpu_cases"](throttled=True)


# The training.
def test_the_share_of_products_is_that_of_the_claims_network_by_plain_loops_on_one_thread():
    """A toy network beside it, of which products are 60 %, has no say."""

    def toy(measurement):
        case = replace(measurement.case, sizes=measurement.case.sizes | {"layers": "784-30-10"})
        phases = {"forward 1": 0.6 * measurement.seconds, "update": 0.4 * measurement.seconds}
        return replace(measurement, case=case, phases=phases) if case.workload == "mlp" else measurement

    toys = made_chapters.study("mlp", change=toy, machine="here")
    two_machines = made_up.merge(made_chapters.study("mlp", machine="there"), toys)
    assert verdicts("mlp", two_machines, "share") == {"share": "as claimed"}
    share = text_functions("mlp", two_machines)["share_of_products"](select("deep/openmp", threads=1), 3)
    assert share == r"\qty{99.5}{\percent}"


def test_peers_are_compared_on_as_many_threads():
    fewer = made_chapters.study("mlp", drop=lambda case: case.variant == "pytorch" and case.threads == 2)
    (claim,) = chapter.claims_of("mlp", fewer, "peer/pytorch").values()
    assert claim.answer.ratio is None or "threads=2" not in str(claim.answer.ratio.cases)


def test_sample_digits_are_those_of_the_data_set():
    labels = np.array([3, 3, 7], np.uint8)
    images = np.stack([np.full((28, 28), shade, np.uint8) for shade in (10, 20, 30)])
    with figures.theme.context():
        data = "mnist", dataset.Dataset(images, labels, images, labels)
        sheet = figures.module("mlp_sample_digits").draw(data=data).axes[0].images[0].get_array()
    assert [sheet[0, 28 * 3], sheet[28, 28 * 3], sheet[0, 28 * 7], sheet[28, 28 * 7]] == [10, 20, 30, 0]


# Products of matrix and vector.
def test_sending_to_gpus_and_the_most_gpus_may_be_of_two_machines():
    drops = {
        "b (published)": lambda case: gpus(case) > 2,
        "c (published)": lambda case: gpus(case) == 0 or case.tuning.get("mode") == "ship",
        "a (published)": lambda case: gpus(case) > 1,
        "here": lambda case: gpus(case) > 0,
    }
    studies = [made_chapters.study("gemv", drop=drop, machine=name) for name, drop in drops.items()]
    assert [*chapter.machines("gemv", studies[-1]).values()] == ["here", None, None, None]
    all_machines = made_up.merge(*studies).for_machine("here")
    assert [*chapter.machines("gemv", all_machines).values()] == ["b (published)"] * 3 + ["c (published)"]
    assert text_functions("gemv", all_machines)["count"](select("graph", "most GPUs"), "ranks") == r"\num{4}"


def test_first_touch_is_not_tested_on_a_single_numa_node():
    def with_nodes(study, count):
        cpu = made_up.description()["cpu"] | {"NUMA node(s)": count}
        return replace(study, descriptions={study.machine_name: made_up.description() | {"cpu": cpu}})

    one_node, two_nodes = (with_nodes(full_study("gemv"), count) for count in "12")
    for untested in chapter.claims_of("gemv", one_node, "sockets", "binding").values():
        assert (untested.answer.verdict, verdict_table.cause(untested)) == ("not tested", "needs several NUMA nodes")
    assert [text_functions("gemv", study)["binding_speedup"]() for study in (one_node, two_nodes)] == [
        r"\num{1.2}\,$\times$",
        None,
    ]
    assert verdicts("gemv", two_nodes, "sockets", "binding") == dict.fromkeys(("sockets", "binding"), "as claimed")
    unmeasured = with_nodes(made_chapters.study("gemv", drop=lambda case: case.variant == "openmp_bound"), "2")
    assert verdict_table.cause(chapter.claims_of("gemv", unmeasured, "binding")["binding"]) == "needs both rungs"


def test_ranks_on_two_nodes_decide_the_claim_about_nodes():
    samples = full_study("gemv").tables["gemv_mpi"]["samples"]
    study = change_samples("gemv", "gemv_mpi", samples.assign(nodes=samples["ranks"].fillna(1).clip(upper=2)))
    assert verdicts("gemv", study, "nodes") == {"nodes": "as claimed"}


def test_phases_that_do_not_add_up_to_the_call_are_no_parts_of_it():
    study = chapter.study("gemv")
    ship, staying = select("ship", "ranks"), select("resident", "ranks")
    rows, phases = study.rows(ship), study.phases(ship)
    assert list(chapter_study.phase_times_of_call(rows, phases)) == list(PHASES)
    assert chapter_study.phase_times_of_call(rows, phases.assign(seconds=2 * phases["seconds"])) == {}
    assert "scatter" not in chapter_study.phase_times_of_call(study.rows(staying), study.phases(staying))


@pytest.mark.slow
def test_phases_beyond_the_call_are_not_drawn_and_lines_have_the_names_of_the_code():
    inputs = tables("gemv_phases")
    ship_axes = [axes for axes in draw("gemv_phases", inputs).axes if "sent every time" in axes.get_title(loc="left")]
    assert [bool(axes.patches) for axes in ship_axes] == [True, True]
    for frames in inputs.values():
        frames["samples"].loc[frames["samples"]["phase"] != "total", "seconds"] *= 3
    figure = draw("gemv_phases", inputs)
    assert not any(patch.get_width() for axes in figure.axes for patch in axes.patches)
    scaling = {*visible_texts(draw("gemv_scaling", tables("gemv_scaling")))}
    assert {"openmp_bound, spread", "mpi, ship", "nccl_cublas, graph", "bandwidth"} <= scaling


def test_tables_of_products_of_matrix_and_vector_hold_every_case():
    gemv_tables = all_tables("gemv")
    assert gemv_tables["threads"].count(" \\\\\n") - 1 == len(made_chapters.measurements("gemv_threads"))
    assert gemv_tables["ranks"].count("mpi") == sum(
        "ranks" in measurement.case.tuning for measurement in made_chapters.measurements("gemv_mpi")
    )
    largest = cells_of(gemv_tables["sizes"], "32768")
    assert [cells[1] for cells in largest] == [*map(code, ("mpi", "mpi_openmp", "mpi_cublas", "nccl_cublas"))]


# Back-propagation.
def test_shares_of_blocks_are_those_of_the_phases():
    study = chapter.study("backprop")
    blocks = {"7 first change": "weight change", "2 output products": "products", "something else": OTHER}
    assert [*part_of(pd.Series([*blocks]))] == [*blocks.values()]
    kernels = chapter_study.phase_times_of_call(study.rows("cuda_kernels"), study.phases("cuda_kernels"))
    assert set(kernels) == {"products", "weight change", "update", OTHER}  # not what flattens
    assert "flatten" not in all_tables("backprop")["kernels"]


def test_changes_are_compared_with_a_base_on_as_many_threads():
    for line, values in CHANGES.items():
        assert len(measured_changes(chapter.study("backprop"), line)) == sum(map(len, values.values())), line
    samples = full_study("backprop").tables["backprop_openmp"]["samples"]
    fewer = samples.assign(threads=samples["threads"].where(samples["schedule"] != "static", 24))
    other = change_samples("backprop", "backprop_openmp", fewer)
    changes = measured_changes(chapter_study.study_of_chapter("backprop", other), "openmp")
    assert [name for name, *_ in changes] == ["error", "update", "update", "simd"]
    assert verdicts("backprop", other, "schedule") == {"schedule": "not tested"}


def test_an_error_may_not_be_reached(monkeypatch):
    monkeypatch.setattr(text, "ERROR_OF_MEAN", 1 / 200)  # the made-up error is 1 / epoch, for fewer than 200 epochs
    assert text.epochs_to_error(chapter.study("backprop")) is None


def test_times_to_an_error_are_of_the_same_number_of_epochs():
    """The text gives one number of epochs, and then the times of trainings that may learn more slowly."""
    study, selection = full_study("backprop"), select("numpy_loop", "learning")
    learning = study.tables["backprop_learning"]
    curves = learning["curves"]
    slower = curves.assign(loss=curves["loss"] * np.where(curves["variant"] == "numpy_loop", 2, 1))
    other = replace(study, tables=study.tables | {"backprop_learning": learning | {"curves": slower}})
    changed = chapter_study.study_of_chapter("backprop", other)
    assert text.time_to_error(changed, selection) == text.time_to_error(chapter.study("backprop"), selection)


# Linear systems.
def test_a_kernel_is_launched_as_in_the_earlier_study():
    kernels = (descent_lines.select_kernel("reduction", *size) for size in ((512, 256), (None, None)))
    rows, first_version = map(chapter.study("descent").find, kernels)
    assert (set(rows["launch"]), set(rows["n"]), set(rows["variant"])) == ({"study"}, {256}, {"cuda_version2"})
    assert set(first_version["variant"]) == {"cuda_version1"}


def test_a_jump_is_a_rise_beyond_a_factor_of_two(monkeypatch):
    # The curves rise by factors of 1.5 and 2.5; after the jump, the second falls to 0.09.
    for curve, expected in (([1.0, 0.19, 0.1, 0.15], None), ([1.0, 0.04, 0.1, 0.09], 0.09)):
        monkeypatch.setattr(residuals, "curve_of", lambda *_, curve=curve: pd.DataFrame({"relative": curve}))
        assert residuals.min_after_jump(None, "cg", 10) == expected


def test_without_a_common_tolerance_of_solves_there_are_no_steps_to_it():
    solves = full_study("descent").tables["descent_solution"]["samples"]
    mixed = solves.assign(tolerance=solves["tolerance"].where(solves["n"] > 512, 1e-3))
    functions = text_functions("descent", change_samples("descent", "descent_solution", mixed))
    for name, arguments in (("common_condition", ["tolerance"]), ("steps_of", ["cg", 10])):
        with pytest.raises(chapter_study.NotMeasured):
            functions[name](*arguments)


@pytest.mark.slow
def test_curves_are_labelled_at_their_ends_and_a_crossing_is_explained_if_there_is_one():
    """In the made-up study `blas` ends at n = 4096, and Cholesky is overtaken on the host at n = 1010."""
    solutions = {name: full_study("descent").tables[name] for name in descent_lines.SOLVE_EXPERIMENTS}
    explanation = "less than Cholesky from here on"
    figure = draw("descent_solution", solutions)
    label_x = {label.get_text(): label.xy[0] for axes in figure.axes for label in axes.texts}
    assert (label_x["blas"], label_x["scipy_cholesky"], label_x["cusolver"]) == (4096, 1, 1)  # of the panel's width
    assert {axes.get_xlabel() for axes in figure.axes} == {"n, κ = 100, tolerance 1e-4"}
    assert explanation in visible_texts(figure)
    frame = solutions["descent_direct"]["samples"]
    slower = {"descent_direct": {"samples": frame.assign(seconds=frame["seconds"] * 1e6)}}
    assert explanation not in visible_texts(draw("descent_solution", solutions | slower))


def test_convergence_has_a_panel_for_each_condition_with_the_theory_in_it():
    figure = draw("descent_convergence", tables("descent_convergence"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["κ = 10", "κ = 100", "κ = 1000"]
    assert figure.axes[0].lines[0].get_ydata()[1] == pytest.approx(9 / 11)
    names = {"steepest descent", "CG"}
    assert names | {f"{name}, residual recomputed" for name in names} <= {*visible_texts(figure)}


# The generator.
def test_gpus_that_never_pay_off_are_reported_and_up_to_two_gpus_have_no_table():
    slow = made_chapters.study(
        "dcgan", drop=lambda case: gpus(case) == 4, factor=lambda case: 3 if gpus(case) == 2 else 1
    )
    functions = text_functions("dcgan", slow)
    assert functions["pay_off"]("ranks-then", 2).startswith("pay off at no measured number")
    with pytest.raises(chapter_study.NotMeasured):
        functions["largest_gpu_count"]()
    assert "no measurement" in CHAPTERS["dcgan"].table("most_gpus", slow)


def test_every_way_to_use_several_gpus_has_a_row_with_its_efficiency():
    fewer = made_chapters.study("dcgan", drop=lambda case: case.tuning.get("math") == "float16" and gpus(case) == 2)
    table = CHAPTERS["dcgan"].table("most_gpus", fewer)
    assert [cells[2] for cells in cells_of(table, "threads, half")] == ["--"]
    shares = [row.split(" & ")[-1].split("}")[0] for row in table.splitlines() if row.startswith(tuple(WAYS))]
    # The made-up efficiencies, in per cent and in the order of WAYS.
    assert shares == [rf"\qty{{{share}" for share in (100, 80, 50, 100, 25, 80)]
    assert "& 4 GPUs & efficiency on 4" in table


def traces_of(machines, ways):
    """Traces with a bar of each way on each machine, of two processes."""
    rows = []
    for name, selection in ((name, way) for name in machines for way in ways):
        first = chapter.study("dcgan").rows(selection).iloc[0].dropna()
        row = {"machine": name, "lane": "gpu", "name": "1", "start": 0.0, "end": 1.0}
        rows += [{**first, **row, "process": number} for number in (0, 1)]
    return pd.DataFrame(rows)


def test_timelines_are_of_every_machine_that_was_traced():
    all_machines = traces_of(("a", "b"), splits.CALLS.values())
    selected = all_machines[(all_machines["machine"] == "b") | (all_machines["split"] == 2)]
    study = chapter_study.study_of_chapter(
        "dcgan", Study({lines.SPLITS: {"samples": NO_ROWS, "traces": selected}}, None)
    )
    timelines = study.traces(lines.SPLITS, splits.CALLS)
    assert list(timelines) == ["a: 2 + 2", "b: 2 + 2", "b: 3 + 1", "b: 4 + 0"]
    assert {len(rows) for rows in timelines.values()} == {1}  # of one process


def test_the_timeline_is_of_the_chapters_gpu():
    figure_tables = {name: dict(full_study("dcgan").tables[name]) for name in timeline.EXPERIMENTS}
    figure_tables[lines.STAGED] |= {"traces": traces_of(("a", made_up.MACHINE), timeline.CALLS.values())}
    texts = " ".join(visible_texts(draw("dcgan_timeline", figure_tables)))
    assert f"{made_up.MACHINE}: copies after each batch" in texts
    assert " a: copies" not in texts


def test_shares_of_a_rung_stand_in_the_order_of_their_colours():
    study, colours = chapter.study("dcgan"), dict.fromkeys(reversed(lines.PHASES), "red")
    rung = ladder.rung(study, "loops", study.find("loops"), (), colours)
    assert list(rung.parts) == [phase for phase in colours if phase != "epilogues"]
