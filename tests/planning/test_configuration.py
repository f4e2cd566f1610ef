"""Configurations: overriding each other, validated everywhere, defaults filled in."""

import copy
import datetime
import math

import pytest
import yaml
import yte
from snakemake.common import configfile
from snakemake.settings import types

from conftest import ROOT
from ladder.errors import LadderError
from ladder.planning import configuration, plan, yaml_files
from ladder.planning.targets import Target

EXPERIMENT = {
    "question": "?",
    "workload": "gemm",
    "sizes": {"m": 1, "n": [1, 2], "k": 1},
    "variants": {"blas": {"threads": 1}, "openmp": [{"threads": 1}, {"threads": [2, 4]}]},
}


def config_with(**changes):
    """A configuration with one experiment, in which `changes` replace or add keys."""
    return {"experiments": {"one": copy.deepcopy(EXPERIMENT) | changes}}


def refusal_of(config):
    """The error of a refused configuration."""
    with pytest.raises(LadderError) as error:
        configuration.validate(config)
    return str(error.value)


def test_defaults_are_filled_in_and_the_input_is_left_alone():
    original = config_with()
    before = copy.deepcopy(original)
    config = configuration.validate(original)
    assert original == before
    assert (config["machine"], config["cores"], config["measure"], config["peers"]) == ("auto", "auto", True, True)
    assert config["protocol"]["processes"] == 3
    assert config["experiments"]["one"] == EXPERIMENT


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"colour": 1, "experiments": {}}, "the top level"),
        ({"protocol": {"colour": 1}, "experiments": {}}, "protocol"),
        (config_with(colour=1), "experiments.one"),
    ],
)
def test_unknown_keys_are_refused_by_name(config, key):
    message = refusal_of(config)
    assert f"wrong at {key}: " in message
    assert "'colour'" in message
    assert "Did you mean" not in message


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"protocl": {}, "experiments": {}}, "protocol"),
        ({"protocol": {"sample": 1}, "experiments": {}}, "samples"),
        (config_with(varients={}), "variants"),
    ],
)
def test_the_error_of_a_misspelt_key_names_the_nearest_one(config, key):
    assert f"was unexpected). Did you mean '{key}'? See config/README.md" in refusal_of(config)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({}, "the top level"),
        ({"experiments": []}, "experiments"),
        ({"experiments": {"one": 1}}, "experiments.one"),
        ({"experiments": {"One": None}}, "experiments"),
        ({"experiments": {1: None}}, "experiments"),
        ({"experiments": {"one": {"question": "?"}}}, "experiments.one"),
        (config_with(question=""), "experiments.one.question"),
        (config_with(workload=1), "experiments.one.workload"),
        (config_with(workload="../gemm"), "experiments.one.workload"),
        (config_with(sizes=1), "experiments.one.sizes"),
        (config_with(sizes=[]), "experiments.one.sizes"),
        (config_with(sizes={"m": []}), "experiments.one.sizes.m"),
        (config_with(sizes={"m": None}), "experiments.one.sizes.m"),
        (config_with(sizes={"m": math.inf}), "experiments.one.sizes.m"),
        (config_with(sizes=[{"m": 1}, 1]), "experiments.one.sizes.1"),
        (config_with(sizes=[{"m": 1}, {"m": [1, None]}]), "experiments.one.sizes.1.m.1"),
        (config_with(sizes={1: 1}), "experiments.one.sizes"),
        (config_with(cache="tepid"), "experiments.one.cache"),
        (config_with(cache=[]), "experiments.one.cache"),
        (config_with(variants={}), "experiments.one.variants"),
        (config_with(variants={"blas": 1}), "experiments.one.variants.blas"),
        (config_with(variants={"blas": {"threads": {"a": 1}}}), "experiments.one.variants.blas.threads"),
        (config_with(variants={"../blas": {}}), "experiments.one.variants"),
        (config_with(variants={1: {}}), "experiments.one.variants"),
        ({"cores": 0, "experiments": {}}, "cores"),
        ({"cores": "many", "experiments": {}}, "cores"),
        ({"cores": 2.0, "experiments": {}}, "cores"),
        ({"measure": "perhaps", "experiments": {}}, "measure"),
        ({"measure": 1, "experiments": {}}, "measure"),
        ({"mirrors": "one", "experiments": {}}, "mirrors"),
        ({"machine": "../x", "experiments": {}}, "machine"),
        ({"machine": "x\n", "experiments": {}}, "machine"),
        ({"machine": "x" * 101, "experiments": {}}, "machine"),
        ({"machine": "artefacts", "experiments": {}}, "machine"),  # the name of another folder below results/published
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
def test_wrong_values_are_refused_with_their_key(config, key):
    assert f"wrong at {key}: " in refusal_of(config)


@pytest.mark.parametrize("value", [True, datetime.date(2026, 11, 27)])
def test_words_that_yaml_reads_as_other_values_need_quotes(value):
    message = refusal_of(config_with(variants={"blas": {"threads": value}}))
    assert "wrong at experiments.one.variants.blas.threads: " in message
    assert "put them in quotes" in message


@pytest.mark.parametrize(
    ("protocol", "changes", "sentence"),
    [
        ({"processes": 3, "most_processes": 1}, {}, "protocol: processes is 3, more than most_processes, which is 1"),
        ({"least": 20, "most": 10}, {}, "protocol: least is 20, more than most, which is 10"),
        ({"most": 12}, {"samples": 13}, "experiments.one.protocol: samples is 13, more than most, which is 12"),
    ],
)
def test_a_protocol_with_a_minimum_above_its_maximum_is_refused(protocol, changes, sentence):
    assert f"wrong at {sentence}. Raise most" in refusal_of({"protocol": protocol} | config_with(protocol=changes))


@pytest.mark.parametrize(("word", "value"), [("false", False), ("true", True), (False, False)])
def test_booleans_may_be_words(word, value):
    assert configuration.validate({"measure": word, "peers": word, "experiments": {}})["measure"] is value


@pytest.fixture
def load(tmp_path):
    """A function that loads YAML texts or their values, later ones overriding earlier ones."""

    def load(*texts, **options):
        paths = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text if isinstance(text, str) else yaml.safe_dump(text))
        return configuration.load(paths, **options)

    return load


def test_null_drops_an_experiment_or_a_variant(load):
    base = {"experiments": {"one": EXPERIMENT, "two": EXPERIMENT}}
    config = load(base, "experiments: {one: null, two: {variants: {blas: null}}}")
    assert list(config["experiments"]) == ["two"]
    assert {case.variant for case in plan.cases("two", config["experiments"]["two"])} == {"openmp"}


def test_mappings_are_merged_and_lists_replaced(load):
    overrides = "experiments: {one: {sizes: {n: [5]}, variants: {openmp: {threads: 8}, tiled: {threads: 1}}}}"
    experiment = load(config_with(), overrides, changes={"protocol": {"cap": 1}})["experiments"]["one"]
    assert experiment["sizes"] == {"m": 1, "n": [5], "k": 1}
    assert experiment["variants"] == {"blas": {"threads": 1}, "openmp": {"threads": 8}, "tiled": {"threads": 1}}
    assert load(config_with(), changes={"protocol": {"cap": 1}})["protocol"]["cap"] == 1


def test_keys_that_share_an_anchor_change_independently(load):
    experiment = EXPERIMENT | {"sizes": EXPERIMENT["sizes"] | {"n": 7}}
    experiments = load({"experiments": {"one": experiment, "two": experiment}}, "experiments: {two: {sizes: {n: 5}}}")[
        "experiments"
    ]
    assert (experiments["one"]["sizes"]["n"], experiments["two"]["sizes"]["n"]) == (7, 5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("threds", "it has no workload. Did you mean 'threads'?"),
        ("ranks", "'question' is a required property"),
        (3, "3 is not of type 'string'"),
    ],
)
def test_an_incomplete_experiment_is_refused_and_a_similar_name_suggested(name, message):
    assert message in refusal_of({"experiments": {"threads": EXPERIMENT, name: {"sizes": {"n": 4}}}})


def test_a_misspelt_experiment_or_variant_cannot_be_dropped(load):
    """An experiment whose name is like no other may be one that a file in between added."""
    shipped = (ROOT / "config/config.yaml").read_text()
    config = load(shipped, "experiments: {gemm_large: null, added_by_a_file_between: null}")
    assert not {"gemm_large", "added_by_a_file_between"} & {*config["experiments"]}
    with pytest.raises(LadderError, match="no such experiment to drop"):
        load(shipped, "experiments: {gemm_lagre: null}")
    with pytest.raises(LadderError, match="no variant 'tield' of gemm"):
        plan.cases("one", EXPERIMENT | {"variants": {"tield": None}})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [1", "isn't YAML in line "),
        ("a: b: c", "isn't YAML in line 1"),
        ("a: \x07", "isn't YAML"),
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "isn't YAML in line 2: duplicate key c"),
        ("- a", "must be a mapping"),
        ("", "must be a mapping"),
        ("layers: 1000-20-10", "misread in line 1: layers: 1000-20-10 is a date to YAML. Put it in quotes"),
        ("a: &a {b: *a}", "contains itself"),
        # Each of nine lists has the one before it nine times.
        (
            "".join(f"a{i}: &a{i} [{9 * f'*a{i - 1}, '}]\n" if i else "a0: &a0 []\n" for i in range(9)),
            "more than 100000",
        ),
        ("a: " + 2**20 * "x", "more than 1048576 bytes"),
        ("a: !!int x", "a: x doesn't match its tag, !!int"),
        ('a: "\\0"', "has a character that no name"),
        ('{"a": 1, "b": 2, "a": 3}', "duplicate key a"),
        ("a: " + 3000 * "[" + 3000 * "]", "nested too deeply"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(load, text, sentence):
    with pytest.raises(LadderError, match=sentence):
        load(text)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="requires libyaml")
def test_the_fast_loader_reads_and_refuses_what_the_other_one_does():
    for text in [*((ROOT / "config" / name).read_text() for name in ("config.yaml", "claims.yaml")), 99 * "- " + "a"]:
        assert yaml.load(text, yaml_files.FastLoader) == yaml.load(text, yaml_files.Loader)
    for text in ("{a: 1, a: 2}", "a: 0100", "a: 1:30", "a: !!int x", "a: 2020-02-02", 101 * "[" + 101 * "]"):
        for loader in (yaml_files.FastLoader, yaml_files.Loader):
            with pytest.raises((yaml.YAMLError, RecursionError)):
                yaml.load(text, loader)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0100", "m: 0100 is 64 to YAML 1.1, which reads a leading 0 as octal. Write 100 or 64, or"),
        ("-010", "m: -010 is -8 .* Write -10 or -8"),
        ("00", "m: 00 is 0 .* Write 0, or"),
        ("1:30", "m: 1:30 is 90 .* base 60. Write 90, or"),
        ("1:30.5", "m: 1:30.5 is 90.5"),
        ("0b11", "m: 0b11 is 3 .* binary"),
        ("0x1f", "m: 0x1f is 31 .* hexadecimal"),
        ("1_000", "m: 1_000 is 1000 .* ignores each '_'"),
        ("[1, 0100]", "0100 is 64"),
        ("1e5", "'1e5' is text to YAML: as a number write 100000"),
        ("1e-5", "'1e-5' is text to YAML: as a number write 1.0e-05"),
        ("08", "'08' is text to YAML: as a number write 8"),
        ("'0,5'", "'0,5' is text to YAML: as a number write 0.5"),
        ("'64'", "'64' is text to YAML: as a number write 64"),
        ("on", "put them in quotes"),
        ("~", "To YAML no value, ~ and null are the same"),
    ],
)
def test_misread_numbers_are_refused_with_both_readings(load, text, message):
    with pytest.raises(LadderError, match=message):
        load(f"experiments: {{one: {{question: q, workload: gemm, sizes: {{m: {text}}}, variants: {{blas: {{}}}}}}}}")


@pytest.mark.parametrize("text", ["64", "+64", "-3", "0", "0.5", ".5", "1.", "1.0e+5", "1.5e-3"])
def test_plain_numbers_are_read_as_written(load, text):
    config = load(
        f"experiments: {{one: {{question: q, workload: gemm, sizes: {{m: {text}}}, variants: {{blas: {{}}}}}}}}"
    )
    assert config["experiments"]["one"]["sizes"]["m"] == float(text)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        *(
            (f"machine={word}", word)
            for word in ("0815", "0100", "1e5", "12.10", "nan", "true", "null", "1:30", "auto")
        ),
        ('machine="0815"', "0815"),
        ("machine='12.10'", "12.10"),
        ("mpi=null", None),
        ("mpi=true", "true"),
        ("cores=4", 4),
        ("cores=auto", "auto"),
        ("measure=false", False),
        ("mnist_mirror=", None),
        ("published=[none]", ["none"]),
        ("protocol={samples: 3}", {"samples": 3}),
        ("ceiling_margin=1e1", 10.0),
    ],
)
def test_a_value_on_the_command_line_has_the_type_of_its_key(entry, value):
    key = entry.partition("=")[0]
    assert configuration.of_command_line([entry]) == {key: value}


def test_a_number_on_the_command_line_is_not_misread():
    for entry in ("cores=0100", "protocol={samples: 0100}"):
        with pytest.raises(LadderError, match=r"on the command line can be misread .*0100 is 64"):
            configuration.of_command_line([entry])


def test_a_number_for_a_text_needs_quotes(load):
    with pytest.raises(
        LadderError, match=r"machine: 815 is not of type 'string'. To YAML it is a number: put it in quotes"
    ):
        load("{machine: 815, experiments: {}}")


def test_json_is_read_as_json(load):
    text = '{"experiments": {}, "mnist_mirror": "\\ud83d\\ude00", "protocol": {"target": 1e-05}}'
    assert load(text)["protocol"]["target"] == 1e-05


def test_snakemake_reads_files_as_the_verbs_do(tmp_path, monkeypatch):
    """Both profiles first call `serve_snakemake`, which replaces the loaders of --configfile and of the Snakefile."""
    for module in (configfile, types):
        monkeypatch.setattr(module, "load_configfile", configfile.load_configfile)
    (tmp_path / "latin.yaml").write_bytes(b"machine: caf\xe9")
    for profile in ("default", "gpu"):
        assert "yaml_files.serve_snakemake()" in (ROOT / f"profiles/{profile}/profile.yaml").read_text()
    yte.process_yaml((ROOT / "profiles/default/profile.yaml").read_text(), require_use_yte=True)
    for load in (lambda path: types.ConfigSettings(configfiles=[path]), lambda path: configfile.load_configfile(path)):
        with pytest.raises(SystemExit, match=r"^ladder: The configuration \S+ can't be read: its byte 13, 0xe9"):
            load(tmp_path / "latin.yaml")


@pytest.mark.parametrize("folder", ["a:b", "a\0b"])
def test_an_unusable_variant_folder_is_refused(folder):
    assert "of variant_folders can't be used" in refusal_of({"variant_folders": [folder], "experiments": {}})


def test_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff\xfe")
    (tmp_path / "utf-16.yaml").write_text("a: 1", encoding="utf-16")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    for name in ("missing.yaml", "bytes.yaml", "utf-16.yaml", "loop.yaml", "x" * 3000, "."):
        with pytest.raises(LadderError, match="can't be read"):
            configuration.load([tmp_path / name])


def test_a_byte_order_mark_is_no_part_of_a_key(tmp_path):
    (tmp_path / "marked.yaml").write_text("experiments: {}", encoding="utf-8-sig")
    assert configuration.load([tmp_path / "marked.yaml"])["experiments"] == {}


def test_changing_a_read_configuration_changes_none_that_is_read_later(tmp_path):
    """A text is parsed once, since a run reads its configuration several times."""
    (tmp_path / "file.yaml").write_text("experiments: {}")
    yaml_files.read(tmp_path / "file.yaml")["experiments"]["other"] = None
    assert yaml_files.read(tmp_path / "file.yaml") == {"experiments": {}}
    (tmp_path / "file.yaml").write_text("machine: here")
    assert yaml_files.read(tmp_path / "file.yaml") == {"machine": "here"}


def test_the_shipped_configurations_are_valid_and_have_the_same_experiments(monkeypatch):
    monkeypatch.setattr(plan, "is_installed", lambda library: True)
    shipped = [ROOT / "config/config.yaml", ROOT / "config/smoke.yaml"]
    full, smoke = configuration.load(shipped[:1]), configuration.load(shipped)
    assert (
        list(full["experiments"]) == list(smoke["experiments"]) == list(configuration.read(shipped[1])["experiments"])
    )
    for config, cores, gpus in ((full, 8, 8), (smoke, 2, 1)):
        target = Target("here", cores=cores, gpus=gpus, launcher="mpiexec")
        keys = {item.experiment for item in plan.plan(config, {"cpu": target}) if not item.skip_reason}
        assert keys == set(config["experiments"])


def test_a_protocol_is_the_defaults_with_changes():
    protocol = configuration.protocol({"samples": 2})
    assert protocol == configuration.validate({"experiments": {}})["protocol"] | {"samples": 2}
    for wrong in ({"sample": 2}, {"samples": 0}, [], None):
        with pytest.raises(LadderError, match="wrong at protocol"):
            configuration.protocol(wrong)


def test_every_key_has_the_documented_default():
    """`tests/workflow/test_documentation.py` compares the documented ones with the schema's."""
    config = configuration.validate({"experiments": {}})
    protocol = {"processes": 3, "most_processes": 3, "samples": 10, "least": 10, "most": 200, "target": 0.02, "cap": 60}
    protocol |= {"phase_passes": 3, "energy": False, "cold_start": True}
    protocol |= {"share_machine": False, "side_by_side": False}
    assert config.pop("protocol") == protocol
    auto_keys, empty_keys = ("machine", "cores", "gpus", "mpi"), ("architectures", "mirrors", "variant_folders", "only")
    other_defaults = {
        "measure": True,
        "peers": True,
        "mnist_mirror": None,
        "container": None,
        "published": ["all"],
        "keep_published": False,
    }
    other_defaults |= {"ceiling_margin": 1.5, "sensitivity": "all", "environment": {}, "experiments": {}}
    other_defaults |= {"claims": ["config/claims.yaml"]}
    assert config == dict.fromkeys(auto_keys, "auto") | {key: [] for key in empty_keys} | other_defaults


def test_only_keeps_the_named_experiments_and_the_ceilings():
    experiments = {name: copy.deepcopy(EXPERIMENT) for name in ("ceiling_blas", "one", "other")}
    config = configuration.validate({"only": ["other"], "experiments": experiments})
    assert list(config["experiments"]) == ["ceiling_blas", "other"]
    assert list(configuration.validate({"only": [], "experiments": experiments})["experiments"]) == list(experiments)


@pytest.mark.parametrize(("name", "end"), [("othr", "'othr'. Did you mean 'other'? See"), ("x", "'x'. See")])
def test_only_of_an_unknown_experiment_is_refused_with_the_nearest(name, end):
    experiments = {"other": copy.deepcopy(EXPERIMENT)}
    message = refusal_of({"only": [name], "experiments": experiments})
    assert message.startswith(f"The configuration is wrong at only: it has no experiment {end}")


@pytest.mark.parametrize("target", ["results/table.csv", "paper", "figures"])
def test_a_target_after_configfile_is_named_as_such(target, monkeypatch):
    for module in (configfile, types):
        monkeypatch.setattr(module, "load_configfile", module.load_configfile)
    yaml_files.serve_snakemake()
    with pytest.raises(SystemExit, match=r"If it is a target, put it before `--configfile`\.$"):
        types.load_configfile(target)
    with pytest.raises(SystemExit, match=r"can't be read: No such file or directory\.$"):
        types.load_configfile("missing.yaml")


def test_a_variant_without_a_value_is_refused_unless_another_file_has_it():
    """To write `serial:` in place of `serial: {}` would silently leave the variant out."""
    other_file = {"experiments": {"one": {"variants": {"serial": {}}}, "two": None}}
    configuration.require_variants_to_drop(
        {"a.yaml": {"experiments": {"one": {"variants": {"serial": None}}}}, "b": other_file}
    )
    with pytest.raises(LadderError, match=r"a.yaml is wrong at experiments.one.variants.blas: .* write `blas: {}`"):
        configuration.require_variants_to_drop(
            {"a.yaml": {"experiments": {"one": {"variants": {"blas": None}}}}, "b": other_file}
        )
    configuration.require_variants_to_drop({"empty": None, "list": {"experiments": [1]}, "none": {"experiments": None}})
