"""Figures, drawn from the tables that the study's own plan would give, with synthetic times."""

import functools
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.text import Text

from conftest import ROOT
from ladder.__main__ import main
from ladder.catalogue import workloads
from ladder.data import dataset
from ladder.errors import LadderError
from ladder.planning import configuration, plan
from ladder.planning.places import Place
from ladder.report import collect, figures
from ladder.report.figures import formats, looks, medians, methods, scales, theme
from ladder.workloads.gemm.paper.ceilings import roofs_by_threads

THREADS = [1, 2, 4, 6, 8, 12, 16, 24]  # the study's on a machine of 24 cores
MACHINES = ("amd-ryzen-9-5900x-12c", "intel-xeon-gold-6248-24c (published)", "epyc-7763-2c (published)")
DRAWN = [name for name in figures.names() if figures.constants(name)["EXPERIMENTS"]]
PHASES = ("gather", "forward 1", "activation", "loss", "gradient 1", "delta 1", "bias", "update")
COPIES = {"to device": 2e-4, "to host": 1e-5}
ON_RANKS = {"scatter": 0.5, "broadcast": 0.01, "compute": 0.4, "gather": 0.04}  # shares of a call
RATES = {"openmp": 1.0, "interchanged": 7.0, "tiled": 30.0, "blas": 40.0}  # GFLOP/s of one thread
RATES |= {"cuda_naive": 3e3, "cuda_shared": 6e3, "cuda_tiled": 2.5e4, "cuda_mma": 5e4, "cublas": 5.5e4}


def seconds(case, flops, process, sample):
    """A time that falls with the threads and differs a little between processes and samples."""
    rate = RATES.get(case.tuning.get("product", case.variant), 10.0) * 1e9 * case.cores**0.8
    return flops / rate * (1 + 0.01 * process + 0.001 * sample)


def parts_on_ranks(case, time):
    """The phases of a product on ranks; in pieces, computation and communication are one."""
    if "ranks" not in case.tuning:
        return {}
    found = {name: time * share for name, share in ON_RANKS.items()}
    if case.tuning.get("chunks", 1) > 1:
        other = "scatter" if case.tuning["mode"] == "ship" else "gather"
        found = {f"{other} and compute": found.pop(other) + found.pop("compute")} | found
    return found


def record(case, processes=3, converged=True):
    """A record as a measurement would have left it, as far as tables need it."""
    flops, device = 2e8, workloads.constants(case.workload, case.variant)["DEVICE"]
    cost = {"flops": flops, "bytes": 1e7, "precision": case.sizes.get("dtype", "float64")}
    if case.workload == "gemv":
        cost = vars(workloads.load("gemv").cost(case.sizes))
        flops = cost["flops"]

    def one(process):
        times = [seconds(case, flops, process, sample) for sample in range(10)]
        parts = {name: times[0] / len(PHASES) for name in PHASES} if case.workload == "mlp" else {}
        parts |= parts_on_ranks(case, times[0])
        phases = [parts | (COPIES if device == "cuda" else {})] * 3
        curve = [
            {"epoch": epoch, "loss": 1 / epoch, "reference_loss": 1 / epoch, "loss_bound": 1e-13, "accuracy": 0.9}
            for epoch in (1, 2, 3)
        ]
        return {
            "threads": {"runtimes": {"numba": case.threads}},
            "samples": times,
            "phases": phases,
            "checks": [],
            "curve": curve if case.workload == "mlp" else [],
        }

    found = {"device": device, "converged": converged, "cost": cost, "source": {"commit": "unknown", "dirty": False}}
    return found | {"processes": [*map(one, range(processes))]}


@functools.cache
def planned():
    """The cases of the study's own configuration, by experiment; of the numbers of threads those of `THREADS`."""
    config = configuration.load([ROOT / "config" / "config.yaml"])
    found = {}
    for one in plan.plan(config, {"cpu": Place("here", 24)}):
        if one.case.threads <= THREADS[-1]:
            found.setdefault(one.experiment, []).append(one.case)
    return found


def tables(machines=MACHINES[:1], drop=(), without_gpu=(), without_cards=(), **facts):
    """Every experiment's tables; the cases of the variants in `drop` are missing, and machines may have no GPU."""
    found = {}
    for experiment, cases in planned().items():
        rows = {name: [] for name in collect.TABLES}
        for machine in machines:
            for case in cases:
                own = collect.own_columns(machine, experiment, case.workload, case.variant, case.slug)
                one = record(case, **facts)
                lacking = {"cuda": without_gpu, "mpi_cuda": without_cards}.get(one["device"], ())
                if case.variant in drop or machine in lacking:
                    rows["missing"].append(own | {"why": "it is not installed"})
                    continue
                for name, some in collect.rows_of(one, own).items():
                    rows[name] += some
        found[experiment] = {name: collect.with_integers(pd.DataFrame(some)) for name, some in rows.items()}
    return found


def empty():
    return {experiment: {name: pd.DataFrame() for name in collect.TABLES} for experiment in planned()}


def ceilings(machines=MACHINES):
    """Ceilings of 1 and 24 threads: 50 GFLOP/s and 20 GB/s a thread; of a card 60 TFLOP/s, 33 of multiply-adds."""
    gemm = "form=nn,m=2048,n=2048,k=2048,dtype={},source=random,seed=1,cache=warm,threads={}"
    stream = "kernel=read,elements=16777216,dtype=float64,seed=1,cache=cold,threads={}"
    rows = []
    for threads in (1, 24):
        for dtype in ("float64", "float32"):
            row = {"workload": "gemm", "variant": "blas", "case": gemm.format(dtype, threads), "best": 50e9 * threads}
            rows.append(row)
        rows.append({"workload": "stream", "variant": "openmp", "case": stream.format(threads), "best": 20e9 * threads})
    stream = stream.replace("threads={}", "block=512")
    rows.append({"workload": "stream", "variant": "cuda", "case": stream, "best": 4e12, "device": "cuda"})
    cublas = gemm.format("float64", 1).replace("threads=1", "math=default")
    steps = "elements=16777216,length=8192,dtype=float64,seed=1,cache=warm,block=128,chains=8"
    rows.append({"workload": "gemm", "variant": "cublas", "case": cublas, "best": 60e12, "device": "cuda"})
    rows.append({"workload": "fma", "variant": "cuda", "case": steps, "best": 33e12, "device": "cuda"})
    return {machine: {"rows": rows} for machine in machines}


def draw(name, found, known=None):
    """A figure as the verb would draw it, laid out."""
    wants, given = figures.constants(name), {}
    given["tables"] = {experiment: found[experiment] for experiment in wants["EXPERIMENTS"]}
    if wants["USES_CEILINGS"]:
        given["ceilings"] = ceilings() if known is None else known
    with theme.context():
        figure = figures.module(name).draw(**given)
        figure.draw_without_rendering()
    return figure


def words(figure):
    """All that is written in a figure."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", DRAWN)
def test_every_machine_is_named_and_nothing_is_small_or_cut_off(name, count):
    figure = draw(name, tables(MACHINES[:count]))
    shown = " ".join(" ".join(words(figure)).split())
    for machine in MACHINES[:count]:
        assert machine in shown or machine.replace("-", "- ") in shown
    assert figure.get_figwidth() == theme.WIDTH
    assert figure.get_figheight() <= 9.5
    assert min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text()) >= 7
    box = figure.get_tightbbox()
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= figure.get_figwidth() + 0.02
    assert box.y1 <= figure.get_figheight() + 0.02


@pytest.mark.parametrize("name", DRAWN)
def test_without_measurements_a_figure_says_so(name):
    assert any("No measurement of" in text for text in words(draw(name, empty(), known={})))


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "mlp_learning"])
def test_cases_that_have_not_converged_are_marked(name):
    note = "hollow: not converged"
    assert note not in words(draw(name, tables()))
    assert note in words(draw(name, tables(converged=False)))


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "mlp_learning"])
def test_one_process_has_no_interval_but_a_figure(name):
    figure = draw(name, tables(processes=1))
    for axes in figure.axes:
        assert np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all()


@pytest.mark.parametrize("name", DRAWN)
def test_a_method_has_one_colour_everywhere(name):
    known = {one.label: one.colour for one in map(looks.look, methods.looks())}
    for legend in draw(name, tables()).legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if text.get_text() in known:
                assert handle.get_color() == known[text.get_text()]


def test_looks_differ_by_more_than_the_colour():
    """Colours do where methods of one workload stand together, on the host or on a GPU."""
    known = [looks.look(method) for method in methods.looks()]
    assert len({look.marker for look in known}) == len(known)
    for names in ({*workloads.variants("gemm"), *workloads.variants("mlp")}, set(workloads.variants("gemv"))):
        shown = {name: looks.look(name) for name in methods.looks() if name.split(" ")[0] in names}
        on_gpu = {name for name in shown if "cu" in name}
        for together in (on_gpu, set(shown) - on_gpu):
            assert len({shown[name].colour for name in together}) == len(together) > 4
    other = looks.look("my_kernel")
    assert other == looks.look("my_kernel")
    assert other.colour not in {look.colour for look in known}


def test_speedups_are_against_the_methods_own_single_thread():
    found = tables()["gemm_threads"]
    samples = found["samples"]
    samples["seconds"] = 8e-3 / samples["threads"]
    figure = draw("gemm_speedup", {"gemm_threads": found})
    assert len(figure.axes) == 3
    assert words(figure).count("8.00 ms") == 12
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() != "None"]
    assert len(lines) == 5
    for line in lines:
        np.testing.assert_allclose(line.get_ydata(), THREADS)


def test_a_method_without_a_single_thread_has_no_speedup():
    found = tables()["gemm_threads"]
    samples = found["samples"]
    found["samples"] = samples[(samples["variant"] != "blas") | (samples["threads"] > 1)]
    shown = words(draw("gemm_speedup", {"gemm_threads": found}))
    assert shown.count("not measured") == 3


def test_rungs_are_held_against_the_ceiling_of_as_many_threads():
    found = tables()["gemm_square"]
    found["samples"]["seconds"] = found["samples"]["flops"] / 25e9
    assert "25.0 (50 %)" in words(draw("gemm_square", {"gemm_square": found}))
    without = words(draw("gemm_square", {"gemm_square": found}, known={}))
    assert "25.0" in without
    assert not any("%" in text for text in without)


def test_rungs_on_a_gpu_are_held_against_multiply_adds_too():
    figure = draw("gemm_gpu", tables())
    assert "dashed, 100 %: 60.0 TFLOP/s" in " ".join(words(figure))
    places = [line.get_xdata()[0] for line in figure.axes[0].lines if len(set(line.get_xdata())) == 1]
    assert {60.0, 33.0} <= set(places)
    assert "multiply-adds" in " ".join(words(figure))
    assert "multiply-adds" not in " ".join(words(draw("gemm_square", tables())))


def test_roofs_are_those_of_one_kind_of_threads():
    one, most = roofs_by_threads(ceilings()[MACHINES[0]], "float64")
    assert one == (1, 50e9, 20e9)
    assert most == (24, 1200e9, 480e9)
    assert roofs_by_threads({"rows": []}, "float64") == []


def test_shares_of_operations_add_up():
    figure = draw("mlp_methods", tables())
    bars = [patch for patch in figure.axes[1].patches if patch.get_width()]
    methods = 2 * 4 + 5  # on the host with one thread and with the most, on the GPU
    assert len(bars) == methods * len(PHASES)
    assert sum(bar.get_width() for bar in bars) == pytest.approx(methods * 100)


def test_the_gpu_stands_beside_the_host_and_its_copies_beside_its_bars():
    """Of three machines one has a GPU: its copies are in no share, and no other figure of the training shows it."""
    found = tables(MACHINES, without_gpu=MACHINES[1:])
    shown = words(draw("mlp_methods", found))
    assert [text for text in shown if text.endswith(", GPU")] == [
        f"{looks.look(name).label}, GPU" for name in ("cuda_naive", "cuda_shared", "cuda_tiled", "cuda_mma", "cublas")
    ]
    assert shown.count("+ 210 µs") == 5
    assert sum("once for all epochs" in text for text in shown) == 1
    assert not {"to device", "to host"} & set(shown)
    for name in ("mlp_time", "mlp_speedup"):
        assert not any("cu" in text.lower() for text in words(draw(name, found)) if "CPU" not in text)


def test_a_missing_peer_has_its_reason():
    assert "it is not installed" in words(draw("mlp_peers", tables(drop=("pytorch",))))


def test_machines_measured_here_come_first():
    one = {"samples": pd.DataFrame({"machine": ["a (published)", "b"]}), "missing": pd.DataFrame({"machine": ["c"]})}
    assert medians.machines(one) == ["b", "c", "a (published)"]


@pytest.mark.parametrize(("limits", "ticks"), [((2.1, 4.9), 5), ((0.9, 1200), 7), ((1e-6, 1e3), 5), ((30, 31), 2)])
def test_logarithmic_axes_have_some_round_numbers_but_not_too_many(limits, ticks):
    assert len(scales.RoundNumbers(7).tick_values(*limits)) == ticks


def test_numbers_in_words():
    assert [formats.time(value) for value in (2.0, 0.9996, 0.01234, 1e-4, 5e-10)] == [
        "2.00 s",
        "1.00 s",
        "12.3 ms",
        "100 µs",
        "0.500 ns",
    ]
    assert [formats.plain(value) for value in (0.25, 24, 1500)] == ["0.25", "24", "1,500"]
    assert [formats.percent(value) for value in (0.004, 0.0994, 0.5)] == ["0.4 %", "9.9 %", "50 %"]


def test_same_tables_same_bytes(tmp_path):
    for name in ("gemm_time", "mlp_methods", "gemm_roofline"):
        for experiment in figures.constants(name)["EXPERIMENTS"]:
            for table, frame in tables()[experiment].items():
                collect.write_table(tmp_path / experiment, table, frame)
    (tmp_path / "ceilings.json").write_text(json.dumps(ceilings()[MACHINES[0]]))
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        for name in ("gemm_time", "mlp_methods", "gemm_roofline"):
            wants = figures.constants(name)
            command = [sys.executable, "-m", "ladder", "figure", name, "--out", str(tmp_path / seed / name)]
            command += [f"--tables={tmp_path / experiment}" for experiment in wants["EXPERIMENTS"]]
            command += [f"--ceilings={MACHINES[0]}={tmp_path}/ceilings.json"] * wants["USES_CEILINGS"]
            subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": seed})
    drawn = sorted((tmp_path / "1").iterdir())
    assert len(drawn) == 9
    for path in drawn:
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()
        if path.suffix == ".pdf":
            assert b"/Subtype /Type3" not in path.read_bytes()


def test_a_bound_thread_is_another_method_for_each_binding():
    figure = draw("gemv_time", tables())
    shown = words(figure)
    assert {"OpenMP loops", "OpenMP, bound spread", "OpenMP, bound close", "BLAS"} <= set(shown)
    assert (
        sum(line.get_linestyle() != "None" for line in figure.axes[0].lines if len(line.get_xdata()) == len(THREADS))
        == 4
    )


def test_a_card_has_a_roofline_of_its_own_with_and_without_tensor_cores():
    figure = draw("gemm_roofline", tables())
    titles = [part.get_suptitle() for part in figure.subfigs]
    assert titles == [MACHINES[0], f"{MACHINES[0]}, GPU"]
    card = figure.axes[1]
    assert [max(line.get_ydata()) for line in card.lines[:2]] == [60e3, 33e3]
    assert {"60000 GFLOP/s, cuBLAS", "33000 GFLOP/s\nno tensor cores"} <= {text.get_text() for text in card.texts}
    host = [row for row in ceilings()[MACHINES[0]]["rows"] if row.get("device", "host") == "host"]
    without = draw("gemm_roofline", tables(), {MACHINES[0]: {"rows": host}})
    assert [part.get_suptitle() for part in without.subfigs] == [MACHINES[0]]


@pytest.mark.parametrize("name", ["gemv_break_even", "gemv_time", "gemv_speedup", "gemm_roofline"])
def test_a_legend_with_hollow_markers_has_room(name):
    figure = draw(name, tables(MACHINES[:2], converged=False))
    (legend,) = figure.legends
    assert "hollow: not converged" in {text.get_text() for text in legend.get_texts()}
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_numbers_of_threads_have_words_where_there_is_room():
    assert scales.apart([1]) == [1]
    assert scales.apart([1, 2]) == [1, 2]
    assert scales.apart([1, 2, 4, 6, 12, 24]) == [1, 2, 4, 6, 12, 24]
    assert scales.apart(THREADS) == [1, 2, 4, 8, 16, 24]
    assert scales.apart([*THREADS, 32, 64, 128]) == [1, 2, 4, 8, 16, 32, 64, 128]


def test_a_product_of_all_cores_is_held_against_what_reading_reaches():
    """One thread reads 20 GB/s; the sixteen gigabytes that 0.1 s would need are missing where they weren't measured."""
    found = tables()
    samples = found["gemv_threads"]["samples"]
    samples["seconds"] = samples["bytes"] / 10e9 / samples["threads"]
    figure = draw("gemv_bandwidth", found)
    ceiling, *methods = [line for line in figure.axes[0].lines if line.get_linestyle() != "None"]
    assert [list(ceiling.get_xdata()), list(ceiling.get_ydata())] == [[1, 24], [20.0, 480.0]]
    for line in methods:
        np.testing.assert_allclose(line.get_ydata(), [10 * count for count in THREADS])
    assert "reading alone" in words(figure)
    assert "reading alone" not in words(draw("gemv_bandwidth", found, known={}))


def test_the_roofline_has_the_matrix_vector_product_at_a_quarter_flop_per_byte():
    figure = draw("gemm_roofline", tables())
    drawn = [collection for collection in figure.axes[0].collections if isinstance(collection, PathCollection)]
    assert 0.25 in {round(float(x), 3) for collection in drawn for x, _ in collection.get_offsets()}
    assert "matrix-vector" in words(figure)


def test_products_on_a_gpu_have_their_fastest_tuning_and_their_share_of_reading():
    found = tables()
    samples = found["gemv_gpu"]["samples"]
    is_fast = (samples["variant"] == "cuda_shared") & samples["case"].str.endswith("block=32")
    samples["seconds"] = samples["bytes"] / np.where(is_fast, 2e12, 1e12)
    figure = draw("gemv_gpu", found)
    assert len(figure.axes) == 3
    shown = words(figure)
    assert shown.count("2000 (50 %)") == 3 * 2
    assert shown.count("1000 (25 %)") == 3 * 2 * 4
    assert {"float64", "float32"} <= set(shown)
    assert not any("%" in text for text in words(draw("gemv_gpu", found, known={})))


def bars_of(axes):
    """Where the parts of every bar end, by the bar's place."""
    ends = {}
    for patch in axes.patches:
        if patch.get_width():
            ends.setdefault(round(patch.get_y(), 3), []).append(patch.get_x() + patch.get_width())
    return [ends[place] for place in sorted(ends)]


def test_on_ranks_the_phases_stand_beside_each_other_and_sending_beside_the_bar_where_it_is_done_once():
    found = tables()
    ship, resident = draw("gemv_mpi", found).axes
    cases = 8 + 4  # without threads, and with the fastest number of them
    assert [len(bars_of(axes)) for axes in (ship, resident)] == [cases, cases]
    assert {len(bar) for bar in bars_of(ship)} == {4}
    assert {len(bar) for bar in bars_of(resident)} == {3}
    largest = found["gemv_mpi"]["samples"].query("n == 32768 and variant == 'mpi' and ranks == 1 and phase != 'total'")
    for axes, mode in ((ship, "ship"), (resident, "resident")):
        phases = largest[largest["mode"] == mode].groupby("phase", sort=False)["seconds"].median()
        timed = phases if mode == "ship" else phases.drop("scatter")
        np.testing.assert_allclose(bars_of(axes)[0], 1e3 * timed.cumsum())
    assert sum(" + " in text for text in words(ship) + words(resident)) == cases + 2  # and MPI + OpenMP twice


def without_phases(found, *names):
    """The tables without some phases of the products on ranks."""
    samples = found["gemv_mpi"]["samples"]
    found["gemv_mpi"]["samples"] = samples[~samples["phase"].isin(names)]
    return found


def test_a_phase_that_is_missing_leaves_a_gap_and_no_word_on_what_pays():
    figure = draw("gemv_mpi", without_phases(tables(), "scatter"))
    assert {len(bar) for axes in figure.axes for bar in bars_of(axes)} == {3}
    assert "scatter" not in words(figure)
    assert "once before" not in " ".join(words(figure))
    shown = " ".join(words(draw("gemv_break_even", without_phases(tables(), "scatter"))))
    assert "pays over one rank: can't tell" in shown
    only_totals = without_phases(tables(), *ON_RANKS)
    assert not any(bars_of(axes) for axes in draw("gemv_mpi", only_totals).axes)


def test_ranks_pay_after_some_products_or_never():
    """On two ranks half a call of the one rank is saved with every product, and scattering takes a whole one."""
    found = tables()
    samples = found["gemv_mpi"]["samples"]
    samples = samples[(samples["variant"] == "mpi") & (samples["ranks"] <= 2)]
    noise = 1 + 1e-3 * samples["process"]
    seconds = samples["bytes"] / 1e10 / samples["ranks"]
    scatter = samples["phase"] == "scatter"
    samples["seconds"] = noise * seconds.where(~scatter, samples["bytes"] / 1e10)
    found["gemv_mpi"]["samples"] = samples
    shown = " ".join(words(draw("gemv_break_even", found)))
    assert shown.count("pays over one rank: from 2 on") == 3
    assert "pays over threads" not in shown
    samples.loc[samples["phase"] == "total", "seconds"] *= samples["ranks"] ** 2
    assert " ".join(words(draw("gemv_break_even", found))).count("pays over one rank: never") == 3


def test_ranks_are_held_against_threads_where_these_multiplied_the_same_matrix():
    found = tables()
    threads = found["gemv_threads"]["samples"]
    threads["n"], threads["m"] = 2048, 8192
    threads["flops"], threads["bytes"] = 2 * 2048 * 8192, 8 * 2048 * 8192
    threads["seconds"] = (1 + 1e-3 * threads["process"]) * 1e-6
    figure = draw("gemv_break_even", found)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert ["pays over threads: never" in title for title in titles] == [True, False, False]


def test_cards_stand_beside_ranks_of_the_same_machine_and_matrix():
    found = tables(MACHINES, without_cards=MACHINES[1:])
    figure = draw("gemv_cards", found)
    ship, resident = figure.axes
    assert MACHINES[1] not in " ".join(words(figure))
    matrices = ["2,048 × 8,192", "8,192 × 8,192", "32,768 × 8,192", "65,536 × 32,768"]
    for axes, count in ((ship, 3), (resident, 4)):  # the largest is resident alone
        assert [text.get_text() for text in axes.texts if "×" in text.get_text()] == matrices[:count]
        labels = [text.get_text() for text in axes.get_yticklabels()]
        assert len(labels) == 3 * 4 + 2 * (count - 3)
        assert labels[:2] == ["MPI, 128 ranks", "MPI + OpenMP, 8 × 8 threads"]
        assert all(label.endswith("8 GPUs") for label in labels[2:4])


def test_phases_that_overlap_are_told_as_such():
    found = tables()
    samples = found["gemv_cards"]["samples"]
    for chunks, shown in ((1, False), (4, True)):
        found["gemv_cards"]["samples"] = samples[samples["chunks"] == chunks]
        found["gemv_cards_large"]["samples"] = found["gemv_cards_large"]["samples"].iloc[:0]
        assert ("both at once" in words(draw("gemv_cards", found))) == shown


def test_a_mode_that_a_machine_has_not_measured_on_cards_has_no_panel():
    found = tables()
    for name in ("gemv_mpi", "gemv_cards", "gemv_cards_large"):
        samples = found[name]["samples"]
        found[name]["samples"] = samples[samples["mode"] == "resident"]
    assert [axes.get_title(loc="left") for axes in draw("gemv_cards", found).axes] == ["the matrix stays"]


def test_a_card_of_which_ceilings_alone_are_known_has_no_roofline():
    found, card = tables(MACHINES[:2]), f"{MACHINES[1]}, GPU"
    assert card in " ".join(words(draw("gemm_roofline", found)))
    for name in figures.module("gemm_roofline").GROUPS["cuda"]:
        samples = found[name]["samples"]
        found[name]["samples"] = samples[samples["machine"] != MACHINES[1]]
    shown = " ".join(words(draw("gemm_roofline", found)))
    assert MACHINES[1] in shown
    assert card not in shown


def test_one_card_alone_is_shown():
    found = tables()
    for name in ("gemv_cards", "gemv_cards_large"):
        samples = found[name]["samples"]
        found[name]["samples"] = samples[samples["ranks"] == 1]
    labels = [text.get_text() for text in draw("gemv_cards", found).axes[0].get_yticklabels()]
    assert labels[:4] == [
        "MPI, 128 ranks",
        "MPI + OpenMP, 8 × 8 threads",
        "MPI + cuBLAS, 1 GPU",
        "NCCL + cuBLAS, 1 GPU",
    ]


def test_one_machine_may_lack_what_the_other_has():
    found = tables(MACHINES[:2])
    for experiment in ("gemv_mpi", "gemv_gpu"):
        samples = found[experiment]["samples"]
        found[experiment]["samples"] = samples[samples["machine"] == MACHINES[0]]
    for name in ("gemv_mpi", "gemv_gpu", "gemv_break_even"):
        shown = " ".join(words(draw(name, found)))
        assert MACHINES[0] in shown
        assert MACHINES[1] not in shown


def test_sample_digits_are_those_of_the_data_set(tmp_path):
    labels = np.array([3, 3, 7], np.uint8)
    images = np.stack([np.full((28, 28), shade, np.uint8) for shade in (10, 20, 30)])
    known = dataset.Dataset(images, labels, images, labels)
    with theme.context():
        figure = figures.module("mlp_sample_digits").draw(data=("mnist", known))
    sheet = figure.axes[0].images[0].get_array()
    assert [sheet[0, 28 * 3], sheet[28, 28 * 3], sheet[0, 28 * 7], sheet[28, 28 * 7]] == [10, 20, 30, 0]
    assert any("MNIST: 3 images" in text for text in words(figure))


def test_every_figure_has_a_caption_and_is_drawable_from_the_configuration():
    for name in figures.names():
        assert figures.caption(name).endswith(".")
    assert figures.drawable(planned()) == figures.names()
    assert figures.drawable(["gemm_threads"]) == ["gemm_speedup", "gemm_time", "mlp_sample_digits"]
    assert "gemv_break_even" not in figures.drawable(["gemv_mpi"])


def test_a_figure_that_is_not_there_is_a_sentence(capsys):
    with pytest.raises(LadderError, match=r"no figure 'gemm_tim'.*gemm_time"):
        figures.constants("gemm_tim")
    with pytest.raises(LadderError, match="no figure 'gemm_rungs'"):
        figures.constants("gemm_rungs")
    with pytest.raises(SystemExit):
        main(["figure", "gemm_time", "--out", "x"])
    assert "needs --tables of gemm_threads" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["figure", "mlp_sample_digits", "--out", "x"])
    assert "needs --data" in capsys.readouterr().err
