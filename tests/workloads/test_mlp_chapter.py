"""What the paper says of products and of the training, of times made up by rule."""

from dataclasses import replace

import pytest

import made_up
import made_up_products
from drawings import draw, tables, words
from ladder.report import study as study_of
from ladder.report.phrases import Missing
from ladder.report.study import Study
from ladder.workloads.backprop.paper.model import Rates
from ladder.workloads.mlp.paper import model, numbers, parts, query, rungs, verdicts
from ladder.workloads.mlp.paper import tables as mlp_tables

CONSTANT = ("problem", "model")
TOY = {"layers": "784-30-10"}


@pytest.fixture(scope="module")
def found():
    return made_up_products.study()


@pytest.fixture(scope="module")
def values(found):
    return numbers.numbers(found)


def changed(drop=lambda case: False, factor=lambda case: 1.0, sizes=None, **choices):
    """A study without some cases, and with the times of others or the sizes of trainings changed."""
    chosen = [
        (
            name,
            replace(case, sizes=case.sizes | (sizes or {})) if case.workload == "mlp" else case,
            seconds * factor(case),
        )
        for name, case, seconds in made_up_products.cases()
        if not drop(case)
    ]
    return made_up_products.study(chosen=chosen, **choices)


def on_card(case):
    return "cu" in case.variant


def decided(study):
    found = verdicts.verdicts(study)
    return {one.key: one.answer.verdict for group in found.values() for one in group}


def test_the_keys_do_not_depend_on_what_was_measured(values):
    assert list(numbers.numbers(changed(drop=on_card))) == list(values)
    nothing = numbers.numbers(Study({}, None))
    assert list(nothing) == list(values)
    for key, value in nothing.items():
        if key.split("/")[1] not in CONSTANT:
            assert value is None or isinstance(value, Missing), key


def test_a_whole_study_lacks_nothing_but_a_second_machine_and_ceilings(values):
    missing = {key for key, value in values.items() if value is None or isinstance(value, Missing)}
    others = ("mlp/scaling/wide/", "mlp/learning/", "mlp/machine/apart", "mlp/card/cuda_tiled/share")
    assert {key for key in missing if not key.startswith(others)} == set()


def test_the_claims_are_decided_as_the_times_say(found):
    assert decided(found) == {
        "levels-off": "confirmed",
        "worse": "confirmed",
        "serial": "confirmed",
        "parallel": "confirmed",
        "shared": "weaker",
        "shared/tn": "weaker",
        "shared/nt": "confirmed",
        "transfers": "confirmed",
        "share": "confirmed",
        "interchanged": "confirmed",
        "tiled": "confirmed",
        "compiled": "confirmed",
        "columns": "confirmed",
        "registers": "confirmed",
        "tensor-cores": "confirmed",
        "mma": "confirmed",
        "tf32": "refuted",
        "graph": "confirmed",
        "peer/numpy_loop": "confirmed",
        "peer/pytorch": "confirmed",
        "peer/pytorch_cuda": "confirmed",
    }


def test_toy_sizes_decide_nothing_of_the_training():
    toy = changed(sizes=TOY, drop=lambda case: case.workload == "gemm")
    assert set(decided(toy).values()) == {"not tested"}
    assert numbers.numbers(toy)["mlp/verdicts/tally/earlier"] is None
    assert query.chosen(toy)[0].found.subject is None


def test_the_share_of_products_is_that_of_the_claims_network_by_plain_loops_on_one_thread():
    """A toy network beside it, of which products are 60 %, has no say."""
    assert decided(changed(share=0.96))["share"] == "weaker"
    toy = changed(sizes=TOY, share=0.6)
    both = made_up.both(made_up_products.study("there"), replace(toy, subject="here"))
    assert decided(both)["share"] == "confirmed"
    assert numbers.numbers(both)["mlp/parts/openmp"] == r"\qty{99.5}{\percent}"


def test_without_the_copies_the_card_is_ahead(found):
    host, card = query.chosen(found)
    blas = rungs.trained(host.training, "blas", threads=12)
    cublas = rungs.trained(card.samples(query.THREADS, device="cuda"), "cublas")
    assert study_of.middle(query.copied(card, cublas)) == pytest.approx(study_of.middle(blas), rel=0.01)
    assert query.copied(host, blas).empty
    fast = changed(factor=lambda case: 0.1 if case.tuning.get("product") == "cublas" else 1)
    assert decided(fast)["transfers"] == "refuted"


def test_more_threads_that_help_refute_that_time_levels_off():
    faster = changed(factor=lambda case: 12 / (case.tuning.get("threads") or 12) if case.variant == "host" else 1)
    assert {key: decided(faster)[key] for key in ("levels-off", "worse")} == {
        "levels-off": "refuted",
        "worse": "refuted",
    }


def test_the_chapter_speaks_of_one_machine_if_one_has_both_host_and_card():
    own = changed(drop=on_card)
    both = made_up.both(made_up_products.study("there (published)"), replace(own, subject="here"))
    assert [one.found.subject for one in query.chosen(own)] == [made_up_products.MACHINE, None]
    assert [one.found.subject for one in query.chosen(both)] == ["there (published)"] * 2


def test_phases_that_do_not_add_up_to_the_call_are_no_decomposition(found):
    _, card = query.chosen(found)
    bars = {label: known for label, _, known in parts.by_graph(card)}
    assert [label for label, known in bars.items() if known] == ["cuda_naive, one by one", "cuda_shared, one by one"]
    assert sum(bars["cuda_naive, one by one"].values()) == pytest.approx(125e-6, rel=0.01)
    assert len(bars) == 10


def test_launched_one_by_one_the_best_products_make_a_slower_training(values):
    assert values["mlp/training/cublas/alone/against/cuda_shared/alone"].startswith(r"takes \num{1.4}")
    assert values["mlp/training/cublas/against/cuda_shared"].startswith(r"is \num{2.2}")
    assert values["mlp/parts/cublas/apart"] == r"\qty{36}{\micro\second}"
    assert values["mlp/training/cuda_mma/against/pytorch_cuda"].startswith(r"is \num{3.0}")


def test_shared_memory_is_told_and_decided_by_the_form_of_the_product(found, values):
    told = {one.key: one.cause for one in verdicts.verdicts(found)["earlier"] if one.key.startswith("shared")}
    assert told["shared/nt"] == r"naive time over that of \texttt{nn}: \num{8.0}\,$\times$"
    assert values["mlp/card/cuda_shared/against/cuda_naive"].startswith(r"is \num{1.5}\,$\times$ as fast as \texttt")
    assert values["mlp/card/nt/cuda_shared/against/cuda_naive"] == r"is \num{12}\,$\times$ as fast as it"
    first = changed(drop=lambda case: case.sizes.get("form") in ("tn", "nt"))
    assert [decided(first)[key] for key in told] == ["weaker", "not tested", "not tested"]


def test_peers_are_told_in_larger_batches_too(found, values):
    assert values["mlp/training/tiled/peers/against/pytorch"].startswith(r"is \num{1.3")
    assert values["mlp/training/tiled/larger/against/pytorch/larger"].startswith("is equal to")
    causes = {one.key: one.cause for one in verdicts.verdicts(found)["rungs"]}
    assert causes["peer/pytorch"] == r"in batches of \num{1000}: \num{1.0}\,$\times$"
    assert causes["peer/numpy_loop"] == r"in batches of \num{1000}: \num{1.3}\,$\times$"


def test_every_training_of_the_ladder_says_on_how_many_threads_or_that_it_is_a_graph(found):
    table = mlp_tables.ladder(*query.chosen(found)).replace(r"\allowbreak{}", "")
    shown = [line.partition(" & ")[0] for line in table.splitlines()]
    assert [name.replace(r"\texttt", "") for name in shown if "threads" in name or "graph" in name] == [
        "{host}, {tiled}, 2 threads",
        "{host}, {blas}, 12 threads",
        "{host}, {blas}, 24 threads",
        r"{cuda}, {cuda\_mma}, graph",
        r"{numpy\_loop}, 2 threads",
        "{pytorch}, 2 threads",
        r"{pytorch\_cuda}, graph",
    ]
    fewer = changed(drop=lambda case: case.tuning.get("threads", 0) > 12)
    assert mlp_tables.ladder(*query.chosen(fewer)).count("12 threads") == 1


def test_what_steps_are_worth_is_told_for_the_synthesis(values):
    assert values["mlp/host/tiled/over/interchanged"].startswith(r"\num{6.")
    assert values["mlp/verdicts/graph/now"].startswith(r"\num{3.3}")


def test_few_rows_of_a_product_are_told_beside_many(values):
    assert values["mlp/card/rows/few"] == r"\qty{4.7}{\tera\flops}"
    assert values["mlp/card/rows/many"] == r"\qty{47}{\tera\flops}"


def test_tf32_is_named_and_compared_with_tf32(values):
    assert values["mlp/card/tf32/gain"] == r"\num{8.0}\,$\times$"
    assert (
        values["mlp/card/tf32/cuda_mma/against/cublas"]
        == r"takes \num{2.0}\,$\times$ as long as \texttt{cublas} in TF32"
    )
    single = [
        (name, replace(case, sizes=case.sizes | {"dtype": "float32"}), seconds)
        for name, case, seconds in made_up_products.cases()
        if name == query.CARD and case.tuning.get("product") in ("cuda_mma", "cublas")
    ]
    table = mlp_tables.gpu(made_up_products.study(chosen=single)).splitlines()
    assert [line.partition(" & ")[0] for line in table if "float32" in line] == [
        r"\texttt{cuda\_\allowbreak{}mma}, TF32",
        r"\texttt{cublas}",
    ]


def test_a_machine_with_more_threads_is_told_beside_the_chapters(found):
    wider = [
        (name, replace(case, tuning=case.tuning | {"threads": 64}), 10 * seconds)
        for name, case, seconds in made_up_products.cases()
        if name == query.THREADS and case.tuning.get("threads") == 12
    ]
    few = [one for one in made_up_products.cases() if one[0] == query.THREADS and one[1].tuning.get("threads") == 6]
    told = numbers.numbers(made_up.both(found, made_up_products.study("wide", chosen=[*few, *wider])))
    assert (told["mlp/scaling/wide/few"], told["mlp/scaling/wide/most"]) == (r"\num{6}", r"\num{64}")
    assert told["mlp/scaling/wide/openmp/against"].startswith(r"takes \num{9.")


def test_a_rung_is_predicted_by_the_resource_that_limits_it():
    rates = Rates(products=1e11, multiply_adds=1e13, second_cache=1e11)
    row = {"workload": "gemm", "flops": 1e9}
    assert model.seconds(row | {"variant": "openmp"}, rates) == pytest.approx(0.64)
    assert model.seconds(row | {"variant": "interchanged"}, rates, 2) == pytest.approx(0.02)
    assert model.seconds(row | {"variant": "cuda_shared"}, rates) == pytest.approx(8e-4)
    assert model.seconds(row | {"variant": "cublas"}, Rates()) is None
    batch = {"workload": "mlp", "variant": "cuda", "product": "cublas", "flops": 1e12, "images": 1000, "batch": 1}
    assert model.seconds(batch | {"layers": "784-300-10"}, rates) == pytest.approx(0.01 + 8 * model.NODE)
    assert model.seconds(batch | {"variant": "pytorch"}, rates) is None


def test_figures_speak_of_the_chapters_machine_and_of_toys_where_there_is_nothing_else(found):
    host, card = query.shown(found.tables)
    assert (host.found.subject, card.sizes) == (made_up_products.MACHINE, query.SIZES)
    toy = changed(sizes=TOY, drop=lambda case: case.workload == "gemm")
    shown, _ = query.shown(toy.tables)
    assert shown.sizes[query.THREADS] == query.SIZES[query.THREADS] | TOY
    assert len(shown.training)
    assert query.shown({})[0].found.subject is None


def test_the_waterfall_has_a_ladder_of_products_on_each_device_and_one_of_the_training():
    shown = words(draw("mlp_waterfall", tables("mlp_waterfall")))
    assert {"openmp, 1 thread", "cuda_shared", "cublas, graph", "pytorch_cuda, graph"} <= set(shown)
    assert sum("time, " in text for text in shown) == 3
    assert "c_openmp, 1 thread" in shown


def test_lines_of_threads_are_named_by_the_code():
    figure = draw("mlp_scaling", tables("mlp_scaling"))
    assert [axes.get_title(loc="left").splitlines()[-1] for axes in figure.axes] == ["product", "training"]
    assert words(figure).count("interchanged") == 2


def test_a_study_of_nothing_has_tables_without_rows():
    assert all("no measurement" in text or "not tested" in text for text in mlp_tables.tables(Study({}, None)).values())
