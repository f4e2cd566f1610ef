"""Configurations: laid over each other, checked in every place, defaults filled in."""

import copy
import datetime
import math

import pytest
import yaml

from conftest import ROOT
from ladder.errors import LadderError
from ladder.planning import configuration, plan
from ladder.planning.places import Place

ONE = {
    "question": "?",
    "workload": "gemm",
    "sizes": {"m": 1, "n": [1, 2], "k": 1},
    "variants": {"blas": {"threads": 1}, "openmp": [{"threads": 1}, {"threads": [2, 4]}]},
}


def with_one(**changes):
    return {"experiments": {"one": copy.deepcopy(ONE) | changes}}


def refused(config):
    with pytest.raises(LadderError) as error:
        configuration.checked(config)
    return str(error.value)


def test_defaults_are_filled_in_and_the_input_is_left_alone():
    given = with_one()
    before = copy.deepcopy(given)
    config = configuration.checked(given)
    assert given == before
    assert (config["machine"], config["cores"], config["measure"], config["peers"]) == ("auto", "auto", True, True)
    assert config["protocol"]["processes"] == 3
    assert config["experiments"]["one"] == ONE


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"colour": 1, "experiments": {}}, "the top level"),
        ({"protocol": {"colour": 1}, "experiments": {}}, "protocol"),
        (with_one(colour=1), "experiments.one"),
    ],
)
def test_unknown_keys_are_refused_with_their_place(config, place):
    said = refused(config)
    assert f"wrong at {place}: " in said
    assert "'colour'" in said


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({}, "the top level"),
        ({"experiments": []}, "experiments"),
        ({"experiments": {"one": 1}}, "experiments.one"),
        ({"experiments": {"One": None}}, "experiments"),
        ({"experiments": {1: None}}, "experiments"),
        ({"experiments": {"one": {"question": "?"}}}, "experiments.one"),
        (with_one(question=""), "experiments.one.question"),
        (with_one(workload=1), "experiments.one.workload"),
        (with_one(workload="../gemm"), "experiments.one.workload"),
        (with_one(sizes=1), "experiments.one.sizes"),
        (with_one(sizes=[]), "experiments.one.sizes"),
        (with_one(sizes={"m": []}), "experiments.one.sizes.m"),
        (with_one(sizes={"m": None}), "experiments.one.sizes.m"),
        (with_one(sizes={"m": math.inf}), "experiments.one.sizes.m"),
        (with_one(sizes=[{"m": 1}, 1]), "experiments.one.sizes.1"),
        (with_one(sizes=[{"m": 1}, {"m": [1, None]}]), "experiments.one.sizes.1.m.1"),
        (with_one(sizes={1: 1}), "experiments.one.sizes"),
        (with_one(cache="tepid"), "experiments.one.cache"),
        (with_one(cache=[]), "experiments.one.cache"),
        (with_one(variants={}), "experiments.one.variants"),
        (with_one(variants={"blas": 1}), "experiments.one.variants.blas"),
        (with_one(variants={"blas": {"threads": {"a": 1}}}), "experiments.one.variants.blas.threads"),
        (with_one(variants={"../blas": {}}), "experiments.one.variants"),
        (with_one(variants={1: {}}), "experiments.one.variants"),
        ({"cores": 0, "experiments": {}}, "cores"),
        ({"cores": "many", "experiments": {}}, "cores"),
        ({"cores": 2.0, "experiments": {}}, "cores"),
        ({"measure": "perhaps", "experiments": {}}, "measure"),
        ({"measure": 1, "experiments": {}}, "measure"),
        ({"mirrors": "one", "experiments": {}}, "mirrors"),
        ({"machine": "../x", "experiments": {}}, "machine"),
        ({"machine": "x\n", "experiments": {}}, "machine"),
        ({"machine": "x" * 101, "experiments": {}}, "machine"),
        ({"machine": "artefacts", "experiments": {}}, "machine"),  # a folder of its own among what is published
        ({"cores": "auto\n", "experiments": {}}, "cores"),
        ({"ceiling_margin": 0.9, "experiments": {}}, "ceiling_margin"),
        ({"protocol": None, "experiments": {}}, "protocol"),
        ({"protocol": {"processes": 0}, "experiments": {}}, "protocol.processes"),
        ({"protocol": {"processes": 3.0}, "experiments": {}}, "protocol.processes"),
        ({"protocol": {"cap": "long"}, "experiments": {}}, "protocol.cap"),
        ({"protocol": {"target": 0}, "experiments": {}}, "protocol.target"),
        ({"protocol": {"target": math.nan}, "experiments": {}}, "protocol.target"),
        ({"protocol": {"cap": math.inf}, "experiments": {}}, "protocol.cap"),
        ({"ceiling_margin": math.nan, "experiments": {}}, "ceiling_margin"),
    ],
)
def test_wrong_values_are_refused_with_their_place(config, place):
    assert f"wrong at {place}: " in refused(config)


@pytest.mark.parametrize("value", [True, datetime.date(2026, 11, 27)])
def test_a_word_that_yaml_reads_as_something_else_is_to_be_put_in_quotes(value):
    said = refused(with_one(variants={"blas": {"threads": value}}))
    assert "wrong at experiments.one.variants.blas.threads: " in said
    assert "put them in quotes" in said


@pytest.mark.parametrize(
    ("general", "own", "sentence"),
    [
        ({"processes": 3, "most_processes": 1}, {}, "protocol: processes is 3, more than most_processes, which is 1"),
        ({"least": 20, "most": 10}, {}, "protocol: least is 20, more than most, which is 10"),
        ({"most": 12}, {"samples": 13}, "experiments.one.protocol: samples is 13, more than most, which is 12"),
    ],
)
def test_a_protocol_that_asks_for_more_than_it_allows_is_refused(general, own, sentence):
    assert f"wrong at {sentence}. Raise most" in refused({"protocol": general} | with_one(protocol=own))


@pytest.mark.parametrize(("word", "value"), [("false", False), ("true", True), (False, False)])
def test_booleans_may_come_as_words(word, value):
    assert configuration.checked({"measure": word, "peers": word, "experiments": {}})["measure"] is value


@pytest.fixture
def load(tmp_path):
    """Load YAML texts, later ones over earlier ones."""

    def load(*texts, **options):
        paths = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text if isinstance(text, str) else yaml.safe_dump(text))
        return configuration.load(paths, **options)

    return load


def test_null_drops_an_experiment_or_a_variant(load):
    base = {"experiments": {"one": ONE, "two": ONE}}
    config = load(base, "experiments: {one: null, two: {variants: {blas: null}}}")
    assert list(config["experiments"]) == ["two"]
    assert {case.variant for case in plan.cases("two", config["experiments"]["two"])} == {"openmp"}


def test_mappings_are_merged_and_lists_replaced(load):
    over = "experiments: {one: {sizes: {n: [5]}, variants: {openmp: {threads: 8}, tiled: {threads: 1}}}}"
    one = load(with_one(), over, changes={"protocol": {"cap": 1}})["experiments"]["one"]
    assert one["sizes"] == {"m": 1, "n": [5], "k": 1}
    assert one["variants"] == {"blas": {"threads": 1}, "openmp": {"threads": 8}, "tiled": {"threads": 1}}
    assert load(with_one(), changes={"protocol": {"cap": 1}})["protocol"]["cap"] == 1


def test_places_of_one_alias_are_changed_apart(load):
    one = ONE | {"sizes": ONE["sizes"] | {"n": 7}}
    found = load({"experiments": {"one": one, "two": one}}, "experiments: {two: {sizes: {n: 5}}}")["experiments"]
    assert (found["one"]["sizes"]["n"], found["two"]["sizes"]["n"]) == (7, 5)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("threds", "it has no workload. Is threads meant?"),
        ("ranks", "'question' is a required property"),
        (3, "3 is not of type 'string'"),
    ],
)
def test_a_misspelt_experiment_is_told_which_one_may_be_meant(name, told):
    assert told in refused({"experiments": {"threads": ONE, name: {"sizes": {"n": 4}}}})


def test_what_is_dropped_was_there(load):
    shipped = (ROOT / "config/config.yaml").read_text()
    dropped = load(shipped, "experiments: {gemm_large: null, added_by_a_file_between: null}")
    assert not {"gemm_large", "added_by_a_file_between"} & {*dropped["experiments"]}
    with pytest.raises(LadderError, match="none to be dropped"):
        load(shipped, "experiments: {gemm_lagre: null}")
    with pytest.raises(LadderError, match="no variant 'tield' of gemm"):
        plan.cases("one", ONE | {"variants": {"tield": None}})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [1", "isn't YAML in line "),
        ("a: b: c", "isn't YAML in line 1"),
        ("a: \x07", "isn't YAML"),
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "isn't YAML in line 2: the key c is there twice"),
        ("- a", "must be a mapping"),
        ("", "must be a mapping"),
        ("layers: 1000-20-10", "can't be read: month must be in 1..12"),
        ("a: &a {b: *a}", "can't be read: Circular reference"),
        ("a: " + 3000 * "[" + 3000 * "]", "nested too deeply"),
    ],
)
def test_what_is_no_configuration_is_refused_in_a_sentence(load, text, sentence):
    with pytest.raises(LadderError, match=sentence):
        load(text)


@pytest.mark.parametrize("folder", ["a:b", "a\0b"])
def test_a_folder_of_variants_that_cannot_be_looked_in_is_named(folder):
    assert "of variant_folders can't be looked in" in refused({"variant_folders": [folder], "experiments": {}})


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff\xfe")
    for name in ("missing.yaml", "bytes.yaml", "."):
        with pytest.raises(LadderError, match="can't be read"):
            configuration.load([tmp_path / name])


def test_the_shipped_configurations_are_valid_and_have_the_same_experiments(monkeypatch):
    monkeypatch.setattr(plan, "is_installed", lambda library: True)
    shipped = [ROOT / "config/config.yaml", ROOT / "config/smoke.yaml"]
    whole, smoke = configuration.load(shipped[:1]), configuration.load(shipped)
    assert (
        list(whole["experiments"]) == list(smoke["experiments"]) == list(configuration.read(shipped[1])["experiments"])
    )
    for config, place in ((whole, Place("here", 8, 8, "mpiexec")), (smoke, Place("here", 2, 1, "mpiexec"))):
        keys = {one.experiment for one in plan.plan(config, {"cpu": place}) if not one.left_out}
        assert keys == set(config["experiments"])


def test_a_protocol_is_the_defaults_with_changes():
    full = configuration.protocol({"samples": 2})
    assert full == configuration.checked({"experiments": {}})["protocol"] | {"samples": 2}
    for wrong in ({"sample": 2}, {"samples": 0}, [], None):
        with pytest.raises(LadderError, match="wrong at protocol"):
            configuration.protocol(wrong)


def test_the_default_of_every_key():
    """As config/README.md tells them."""
    found = configuration.checked({"experiments": {}})
    protocol = {"processes": 3, "most_processes": 3, "samples": 10, "least": 10, "most": 200, "target": 0.02, "cap": 60}
    assert found.pop("protocol") == protocol | {"phase_passes": 3, "energy": False}
    auto, nothing = ("machine", "cores", "gpus", "mpi"), ("architectures", "mirrors", "variant_folders")
    others = {"measure": True, "peers": True, "mnist_mirror": None, "published": ["all"], "keep_published": False}
    others |= {"ceiling_margin": 1.5, "experiments": {}}
    assert found == dict.fromkeys(auto, "auto") | {key: [] for key in nothing} | others
