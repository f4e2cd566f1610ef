"""What the paper says of products and of the training beside what every chapter does, of made-up times."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import chapter
import made_up
from drawings import draw, tables, words
from ladder.data import dataset
from ladder.report import figures
from ladder.report.figures import theme
from ladder.report.telling import chapter_study
from ladder.report.telling.chapter_study import NotMeasured
from ladder.store import study as queries
from ladder.workloads.mlp.paper import claims as mlp_claims
from ladder.workloads.mlp.paper import tables as mlp_tables
from made_up import chapters as made

EVERY = made.whole("mlp")


def test_problems_and_assumptions_are_told():
    text = chapter.text("mlp")
    assert "layers of 784--300--10 units" in text
    assert r"need \qty{96}{MFLOP}" in text
    assert r"$1000 \times 300 \times 784$, needs \qty{470}{MFLOP} and moves at least \qty{11}{\mega\byte}" in text
    assert r"\num{8} dependent kernels at \qty{900}{\nano\second} each" in text
    assert "No counter separates" not in text  # what a machine with more threads shows


def test_what_is_not_measured_takes_no_other_sentence_along():
    text = chapter.text("mlp", made.study("mlp", drop=lambda case: case.variant in ("cuda_columns", "numpy_loop")))
    assert not any(name in text for name in (r"cuda\_columns", "numpy"))
    lost = [one for one in re.split(r"(?<=[.;:]) ", chapter.text("mlp")) if one not in text]
    assert [one for one in lost if not any(word in one for word in ("columns", "numpy", "confirmed"))] == []
    assert len(lost) == 3  # with the tally of our claims


def test_the_share_of_products_is_that_of_the_claims_network_by_plain_loops_on_one_thread():
    """A toy network beside it, of which products are 60 %, has no say."""

    def of_share(share, layers="784-300-10", **options):
        def change(one):
            sizes = one.case.sizes | ({"layers": layers} if one.case.workload == "mlp" else {})
            return made.operations(replace(one, case=replace(one.case, sizes=sizes)), share)

        return made.study("mlp", change=change, **options)

    assert chapter.verdicts("mlp", of_share(0.96), "share") == {"share": "weaker"}
    beside = made_up.both(made.study("mlp", machine="there"), of_share(0.6, "784-30-10", machine="here"))
    claim = chapter.answers("mlp", beside, "share")["share"]
    assert claim.answer.verdict == "confirmed"
    assert claim.cause == r"\qty{99.5}{\percent}; with \texttt{blas} \qty{85}{\percent}"
    assert chapter.asked("mlp", beside)["share_of_products"]("openmp", 1, 3) == r"\qty{99.5}{\percent}"


def test_with_the_copies_the_gpu_takes_as_long_as_the_blas():
    study, blas = chapter_study.of_chapter("mlp", EVERY), mlp_claims.on("blas", 12)
    copied = mlp_claims.with_copies(study, mlp_claims.FEW_IMAGES)
    assert queries.middle(copied) == pytest.approx(queries.middle(study.rows(blas)), rel=0.01)
    with pytest.raises(NotMeasured):
        mlp_claims.with_copies(study, blas)


def test_causes_tell_other_forms_and_larger_batches():
    causes = {key: claim.cause for key, claim in chapter.answers("mlp", EVERY).items()}
    assert causes["shared/nt"] == r"naive time over that of \texttt{nn}: \num{8.0}\,$\times$"
    assert causes["peer/pytorch"] == r"in batches of \num{1000}: \num{1.0}\,$\times$"
    assert causes["peer/numpy_loop"] == r"in batches of \num{1000}: \num{1.3}\,$\times$"
    fewer = made.study("mlp", drop=lambda case: case.variant == "pytorch" and case.threads == 2)
    rests_on = chapter.answers("mlp", fewer, "peer/pytorch")["peer/pytorch"].answer.ratio.cases
    assert all("threads=1," in f"{case}," for *_, case in rests_on)  # both on as many


def test_every_training_of_the_ladder_says_on_how_many_threads_or_that_it_is_a_graph():
    def rows(study):
        lines = chapter.tables("mlp", study)["ladder"].replace(r"\allowbreak{}", "").splitlines()
        return [line.partition(" & ")[0].replace(r"\texttt", "") for line in lines]

    on_host = ["{host}, {tiled}, 2 threads", "{host}, {blas}, 12 threads", "{host}, {blas}, 24 threads"]
    others = ["{numpy\\_loop}, 2 threads", "{pytorch}, 2 threads", "{pytorch\\_cuda}, {graph}"]
    assert rows(EVERY)[-9:-2] == [*on_host, r"{cuda}, {cuda\_mma}, {graph}", *others]
    assert chapter.tables("mlp")["ladder"].count(r"\midrule") == 3  # two between groups
    fewer = made.study("mlp", drop=lambda case: case.tuning.get("threads", 0) > 12)
    assert len([row for row in rows(fewer) if "12 threads" in row]) == 1


def test_tf32_is_named_in_the_table_of_the_gpu():
    def single(one):
        is_shown = one.experiment == "mlp_gpu" and one.case.tuning.get("product") in ("cuda_mma", "cublas")
        return is_shown and replace(one, case=replace(one.case, sizes=one.case.sizes | {"dtype": "float32"}))

    study = made.study("mlp", change=single)
    table = mlp_tables.gpu(SimpleNamespace(machine=lambda role: study))
    lines = [line for line in table.splitlines() if "float32" in line]
    names = [line.partition(" & ")[0] for line in lines]
    assert names == [r"\texttt{cuda\_\allowbreak{}mma}, TF32", r"\texttt{cublas}"]


def test_a_machine_with_more_threads_is_told_beside_the_chapters():
    """On 6 threads as long as the chapter's on 12, on 64 ten times as long."""

    def wider(threads, factor):
        def change(one):
            is_told = one.experiment == "mlp_threads" and one.case.tuning.get("threads") == 12
            case = replace(one.case, tuning=one.case.tuning | {"threads": threads})
            return is_told and replace(one.times(factor), case=case)

        return made.study("mlp", change=change, machine="wide")

    text = chapter.text("mlp", made_up.both(EVERY, made_up.both(wider(6, 1), wider(64, 10))))
    assert r"\num{6} threads and \qty{2.6}{\milli\second} on \num{64}" in text
    assert "No counter separates" in text


def test_lines_of_threads_are_named_by_the_code():
    assert words(draw("mlp_scaling", tables("mlp_scaling"))).count("interchanged") == 2


def test_sample_digits_are_those_of_the_data_set():
    labels = np.array([3, 3, 7], np.uint8)
    images = np.stack([np.full((28, 28), shade, np.uint8) for shade in (10, 20, 30)])
    known = dataset.Dataset(images, labels, images, labels)
    with theme.context():
        figure = figures.module("mlp_sample_digits").draw(data=("mnist", known))
    sheet = figure.axes[0].images[0].get_array()
    assert [sheet[0, 28 * 3], sheet[28, 28 * 3], sheet[0, 28 * 7], sheet[28, 28 * 7]] == [10, 20, 30, 0]
    assert any("MNIST: 3 images" in text for text in words(figure))
