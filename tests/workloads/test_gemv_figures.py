"""The figures of products of a matrix and a vector."""

import numpy as np

from drawings import MACHINES, ON_RANKS, THREADS, draw, tables, words


def test_every_binding_of_threads_and_every_schedule_is_another_method():
    figure = draw("gemv_time", tables("gemv_time"))
    methods = {"openmp", "OpenMP, bound spread", "OpenMP, bound close", "blas"}
    methods |= {f"C, {schedule} schedule" for schedule in ("static", "dynamic", "guided")}
    assert methods <= set(words(figure))
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == len(THREADS)]
    assert sum(line.get_linestyle() != "None" for line in lines) == len(methods)


def test_a_product_of_all_cores_is_held_against_what_reading_reaches():
    """One thread reads 20 GB/s; the sixteen gigabytes that 0.1 s would need are missing where they weren't measured."""
    found = tables("gemv_bandwidth")
    samples = found["gemv_threads"]["samples"]
    samples["seconds"] = samples["bytes"] / 10e9 / samples["threads"]
    figure = draw("gemv_bandwidth", found)
    ceiling, *methods = [line for line in figure.axes[0].lines if line.get_linestyle() != "None"]
    assert [list(ceiling.get_xdata()), list(ceiling.get_ydata())] == [[1, 24], [20.0, 480.0]]
    for line in methods:
        np.testing.assert_allclose(line.get_ydata(), [10 * count for count in THREADS])
    assert "reading alone" in words(figure)
    assert "reading alone" not in words(draw("gemv_bandwidth", found, known={}))


def test_products_on_a_gpu_have_their_fastest_tuning_and_their_share_of_reading():
    found = tables("gemv_gpu")
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
    found = tables("gemv_mpi")
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
    figure = draw("gemv_mpi", without_phases(tables("gemv_mpi"), "scatter"))
    assert {len(bar) for axes in figure.axes for bar in bars_of(axes)} == {3}
    assert "scatter" not in words(figure)
    assert "once before" not in " ".join(words(figure))
    shown = " ".join(words(draw("gemv_break_even", without_phases(tables("gemv_break_even"), "scatter"))))
    assert "pays over one rank: can't tell" in shown
    only_totals = without_phases(tables("gemv_mpi"), *ON_RANKS)
    assert not any(bars_of(axes) for axes in draw("gemv_mpi", only_totals).axes)


def test_ranks_pay_after_some_products_or_never():
    """On two ranks half a call of the one rank is saved with every product, and scattering takes a whole one."""
    found = tables("gemv_break_even")
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
    found = tables("gemv_break_even")
    threads = found["gemv_threads"]["samples"]
    threads["n"], threads["m"] = 2048, 8192
    threads["flops"], threads["bytes"] = 2 * 2048 * 8192, 8 * 2048 * 8192
    threads["seconds"] = (1 + 1e-3 * threads["process"]) * 1e-6
    figure = draw("gemv_break_even", found)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert ["pays over threads: never" in title for title in titles] == [True, False, False]


def test_cards_stand_beside_ranks_of_the_same_machine_and_matrix():
    found = tables("gemv_cards", MACHINES, without=dict.fromkeys(MACHINES[1:], ("mpi_cuda",)))
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


def test_phases_that_overlap_are_shown_as_such():
    found = tables("gemv_cards")
    samples = found["gemv_cards"]["samples"]
    for chunks, shown in ((1, False), (4, True)):
        found["gemv_cards"]["samples"] = samples[samples["chunks"] == chunks]
        found["gemv_cards_large"]["samples"] = found["gemv_cards_large"]["samples"].iloc[:0]
        assert ("both at once" in words(draw("gemv_cards", found))) == shown


def test_a_mode_that_a_machine_has_not_measured_on_cards_has_no_panel():
    found = tables("gemv_cards")
    for name in ("gemv_mpi", "gemv_cards", "gemv_cards_large"):
        samples = found[name]["samples"]
        found[name]["samples"] = samples[samples["mode"] == "resident"]
    assert [axes.get_title(loc="left") for axes in draw("gemv_cards", found).axes] == ["the matrix stays"]


def test_one_card_alone_is_shown():
    found = tables("gemv_cards")
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
    for name, experiment in (("gemv_mpi", "gemv_mpi"), ("gemv_gpu", "gemv_gpu"), ("gemv_break_even", "gemv_mpi")):
        found = tables(name, MACHINES[:2])
        samples = found[experiment]["samples"]
        found[experiment]["samples"] = samples[samples["machine"] == MACHINES[0]]
        shown = " ".join(words(draw(name, found)))
        assert MACHINES[0] in shown
        assert MACHINES[1] not in shown
