"""Every figure, drawn from made-up tables of the cases in the study's plan, and the kit that draws them."""

import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from drawings import MACHINES, draw, empty_tables, planned_cases, tables, visible_texts
from ladder.__main__ import main
from ladder.catalogue import literals, workloads
from ladder.errors import LadderError
from ladder.report import figures
from ladder.report.figures import formats, layout, looks, medians, methods, scales, theme
from ladder.statistics import intervals
from ladder.store import collect

FIGURES = [name for name in figures.names() if figures.constants(name)["EXPERIMENTS"]]
# `make test` draws each chapter's first figure from tables in which few cases converged, `make test-slow` the others.
FIRST_FIGURES = {figures.workload(name): name for name in reversed(FIGURES)}.values()
MARKED_FIGURES = [name if name in FIRST_FIGURES else pytest.param(name, marks=pytest.mark.slow) for name in FIGURES]
FIGURES_OF_MACHINES = ("gemv_scaling", "mlp_learning")  # figures that `make test` also draws with several machines
# Chapters whose figures show only the machines of the chapter's text.
SELECTIVE_CHAPTERS = ("backprop", "descent", "gemv")
# Figures that show only the machine of their chapter.
FIGURES_OF_ONE_MACHINE = ("dcgan_timeline", "dcgan_waterfall", "mlp_methods", "mlp_threads", "mlp_waterfall")
HOLLOW_LABEL = "hollow: not converged"


def require_in_bounds(figure):
    """No text is smaller than the minimum, and none is cut off."""
    assert figure.get_figwidth() == theme.WIDTH
    assert figure.get_figheight() <= theme.MAX_HEIGHT
    assert min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text()) >= theme.SMALL
    box = figure.get_tightbbox()  # in inches; the tolerance is half a millimetre
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= figure.get_figwidth() + 0.02
    assert box.y1 <= figure.get_figheight() + 0.02


@pytest.mark.parametrize(
    "name",
    [
        name if name in FIGURES_OF_MACHINES else pytest.param(name, marks=pytest.mark.slow)
        for name in FIGURES
        if name not in FIGURES_OF_ONE_MACHINE
    ],
)
def test_every_machine_is_named_and_a_method_has_one_colour_everywhere(name):
    figure = draw(name, tables(name, MACHINES), is_laid_out=True)
    require_in_bounds(figure)
    text = " ".join(" ".join(visible_texts(figure)).split())
    for machine in MACHINES[:1] if figures.workload(name) in SELECTIVE_CHAPTERS else MACHINES:
        machine_name = layout.mark_published(machine)
        assert machine_name in text or machine_name.replace("-", "- ") in text
    assert HOLLOW_LABEL not in text
    colours = {look.label: look.colour for look in map(looks.look, methods.looks())}
    for legend in figure.legends:
        for handle, label in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if label.get_text() in colours:
                assert handle.get_color() == colours[label.get_text()]


@pytest.mark.slow
@pytest.mark.parametrize("name", MARKED_FIGURES)
def test_one_process_that_has_not_converged_is_hollow_and_has_no_interval(name):
    figure = draw(name, tables(name, processes=1, converged=False), is_laid_out=True)
    require_in_bounds(figure)
    for axes in figure.axes:
        assert np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all()
    if "interval" in figures.constants(name)["CAPTION"]:
        assert HOLLOW_LABEL in visible_texts(figure)
    for legend in figure.legends:
        assert legend.get_window_extent().x0 >= 0
        assert legend.get_window_extent().x1 <= figure.bbox.width


@pytest.mark.parametrize("name", FIGURES)
def test_without_measurements_a_figure_says_so(name):
    assert any(
        "There is no measurement of" in text
        for text in visible_texts(draw(name, empty_tables(name), figure_ceilings={}))
    )


def test_two_chapters_that_show_a_method_differently_are_refused(monkeypatch):
    looks_of_chapters = {"gemm": {"tiled": ("tiled", "green", "s", "")}, "gemv": {"tiled": ("tiles", "green", "s", "")}}
    monkeypatch.setattr(literals, "read", lambda path: {"LOOKS": looks_of_chapters.get(path.parents[1].name)})
    with pytest.raises(LadderError, match=r"chapter of gemv shows 'tiled'.*one look"):
        methods.looks()


def test_methods_stand_in_the_order_of_every_chapter():
    order = list(methods.looks())
    for _, chapter_looks in methods.literals_of_chapters("LOOKS"):
        assert sorted(chapter_looks, key=order.index) == list(chapter_looks)


@pytest.mark.slow
def test_drawing_does_not_import_scipys_statistics_and_constants_not_even_matplotlib():
    """The kit keeps seaborn from importing SciPy's statistics, which a program can still import itself."""
    code = "import sys; from ladder.report.figures import bars, heat; assert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", code + "; import scipy.stats"], check=True)
    code = "from ladder.report import figures; figures.constants('gemm_tilings')"
    subprocess.run([sys.executable, "-c", f"import sys; {code}; assert 'matplotlib' not in sys.modules"], check=True)


def test_looks_differ_by_more_than_the_colour():
    """Methods of a workload on the same device, which are shown together, also differ in colour."""
    all_looks = [looks.look(method) for method in methods.looks()]
    assert len({look.marker for look in all_looks}) == len(all_looks)
    for names in ({*workloads.variants("gemm"), *workloads.variants("mlp")}, set(workloads.variants("gemv"))):
        looks_of_group = {name: looks.look(name) for name in methods.looks() if name.split(" ")[0] in names}
        on_gpu = {name for name in looks_of_group if "cu" in name}  # `cuda_...` and `cublas...`
        for together in (on_gpu, set(looks_of_group) - on_gpu):
            assert len({looks_of_group[name].colour for name in together}) == len(together) > 4
    other = looks.look("my_kernel")
    assert other == looks.look("my_kernel")
    assert other.colour not in {look.colour for look in all_looks}


def test_machines_measured_here_come_first():
    experiment = {
        "samples": pd.DataFrame({"machine": ["a (published)", "b"]}),
        "missing": pd.DataFrame({"machine": ["c"]}),
    }
    assert medians.machines(experiment) == ["b", "c", "a (published)"]


@pytest.mark.parametrize(("limits", "tick_count"), [((2.1, 4.9), 5), ((0.9, 1200), 7), ((1e-6, 1e3), 5), ((30, 31), 2)])
def test_logarithmic_axes_have_some_round_numbers_but_not_too_many(limits, tick_count):
    assert len(scales.RoundNumbers(7).tick_values(*limits)) == tick_count


def test_numbers_are_written_with_their_units():
    assert [formats.time(value) for value in (2.0, 0.9996, 0.01234, 1e-4, 5e-10)] == [
        "2.00 s",
        "1.00 s",
        "12.3 ms",
        "100 µs",
        "0.500 ns",
    ]
    assert [formats.plain(value) for value in (0.25, 24, 1500)] == ["0.25", "24", "1,500"]
    assert [formats.percent(value) for value in (0.004, 0.0994, 0.5)] == ["0.4 %", "9.9 %", "50 %"]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", figures.FORMATS)
def test_on_a_full_disk_a_figure_is_refused_and_the_old_file_stays(suffix, tmp_path):
    """A limit of 100 bytes on the size of files stands in for a full disk."""
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with theme.context():
        figure = layout.new_figure(1)
        old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(LadderError, match=r"x\.\w+ can't be written: File too large"):
                theme.save(figure, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, old_handler)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
def test_the_same_tables_give_the_same_bytes_of_a_figure(tmp_path):
    names = ("mlp_methods",)
    for name in names:
        for experiment, inputs in tables(name).items():
            for table, frame in inputs.items():
                collect.write_table(tmp_path / experiment, table, frame)
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        for name in names:
            command = [sys.executable, "-m", "ladder", "figure", name, "--out", str(tmp_path / seed / name)]
            command += [f"--tables={tmp_path / experiment}" for experiment in figures.constants(name)["EXPERIMENTS"]]
            subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": seed})
    files = sorted((tmp_path / "1").iterdir())
    assert len(files) == 3
    for path in files:
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()
        if path.suffix == ".pdf":
            assert b"/Subtype /Type3" not in path.read_bytes()  # fonts that publishers refuse


def test_ticks_of_threads_have_labels_where_there_is_room():
    assert scales.spaced_ticks([1]) == [1]
    assert scales.spaced_ticks([1, 2]) == [1, 2]
    assert scales.spaced_ticks([1, 2, 4, 6, 12, 24]) == [1, 2, 4, 6, 12, 24]
    assert scales.spaced_ticks([1, 2, 4, 6, 8, 12, 16, 24]) == [1, 2, 4, 8, 16, 24]
    assert scales.spaced_ticks([1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 128]) == [1, 2, 4, 8, 16, 32, 64, 128]


def test_a_figures_intervals_are_those_of_the_statistics():
    processes = [[1.0, 1.1, 1.2], [1.3, 1.4, 1.5], [1.0, 1.2, 1.4]]
    rows = [(process, "x", seconds) for process, samples in enumerate(processes) for seconds in samples]
    rows = pd.DataFrame(rows, columns=["process", "method", "seconds"]).assign(converged=True)
    (summary,) = medians.summaries(rows, ["method"]).to_dict("records")
    expected = intervals.summary(processes)
    assert (summary["median"], summary["low"], summary["high"]) == (expected.median, expected.low, expected.high)
    (rate,) = medians.rates(medians.summaries(rows, ["method"]), 6.0).to_dict("records")
    assert (rate["median"], rate["low"], rate["high"]) == (6 / expected.median, 6 / expected.high, 6 / expected.low)


def test_every_figure_has_a_caption_and_is_drawable_from_the_configuration():
    for name in figures.names():
        assert figures.caption(name).endswith(".")
    assert figures.drawable_names(planned_cases()) == figures.names()
    assert figures.drawable_names(["mlp_accuracy"]) == ["dcgan_pictures", "mlp_learning", "mlp_sample_digits"]
    assert "gemv_phases" not in figures.drawable_names(["gemv_mpi"])


def test_a_caption_of_the_report_has_code_as_code_and_escapes_other_markup(monkeypatch):
    monkeypatch.setattr(figures, "constants", lambda name: {"CAPTION": "`a_b*`\n  of c_d * e|f\\ by `g`."})
    assert figures.caption("any") == r"``a_b*`` of c\_d \* e\|f\\ by ``g``."


def test_an_unknown_figure_and_a_missing_option_are_refused_in_a_sentence(capsys):
    with pytest.raises(LadderError, match=r"no figure 'gemm_tiling'.*gemm_tilings"):
        figures.constants("gemm_tiling")
    with pytest.raises(LadderError, match="no figure 'mlp_rungs'"):
        figures.constants("mlp_rungs")
    with pytest.raises(SystemExit):
        main(["figure", "mlp_learning", "--out", "x"])
    assert "needs --tables of mlp_accuracy" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["figure", "mlp_sample_digits", "--out", "x"])
    assert "needs --data" in capsys.readouterr().err
