"""What the paper says of products and of the training, of times made up by rule."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

import made_up
import made_up_products
from drawings import draw, tables, words
from ladder.report import chapters, rates, texts
from ladder.report import study as queries
from ladder.report.latex import code
from ladder.report.study import Study
from ladder.report.telling import chapter_study, functions, ladder
from ladder.report.telling import claims as chapter_claims
from ladder.report.telling.chapter_study import NotMeasured
from ladder.report.telling.lines import select
from ladder.workloads.mlp.paper import claims as mlp_claims
from ladder.workloads.mlp.paper import model, parts
from ladder.workloads.mlp.paper import tables as mlp_tables
from ladder.workloads.mlp.paper.lines import FORMS, NETWORK

TOY = {"layers": "784-30-10"}


@pytest.fixture(scope="module")
def found():
    return made_up_products.study()


@pytest.fixture(scope="module")
def study(found):
    return of(found)


@pytest.fixture(scope="module")
def ask(study):
    return functions.of_chapter(study)


def of(found):
    """The chapter's study."""
    return chapter_study.of_chapter("mlp", found)


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


def on_gpu(case):
    return "cu" in case.variant


def of_products(case):
    return case.workload == "gemm"


def claims(found):
    return {one.key: one for group in chapter_claims.verdicts(of(found)).values() for one in group}


def decided(found):
    return {key: one.answer.verdict for key, one in claims(found).items()}


def text_of(found, name="text"):
    """A text of the chapter, rendered, in one line."""
    chapter = next(one for one in chapters.chapters() if one.workload == "mlp")
    return " ".join(texts.rendered_chapter(chapter, found)[name].split())


def test_a_text_without_measurements_says_so_and_has_no_gaps():
    text = text_of(Study({}, None)) + text_of(Study({}, None), "appendix")
    assert "No machine has measured the training at its full size" in text
    assert "No training was measured to its end" in text
    assert not any(sign in text for sign in ("<<", "<%", "None", "nomeasurement"))


def test_a_whole_study_is_told_whole(found):
    text = text_of(found)
    assert not any(words in text for words in ("nomeasurement", "not measured", "No machine"))
    assert code(made_up_products.MACHINE) in text
    assert "layers of 784--300--10 units" in text
    assert r"need \qty{96}{MFLOP}" in text
    assert r"$1000 \times 300 \times 784$, needs \qty{470}{MFLOP} and moves at least \qty{11}{\mega\byte}" in text
    assert r"\num{8} dependent kernels at \qty{900}{\nano\second} each" in text


def test_what_is_not_measured_takes_no_other_sentence_along(found):
    text = text_of(changed(drop=lambda case: case.variant in ("cuda_columns", "numpy_loop")))
    assert not any(name in text for name in (r"cuda\_columns", "numpy"))
    lost = [one for one in re.split(r"(?<=[.;:]) ", text_of(found)) if one not in text]
    assert [one for one in lost if not any(word in one for word in ("columns", "numpy", "confirmed"))] == []
    assert len(lost) == 3  # with the tally of our claims


def test_the_claims_are_decided_as_the_times_say(found):
    verdicts = decided(found)
    assert len(verdicts) == 21
    others = {"shared": "weaker", "shared/tn": "weaker", "tf32": "refuted"}
    assert {key: verdict for key, verdict in verdicts.items() if verdict != "confirmed"} == others


def test_toy_sizes_decide_nothing_of_the_training():
    toy = changed(sizes=TOY, drop=of_products)
    assert set(decided(toy).values()) == {"not tested"}
    assert "No claim of table" in text_of(toy)
    assert {one.subject for one in of(toy).machines.values()} == {None}


def test_the_share_of_products_is_that_of_the_claims_network_by_plain_loops_on_one_thread():
    """A toy network beside it, of which products are 60 %, has no say."""
    assert decided(changed(share=0.96))["share"] == "weaker"
    toy = changed(sizes=TOY, share=0.6)
    both = made_up.both(made_up_products.study("there"), replace(toy, subject="here"))
    assert claims(both)["share"].answer.verdict == "confirmed"
    assert claims(both)["share"].cause == r"\qty{99.5}{\percent}; with \texttt{blas} \qty{85}{\percent}"
    assert functions.of_chapter(of(both))["share_of_products"]("openmp", 1, 3) == r"\qty{99.5}{\percent}"


def test_without_the_copies_the_gpu_is_ahead(study, ask):
    copied = mlp_claims.with_copies(study, mlp_claims.FEW_IMAGES)
    blas = study.rows(mlp_claims.on("blas", 12))
    assert queries.middle(copied) == pytest.approx(queries.middle(blas), rel=0.01)
    assert ask["copies"]() == r"\qty{2.0}{\milli\second}"
    with pytest.raises(NotMeasured):
        mlp_claims.with_copies(study, mlp_claims.on("blas", 12))
    fast = changed(factor=lambda case: 0.1 if case.tuning.get("product") == "cublas" else 1)
    assert decided(fast)["transfers"] == "refuted"


def test_more_threads_that_help_refute_that_time_levels_off():
    faster = changed(factor=lambda case: 12 / (case.tuning.get("threads") or 12) if case.variant == "host" else 1)
    assert [decided(faster)[key] for key in ("levels-off", "worse")] == ["refuted"] * 2


def test_the_chapter_speaks_of_one_machine_if_one_has_both_host_and_gpu():
    own = changed(drop=on_gpu, machine="here")
    both = made_up.both(made_up_products.study("there (published)"), own)
    assert [of(own).machine(role).subject for role in ("host", "card")] == ["here", None]
    assert [of(both).machine(role).subject for role in ("host", "card")] == ["there (published)"] * 2


def test_phases_that_do_not_add_up_to_the_call_are_no_decomposition(study):
    bars = {label: known for label, _, known in parts.by_graph(study)}
    assert [label for label, known in bars.items() if known] == ["cuda_naive, one by one", "cuda_shared, one by one"]
    assert sum(bars["cuda_naive, one by one"].values()) == pytest.approx(125e-6, rel=0.01)
    assert len(bars) == 10


def test_launched_one_by_one_the_best_products_make_a_slower_training(ask):
    shared, cublas = ([select(f"training/{name}", graph=graph) for graph in ("off", "on")] for name in LAUNCHED)
    assert ask["speedup"](cublas[0], shared[0]).startswith(r"\num{1.4}")
    assert ask["speedup"](shared[1], cublas[1]).startswith(r"\num{2.2}")
    assert ask["operations"](cublas[0]) == r"\qty{36}{\micro\second}"
    assert ask["time"]("training/cublas") == r"\qty{36}{\micro\second}"  # of a batch
    assert ask["speedup"]("pytorch_cuda", "training/cuda_mma").startswith(r"\num{3.0}")
    assert ask["claimed_ratio"]("graph").startswith(r"\num{3.3}")


LAUNCHED = ("cuda_shared", "cublas")


def test_shared_memory_is_told_and_decided_by_the_form_of_the_product(found, ask):
    assert claims(found)["shared/nt"].cause == r"naive time over that of \texttt{nn}: \num{8.0}\,$\times$"
    gains = [ask["speedup"](select("cuda_naive", form), select("cuda_shared", form)) for form in FORMS]
    assert [float(re.search(r"[\d.]+", gain)[0]) for gain in gains] == pytest.approx([1.5, 1.65, 12], rel=0.05)
    first = decided(changed(drop=lambda case: case.sizes.get("form") in ("tn", "nt")))
    assert [first[key] for key in ("shared", "shared/tn", "shared/nt")] == ["weaker", "not tested", "not tested"]


def test_peers_are_told_in_larger_batches_too(found):
    causes = {key: one.cause for key, one in claims(found).items()}
    assert causes["peer/pytorch"] == r"in batches of \num{1000}: \num{1.0}\,$\times$"
    assert causes["peer/numpy_loop"] == r"in batches of \num{1000}: \num{1.3}\,$\times$"
    fewer = changed(drop=lambda case: case.variant == "pytorch" and case.threads == 2)
    assert decided(fewer)["peer/pytorch"] == "not tested"  # not on as many threads


def test_every_training_of_the_ladder_says_on_how_many_threads_or_that_it_is_a_graph(study):
    table = ladder.table(study).replace(r"\allowbreak{}", "")
    shown = [line.partition(" & ")[0].replace(r"\texttt", "") for line in table.splitlines()]
    assert shown[-9:-2] == [
        "{host}, {tiled}, 2 threads",
        "{host}, {blas}, 12 threads",
        "{host}, {blas}, 24 threads",
        r"{cuda}, {cuda\_mma}, {graph}",
        r"{numpy\_loop}, 2 threads",
        "{pytorch}, 2 threads",
        r"{pytorch\_cuda}, {graph}",
    ]
    assert table.count(r"\midrule") == 3  # two between groups
    fewer = changed(drop=lambda case: case.tuning.get("threads", 0) > 12)
    assert ladder.table(of(fewer)).count("12 threads") == 1


def test_few_rows_of_a_product_are_told_beside_many(ask):
    assert ask["rate"](select("cublas", "rows", m=100), "flops") == r"\qty{4.7}{\tera\flops}"
    assert ask["rate"](select("cublas", "rows", m=60000), "flops") == r"\qty{47}{\tera\flops}"


def test_tf32_is_named_and_compared_with_tf32(ask):
    assert ask["speedup"](select("cublas", "single"), "tf32/cublas") == r"\num{8.0}\,$\times$"
    assert ask["speedup"]("tf32/cuda_mma", "tf32/cublas") == r"\num{2.0}\,$\times$"
    single = [
        (name, replace(case, sizes=case.sizes | {"dtype": "float32"}), seconds)
        for name, case, seconds in made_up_products.cases()
        if name == "mlp_gpu" and case.tuning.get("product") in ("cuda_mma", "cublas")
    ]
    alone = made_up_products.study(chosen=single)
    table = mlp_tables.gpu(SimpleNamespace(machine=lambda role: alone)).splitlines()
    assert [line.partition(" & ")[0] for line in table if "float32" in line] == [
        r"\texttt{cuda\_\allowbreak{}mma}, TF32",
        r"\texttt{cublas}",
    ]


def test_a_machine_with_more_threads_is_told_beside_the_chapters(found):
    wider = [
        (name, replace(case, tuning=case.tuning | {"threads": threads}), factor * seconds)
        for name, case, seconds in made_up_products.cases()
        for threads, factor in ((6, 1), (64, 10))
        if name == "mlp_threads" and case.tuning.get("threads") == 12
    ]
    text = text_of(made_up.both(found, made_up_products.study("wide", chosen=wider)))
    assert r"\num{6} threads and \qty{2.6}{\milli\second} on \num{64}" in text
    assert "No counter separates" in text
    assert "No counter separates" not in text_of(found)


def test_a_rung_is_predicted_by_the_resource_that_limits_it(monkeypatch):
    monkeypatch.setattr(rates, "products", lambda found, precision, threads=None, device="host": 1e11)
    monkeypatch.setattr(rates, "multiply_adds", lambda *given: 1e13)
    host = {"workload": "gemm", "flops": 1e9, "device": "host", "dtype": "float64", "threads_found": 2}
    gpu = host | {"device": "cuda", "precision": "float64"}
    assert model.predict(None, host | {"variant": "openmp"}) == pytest.approx(0.64)
    assert model.predict(None, host | {"variant": "interchanged"}) == pytest.approx(0.02)
    assert model.predict(None, gpu | {"variant": "cuda_shared"}) == pytest.approx(8e-4)
    assert model.predict(None, gpu | {"variant": "cuda_tiled"}) == pytest.approx(1e-4)
    batch = gpu | {"workload": "mlp", "variant": "cuda", "product": "cublas", "flops": 1e12, "images": 1000, "batch": 1}
    assert model.predict(None, batch | NETWORK) == pytest.approx(0.01 + 8 * model.NODE)
    assert model.predict(None, batch | {"variant": "pytorch"}) is None
    monkeypatch.setattr(rates, "products", lambda *given: None)
    assert model.predict(None, gpu | {"variant": "cublas"}) is None


def test_the_waterfall_has_a_ladder_of_products_on_each_device_and_one_of_the_training():
    shown = words(draw("mlp_waterfall", tables("mlp_waterfall")))
    lines = {"openmp, 1 thread", "c_openmp, 1 thread", "cuda_shared", "cublas, graph", "pytorch_cuda, graph"}
    assert lines <= set(shown)
    assert sum("time, " in text for text in shown) == 3


def test_lines_of_threads_are_named_by_the_code():
    assert words(draw("mlp_scaling", tables("mlp_scaling"))).count("interchanged") == 2


def test_a_study_of_nothing_has_tables_without_rows():
    empty = of(Study({}, None))
    assert all("no measurement" in getattr(mlp_tables, name)(empty) for name in ("peers", "gpu", "compared"))
