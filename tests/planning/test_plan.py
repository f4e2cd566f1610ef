"""Plans: the cases of a configuration, and which are skipped for which reason."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from ladder.catalogue import locations, published, setup_arguments, soundness, sources, workloads
from ladder.errors import LadderError
from ladder.harness import preconditions
from ladder.planning import configuration, plan
from ladder.planning.targets import Target
from ladder.records.case import Case
from ladder.verbs.arguments import read_plan

SMALL = {"m": 1, "n": 1, "k": 1}


def experiment_of(variants, sizes=SMALL, workload="gemm", **options):
    return {"question": "?", "workload": workload, "sizes": sizes, "variants": variants} | options


def plan_experiment(variants, cores=2, peers=True, **options):
    """The plan of an experiment on this machine with this number of cores."""
    config = {"peers": peers, "experiments": {"one": experiment_of(variants, **options)}}
    return plan.plan(configuration.validate(config), {"cpu": Target("here", cores=cores)})


def refusal_of(variants, **options):
    """The error of a refused experiment."""
    with pytest.raises(LadderError, match="The experiment 'one' can't be planned: ") as error:
        plan_experiment(variants, **options)
    return str(error.value)


@pytest.fixture
def write_variant(monkeypatch, tmp_path):
    """A function that writes a variant of gemm to a variant folder; names must differ, since each is read once."""
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path))

    def write(name, text):
        (tmp_path / "gemm").mkdir(exist_ok=True)
        (tmp_path / "gemm" / f"{name}.py").write_text(text)
        return name

    yield write
    sources.clear_caches()


def test_an_unknown_device_is_refused_with_the_list_of_devices(write_variant):
    name = write_variant(
        "elsewhere", 'DEVICE = "cpu"\nRUNTIME = "numba"\n\n\ndef setup(problem, *, threads: int): return problem\n'
    )
    with pytest.raises(
        LadderError, match=r"`DEVICE` in line \d+ of .*elsewhere.py is 'cpu': it must be one of host, cuda, mpi, "
    ):
        plan_experiment({name: {"threads": 1}})
    case = Case("gemm", name, workloads.complete("gemm", SMALL), {"threads": 1})
    with pytest.raises(LadderError, match=r"elsewhere.py is 'cpu': it must be"):
        preconditions.require_preconditions(case, None)


def test_a_variant_that_is_not_utf8_is_refused_by_name(write_variant, tmp_path):
    name = write_variant("latin", "")
    (tmp_path / "gemm/latin.py").write_bytes('DEVICE = "host"  # f\xfcr'.encode("latin-1"))
    case = Case("gemm", name, workloads.complete("gemm", SMALL), {"threads": 1})
    for run in (lambda: locations.set_variant_folders([tmp_path]), lambda: soundness.require_sound(case)):
        with pytest.raises(LadderError, match=r"gemm/latin.py isn't text in UTF-8"):
            run()


def test_every_combination_is_one_case():
    sizes = {"form": ["nn", "tn", "nt"], "m": [1, 17], "n": 65, "k": 1}
    items = plan_experiment(
        {"blas": {"threads": [1, 2]}, "openmp": {"threads": 1}}, sizes=sizes, cache=["cold", "warm"]
    )
    assert len({item.case.key for item in items}) == len(items) == 3 * 2 * 2 * (2 + 1)


def plan_two(first_protocol, second_protocol, **general_protocol):
    """The plan of two experiments that share a case; each has changes of the general protocol."""
    first_experiment, second_experiment = (
        experiment_of({"blas": {"threads": [1, 2]}}),
        experiment_of({"blas": {"threads": 1}}),
    )
    config = {
        "protocol": general_protocol,
        "experiments": {
            "one": first_experiment | {"protocol": first_protocol},
            "other": second_experiment | {"protocol": second_protocol},
        },
    }
    return plan.plan(configuration.validate(config), {"cpu": Target("here", cores=2)})


def test_the_protocol_of_an_experiment_overrides_the_general_one():
    general_protocol = {"cap": 7, "most": 90}
    items = plan_two({"cap": 60, "energy": True}, {"energy": True, "cap": 60}, **general_protocol)
    expected = configuration.protocol(general_protocol | {"cap": 60, "energy": True})
    assert [item.protocol for item in items] == [expected] * 3
    assert [item.protocol for item in plan_two({}, {}, **general_protocol)] == [
        configuration.protocol(general_protocol)
    ] * 3


def test_a_case_under_two_protocols_is_refused():
    with pytest.raises(LadderError) as error:
        plan_two({"cap": 5, "most": 20}, {"most": 30})
    assert str(error.value).startswith("The experiments 'one' and 'other' both have the case gemm/blas/form=nn,m=1,")
    assert "under protocols that differ in cap, most: " in str(error.value)
    assert len(plan_two({"cap": 60}, {}, cap=60)) == 3, "the merged protocols are the same"


def test_a_protocol_s_keys_are_checked_in_an_experiment_too():
    for wrong in ({"samplez": 3}, {"samples": 0}, {"energy": "yes"}):
        with pytest.raises(LadderError, match=r"is wrong at experiments\.one\.protocol"):
            plan_two(wrong, {})


def test_sizes_and_tunings_may_be_lists_of_grids():
    sizes = [{"m": 1, "n": 1, "k": [1, 2]}, {"m": 5, "n": 5, "k": 5}]
    items = plan_experiment({"blas": [{"threads": 1}, {"threads": [2, 4]}]}, sizes=sizes)
    assert len(items) == 3 * 3


def test_duplicate_cases_are_planned_once():
    items = plan_experiment({"blas": [{"threads": [1, 1, 2]}, {"threads": 1}]}, sizes=[SMALL, SMALL | {"form": "nn"}])
    assert len(items) == 2


def test_defaults_are_in_the_slug():
    (item,) = plan_experiment({"blas": {"threads": 1}})
    assert item.case.slug == "form=nn,m=1,n=1,k=1,dtype=float64,source=random,seed=1,cache=cold,threads=1"
    (item,) = plan_experiment({"blas": {"threads": 1}}, sizes=dict(reversed(SMALL.items())))
    assert item.case.slug.startswith("form=nn,m=1,n=1,k=1,")


def reasons(items):
    """Why each case is skipped, as a sentence, or None."""
    return [item.skip_reason and str(item.skip_reason) for item in items]


def test_cases_with_more_threads_than_cores_are_skipped():
    items = plan_experiment({"blas": {"threads": [1, 2, 3]}}, cores=2)
    assert reasons(items) == [None, None, "needs 3 cores, 2 available"]


def test_cases_without_their_library_or_program_are_skipped(write_variant):
    library = write_variant(
        "needs_library", 'DEVICE = "host"\nRUNTIME = "blas"\nREQUIRES = ("no_such_library",)\ndef setup(p): return 1'
    )
    program = write_variant(
        "needs_program", 'DEVICE = "host"\nRUNTIME = "blas"\nPROGRAMS = ("no-such-program",)\ndef setup(p): return 1'
    )
    items = plan_experiment({library: {}, program: {}})
    expected = ["no_such_library is not installed", "the program no-such-program is not installed"]
    assert reasons(items) == expected


@pytest.mark.parametrize(
    ("missing", "reason_here", "reason_on_cluster"),
    [
        ("cupy", "cupy is not installed: `make setup GPU=1` installs it", None),
        ("torch", "torch is not installed", "torch is not installed"),
    ],
)
def test_a_cluster_needs_no_cupy_on_the_planning_machine(monkeypatch, missing, reason_here, reason_on_cluster):
    monkeypatch.setattr(plan, "is_installed", lambda library: library != missing)
    sizes = workloads.complete("mlp", {"images": 1, "batch": 1, "epochs": 1, "rate": 1.0})
    case = Case("mlp", "pytorch_cuda", sizes, {})
    for target, expected in (
        (Target("here", cores=2, gpus=1), reason_here),
        (Target("there", cores=2, gpus=1, slurm_resources={"nodes": 1}), reason_on_cluster),
    ):
        reason = plan.skip_reason(case, peers=True, target=target)
        assert (reason and str(reason)) == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ('{"form": ("nn",)}', [None, "takes form nn only"]),
        ('{"form": ("nt", "nn")}', [None, "takes form nt or nn only"]),
        ('{"m": (2, 4)}', ["takes m from 2 to 4 only"] * 2),
        ('{"way": ("near",)}', ["takes way near only"] * 2),
        ('{"threads": (1, 1), "k": (1, 9), "way": ("near", "far")}', [None, None]),
    ],
)
def test_cases_beyond_the_limits_of_a_variant_are_skipped(write_variant, limits, expected):
    text = f"LIMITS = {limits}\ndef setup(problem, *, threads: int, way: str): return 1"
    name = write_variant(f"limited_{len(limits)}", f'DEVICE = "host"\nRUNTIME = "blas"\n{text}')
    items = plan_experiment({name: {"threads": 1, "way": "far"}}, sizes=SMALL | {"form": ["nn", "tn"]})
    assert reasons(items) == [sentence and f"gemm/{name} {sentence}" for sentence in expected]


def test_peers_can_be_switched_off():
    sizes = {"images": 10, "batch": 5, "epochs": 1, "rate": 0.5}
    variants = {"host": {"product": "blas", "threads": 1}, "numpy_loop": {"threads": 1}}
    items = plan_experiment(variants, sizes=sizes, workload="mlp", peers=False)
    assert reasons(items) == [None, "peers are switched off"]
    assert reasons(plan_experiment(variants, sizes=sizes, workload="mlp")) == [None, None]


def test_a_training_without_its_product_is_skipped(write_variant):
    name = write_variant(
        "needs_much", 'DEVICE = "host"\nRUNTIME = "blas"\nREQUIRES = ("no_such_library",)\ndef setup(p): return 1'
    )
    sizes = {"images": 10, "batch": 5, "epochs": 1, "rate": 0.5}
    (item,) = plan_experiment({"host": {"product": name, "threads": 1}}, sizes=sizes, workload="mlp")
    assert str(item.skip_reason) == "no_such_library is not installed"


def test_a_training_in_another_dtype_than_its_product_takes_is_skipped(write_variant):
    limits = 'LIMITS = {"dtype": ("float64",), "m": (1, 1)}'  # `m` isn't a size of a training
    name = write_variant("double", f'DEVICE = "host"\nRUNTIME = "blas"\n{limits}\ndef setup(p): return 1')
    sizes = {"images": 10, "batch": 5, "epochs": 1, "rate": 0.5, "dtype": ["float64", "float32"]}
    items = plan_experiment({"host": {"product": name, "threads": 1}}, sizes=sizes, workload="mlp")
    assert reasons(items) == [None, f"gemm/{name} takes dtype float64 only"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"workload": "gemw"}, "There is no workload 'gemw': choose one of backprop, "),
        ({"variants": {"absent": {"threads": 1}}}, "There is no variant 'absent' of gemm"),
        ({"variants": {"reference": {}}}, "There is no variant 'reference' of gemm"),
        ({"sizes": {"m": 1, "n": 1}}, "gemm needs a value for its size 'k'"),
        ({"sizes": SMALL | {"depth": 1}}, "gemm has no size named depth"),
        ({"sizes": SMALL | {"m": 0}}, "m=0 of gemm must be a whole number of at least 1"),
        ({"sizes": SMALL | {"m": 1.0}}, "m=1.0 of gemm must be a whole number"),
        ({"sizes": SMALL | {"form": "tt"}}, "form='tt' of gemm must be one of nn, tn, nt"),
        ({"sizes": SMALL | {"k": 785, "source": "mnist"}}, "An image has 784 pixels"),
        (
            {"variants": {"blas": {"threads": 1, "blocks": 3}}},
            "gemm/blas has no tuning named blocks: it takes threads.",
        ),
        ({"variants": {"blas": {}}}, "gemm/blas needs a value for its tuning 'threads': it takes threads."),
        ({"variants": {"blas": {"threads": 0}}}, "threads=0 of gemm/blas must be a whole number of at least 1"),
        ({"variants": {"blas": {"threads": 1.5}}}, "threads=1.5 of gemm/blas must be a whole number"),
        ({"variants": {"blas": {"threads": "all"}}}, "threads='all' of gemm/blas must be a whole number"),
    ],
)
def test_impossible_cases_are_refused_when_planning(options, sentence):
    assert sentence in refusal_of(**{"variants": {"blas": {"threads": 1}}} | options)


@pytest.mark.parametrize(
    ("tuning", "sentence"),
    [
        ({"threads": 1}, "mlp/host needs a value for its tuning 'product'"),
        ({"threads": 1, "product": 5}, "product=5 of mlp/host must be a word"),
        ({"threads": 1, "product": "absent"}, "There is no variant 'absent' of gemm"),
    ],
)
def test_a_training_needs_a_product_that_exists(tuning, sentence):
    sizes = {"images": 10, "batch": 5, "epochs": 1, "rate": 0.5}
    assert sentence in refusal_of({"host": tuning}, sizes=sizes, workload="mlp")


@pytest.mark.parametrize("graph", ["yes", "ON"])
def test_a_tuning_of_words_has_one_of_its_words(graph):
    sizes = {"images": 10, "batch": 5, "epochs": 1, "rate": 0.5}
    message = refusal_of({"cuda": {"product": "cublas", "graph": graph}}, sizes=sizes, workload="mlp")
    assert f"graph={graph!r} of mlp/cuda must be one of off, on." in message


def test_tunings_with_a_default_may_be_omitted(write_variant):
    text = 'DEVICE = "host"\nRUNTIME = "blas"\ndef setup(problem, *, share: float = 0.5, threads: int = 1): return 1\n'
    name = write_variant("has_defaults", text)
    assert len(plan_experiment({name: [{}, {"threads": 2}, {"share": 1}, {"share": 0.25}]})) == 4
    assert "share='a' of gemm/has_defaults must be a number" in refusal_of({name: {"share": "a"}})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def setup(:", "isn't valid Python: "),
        ('RUNTIME = "blas"\ndef setup(problem): return 1', 'add DEVICE = "host"'),
        ('DEVICE = "host"\ndef setup(problem): return 1', "doesn't say whose threads it uses"),
        ('DEVICE = "host"\nRUNTIME = "blas"', "has no function `setup`"),
    ],
)
def test_a_file_that_is_no_variant_is_refused_when_planning(write_variant, text, sentence):
    assert sentence in refusal_of({write_variant("broken", text): {}})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('LIMITS = {"m": 5}\ndef setup(p): return 1', "it must be a mapping of sizes or tunings to"),
        ('LIMITS = {"m": ("a", "b")}\ndef setup(p): return 1', "gemm/wrongly defines its constants"),
        ('LIMITS = {"none": (1, 1)}\ndef setup(p): return 1', "neither a size of its workload nor one of its tunings"),
        ('REQUIRES = (".relative",)\ndef setup(p): return 1', "gemm/wrongly defines its constants"),
        ("PROGRAMS = (1,)\ndef setup(p): return 1", "is (1,): it must be names in a tuple"),
        ('USES = ("gemm",)\ndef setup(p): return 1', "is ('gemm',): it must be a mapping of strings to strings"),
        ('USES = {"other": "gemm"}\ndef setup(p): return 1', "names 'other', which is none of its tunings"),
        ('ENVIRONMENT = {"X": "{nope}"}\ndef setup(p): return 1', "names 'nope', which is none of its tunings"),
        ("def setup(p, *, way: Literal[WORDS] = 1): return 1", "uses 'Literal', which is not defined"),
    ],
)
def test_wrong_constants_are_refused_with_the_name_of_the_variant(write_variant, text, reason):
    name = write_variant("wrongly", f'DEVICE = "host"\nRUNTIME = "blas"\n{text}')
    refusal = refusal_of({name: {"way": "a"} if "way" in text else {}})
    assert reason in refusal
    assert "wrongly" in refusal


def test_cases_without_a_submodule_of_a_library_are_skipped(write_variant):
    name = write_variant(
        "needs_part", 'DEVICE = "host"\nRUNTIME = "blas"\nREQUIRES = ("no_such.part",)\ndef setup(p): return 1'
    )
    assert reasons(plan_experiment({name: {}})) == ["no_such.part is not installed"]


def test_folders_and_broken_links_are_no_variants(write_variant, tmp_path):
    name = write_variant("edited", 'DEVICE = "host"\nRUNTIME = "blas"\ndef setup(p): return 1')
    (tmp_path / "gemm/.#edited.py").symlink_to("somebody@host.1")  # an editor's lock
    (tmp_path / "gemm/folder.py").mkdir()
    locations.set_variant_folders([tmp_path])
    assert name in workloads.variants("gemm")
    assert len(plan_experiment({name: {}})) == 1


def test_planning_runs_no_variant(write_variant):
    name = write_variant(
        "explodes", 'DEVICE = "host"\nRUNTIME = "blas"\ndef setup(problem): return 1\nraise ValueError("imported")\n'
    )
    assert len(plan_experiment({name: {}})) == 1


@pytest.mark.parametrize("workload", workloads.names())
def test_every_variant_declares_its_threads_ranks_and_libraries(workload):
    for name in workloads.variants(workload):
        constants, tunings = workloads.constants(workload, name), setup_arguments.tunings(workload, name)
        if constants["DEVICE"] == "host":
            # A tuning is (its type, whether it is required). Serial variants have no threads.
            assert tunings.get("threads", ("int", True)) == ("int", True)
            continue
        assert constants["DEVICE"] in ("cuda", "mpi", "mpi_cuda", "offload")
        if "mpi" in constants["DEVICE"]:
            assert tunings["ranks"] == ("int", True)
            assert "mpi4py" in constants["REQUIRES"]
        if "cuda" in constants["DEVICE"]:
            assert "cupy" in constants["REQUIRES"]
            assert "threads" not in tunings


def test_a_gpu_case_is_skipped_without_a_gpu(monkeypatch):
    monkeypatch.setattr(plan, "is_installed", lambda library: True)
    config = {
        "experiments": {
            "one": {
                "question": "?",
                "workload": "gemm",
                "sizes": {"form": "nn", "m": 1, "n": 1, "k": 1},
                "variants": {"cublas": {}},
            }
        }
    }
    for gpus, reason in ((0, "needs a GPU, none available"), (1, None)):
        targets = {"cpu": Target("here", cores=2, gpus=gpus)}
        assert set(reasons(plan.plan(configuration.validate(config), targets))) == {reason}


def test_the_order_is_shuffled_and_reproducible():
    keys = [f"gemm/blas/k={k}" for k in range(100)]
    shuffled = plan.shuffle_keys(keys)
    assert shuffled == plan.shuffle_keys(reversed(keys)) == plan.shuffle_keys(set(keys))
    assert shuffled[:1] == ["gemm/blas/k=69"]  # so in every process: the keys seed the order
    assert sorted(shuffled) == sorted(keys) != shuffled


def test_planning_5000_cases_parses_every_file_once(monkeypatch):
    parsed = []
    parse = workloads.ast.parse
    sources.clear_caches()
    monkeypatch.setattr(workloads.ast, "parse", lambda *arguments: parsed.append(arguments) or parse(*arguments))
    items = plan_experiment(
        {"blas": {"threads": [1, 2]}}, sizes={"m": list(range(1, 51)), "n": 1, "k": list(range(1, 51))}
    )
    assert len({item.case.key for item in items}) == 5000
    assert len(parsed) == len({text for text, *_ in parsed})


def test_without_measuring_cases_without_a_record_are_skipped(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    items = plan_experiment({"blas": {"threads": [1, 2, 3]}})
    assert plan.skip_unmeasured(items) == []
    path = Path(plan.record.path_of("here", items[0].case.key))
    path.parent.mkdir(parents=True)
    path.touch()
    expected = [None, "not measured", "needs 3 cores, 2 available"]
    assert reasons(plan.skip_unmeasured(items)) == expected


def test_the_document_of_a_plan_changes_only_with_the_plan():
    fewer, more = plan_experiment({"blas": {"threads": 1}}), plan_experiment({"blas": {"threads": [1, 3]}})
    document = plan.document(more, "one")
    assert [case["key"] for case in document["cases"]] == [item.case.key for item in more]
    assert [case["left_out"] for case in document["cases"]] == [None, "needs 3 cores, 2 available"]
    assert plan.document(fewer, "one") != document
    assert plan.document(fewer, "one") == plan.document(plan_experiment({"blas": {"threads": 1}}), "one")


def test_an_edit_of_a_cases_code_changes_its_plan(monkeypatch):
    items = plan_experiment({"blas": {"threads": 1}})
    before = plan.document(items, "one")
    monkeypatch.setattr(plan.sources, "fingerprint", lambda case: "edited")
    assert plan.document(items, "one") != before


def test_published_machines_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results/published"
    folder.mkdir(parents=True)
    (folder / "box").mkdir()
    (folder / "box/machine.json").touch()
    (folder / "empty").mkdir()
    cpu = {"Model name": "a CPU", "Vector units": "none"}
    description = {"system": "Linux", "python": "3", "cpu": cpu, "cores": 1, "memory": 1, "cache_bytes": 1, "gpus": []}
    for campaign, machine in {"a": "box", "b": "other"}.items():
        (folder / "campaigns" / campaign).mkdir(parents=True)
        document = {"machine": machine, "description": description | {"libraries": {}}, "campaign": {"name": campaign}}
        (folder / "campaigns" / campaign / "machine.json").write_text(json.dumps(document))
    assert plan.published_names(["all"]) == ["box", "campaigns/a", "campaigns/b"]
    assert plan.published_names(["box"]) == ["box", "campaigns/a"]
    assert plan.published_names(["other"]) == ["campaigns/b"]
    assert plan.published_names(["none"]) == []
    measured_here = tmp_path / "results/campaigns/b"
    measured_here.mkdir(parents=True)
    assert plan.published_names(["none"]) == []
    (measured_here / "campaign.json").touch()
    assert plan.published_names(["none"]) == ["campaigns/b"]
    assert plan.published_names(["box"]) == ["box", "campaigns/a", "campaigns/b"]
    with pytest.raises(LadderError, match="No measurements are published for empty; results/published has box"):
        plan.published_names(["box", "empty"])
    monkeypatch.setenv(published.PROJECT_VARIABLE, str(tmp_path))
    (tmp_path / "own/results/published/box").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "own")
    Path("results/published/box/machine.json").touch()
    assert plan.published_names(["all"]) == ["box", "campaigns/a", "campaigns/b"]
    assert published.path_of("box/machine.json") == Path("results/published/box/machine.json")
    assert published.path_of("campaigns/a") == Path("../results/published/campaigns/a")
    assert published.path_of("nowhere") == Path("results/published/nowhere")


def test_variables_of_the_configuration_are_part_of_the_case():
    config = {
        "environment": {"NUMBA_OPT": [0, 3], "ANY": "/a b,c"},
        "experiments": {
            "general": experiment_of({"blas": {"threads": 1}}),
            "own": experiment_of({"blas": {"threads": 1}}, environment={"NUMBA_OPT": "1"}),
        },
    }
    items = plan.plan(configuration.validate(config), {"cpu": Target("here", cores=2)})
    assert [item.case.variables["NUMBA_OPT"] for item in items] == ["0", "3", "1"]
    slugs = [item.case.slug for item in items]
    assert [slug.partition(",threads=1,")[2] for slug in slugs] == [
        f"ANY=%2Fa%20b%2Cc,NUMBA_OPT={n}" for n in (0, 3, 1)
    ]
    assert [Case.parse("gemm", "blas", slug) for slug in slugs] == [item.case for item in items]


@pytest.mark.parametrize("variables", [{"omp_places": "cores"}, {"A": True}, {"A": 1.5}, {"A": []}, {"A": {"b": "c"}}])
def test_variables_are_names_in_capitals_and_texts(variables):
    with pytest.raises(LadderError, match="The configuration is wrong at environment"):
        configuration.validate({"environment": variables, "experiments": {}})


def test_a_variable_that_the_harness_sets_is_refused_when_planning():
    assert "OMP_NUM_THREADS can't be named" in refusal_of({"blas": {"threads": 1}}, environment={"OMP_NUM_THREADS": 1})


def test_a_record_counts_only_for_its_machine(monkeypatch, tmp_path):
    """CPU and GPU cases may run on different machines, whose records are in the same folder."""
    monkeypatch.chdir(tmp_path)
    first, second = plan_experiment({"blas": {"threads": [1, 2]}})
    item_here, item_there = (replace(first, machine=name) for name in ("here", "there"))
    path = Path(plan.record.path_of("there", first.case.key))
    path.parent.mkdir(parents=True)
    path.touch()
    items = [item_here, item_there, replace(second, machine="there")]
    assert reasons(plan.skip_unmeasured(items)) == ["not measured", None, "not measured"]
    document = plan.document([item_here, replace(second, machine="there", skip_reason="why")], "one")["cases"]
    assert [(case["key"], case["machine"], case["left_out"]) for case in document] == [
        (first.case.key, "here", None),
        (second.case.key, "there", "why"),
    ]
    assert [case["sources"] for case in document] == [sources.fingerprint(item.case) for item in (first, second)]


def test_a_plan_with_a_changed_byte_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    document = plan.document(plan_experiment({"blas": {"threads": 1}}), "one")
    for text in (json.dumps(document), json.dumps({name: document[name] for name in ("experiment", "cases")})):
        path.write_text(text, encoding="utf-8")
        assert read_plan(path)["cases"] == document["cases"]
    path.write_text(json.dumps(document).replace("threads=1", "threads=3"), encoding="utf-8")
    with pytest.raises(LadderError, match=r"plan.json doesn't match its digest: the file has changed"):
        read_plan(path)


def test_a_case_has_its_own_fingerprint_in_the_plan():
    cases = plan.document(plan_experiment({"blas": {"threads": 1}, "openmp": {"threads": 1}}), "one")["cases"]
    assert len({case["sources"] for case in cases}) == 2


@pytest.mark.parametrize(("hidden_layers", "max_bytes", "fits"), [(34, 255, False), (8, 255, True), (8, 143, False)])
def test_a_case_with_a_too_long_name_is_skipped_and_no_other(monkeypatch, hidden_layers, max_bytes, fits):
    """Most file systems allow names of 255 bytes, eCryptfs of 143; the slug has 4 bytes for each hidden layer."""
    limits = {"PC_NAME_MAX": max_bytes, "PC_PATH_MAX": 4096}
    monkeypatch.setattr(os, "pathconf", lambda path, name: limits[name])
    sizes = {"layers": f"784-{'100-' * hidden_layers}10", "images": 40, "batch": 20, "epochs": 1, "rate": 0.5}
    training = experiment_of({"host": {"product": "blas", "threads": 1}}, sizes, "mlp")
    config = {"experiments": {"deep": training, "other": experiment_of({"blas": {"threads": 1}})}}
    deep, other = plan.plan(configuration.validate(config), {"cpu": Target("here", cores=2)})
    assert other.skip_reason is None
    assert (deep.skip_reason is None) == fits
    assert fits or f"allows names of at most {max_bytes} bytes, and .layers=784-100-" in str(deep.skip_reason)
    assert plan.skip_unmeasured([deep, other]) == []


def test_unusable_folders_and_too_long_names_are_refused(monkeypatch, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("LADDER_VARIANTS", "")
    for folder in ("x" * 3000, tmp_path / "loop"):
        with pytest.raises(LadderError, match="There is no folder"):
            locations.set_variant_folders([folder])
    assert "There is no workload" in refusal_of({"blas": {}}, workload="x" * 3000)
    assert "There is no variant" in refusal_of({"x" * 3000: {}})
    with pytest.raises(LadderError, match="too long"):
        configuration.validate({"experiments": {"x" * 101: experiment_of({"blas": {}})}})
