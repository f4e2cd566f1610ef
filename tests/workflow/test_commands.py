"""The command line: bad input ends every verb with status 1 and one sentence, never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from ladder import __main__ as commands

SLUG = "form=nn,m=17,n=5,k=9,dtype=float64,source=random,seed=1,cache=cold,threads=1"
MEASURE = ["measure", "gemm", "blas", SLUG, "--out", "record.json"]
TABLES_OPTIONS = [
    "--machine",
    "here",
    "--out",
    "x",
    "--html",
    "x.html",
    "--verdicts",
    "x.csv",
    "--sensitivity",
    "nowhere.csv",
]
# The arguments of a verb, and a part of the sentence with which it ends. `working_directory` has the existing files.
SENTENCES = [
    (["precompile", "gemm", "nothing", SLUG, "--out", "x"], "no variant 'nothing'"),
    (["list", "--configfile", "config.yaml"], "can't be read"),
    (["status"], "No run has begun here yet"),
    (["site", "nowhere", "--machine", "here", "--out", "x.html"], "nowhere/samples.csv can't be read"),
    (["show", "gemv"], "There are no stored results of gemv: measure some with `snakemake`."),
    (["show", "x"], "There is no workload 'x'"),
    (["package", "--folder", "nowhere"], "Nothing is published below nowhere"),
    (["crate", "a", "--configuration", "b", "--snakefile", "nowhere", "--out", "x/x.json"], "nowhere can't be used"),
    (["data", "digits", "--out", "file/digits"], "can't be written"),
    (["data", "mnist", "--out", "mnist", "--mirror", "nowhere"], "nowhere"),
    (["reference", "mlp", "images=10", "--data", "digits", "--out", "x.npz"], "mlp needs a value for its size 'batch'"),
    (["reference", "mlp", "images=10,batch=5,epochs=1,rate=1.0", "--out", "x.npz"], "name their path with --data"),
    (["reference", "dcgan", "channels=4", "--out", "x.npz"], "multiple of 8"),
    (["reference", "mlp", "images", "--data", "digits", "--out", "x.npz"], "isn't of the form key=value"),
    (["reference", "gemm", "m=1,n=1,k=1", "--data", "digits", "--out", "x.npz"], "gemm needs no reference"),
    (["reference", "x", "m=1", "--data", "digits", "--out", "x.npz"], "There is no workload 'x'"),
    (
        ["reference", "mlp", "images=10,batch=5,epochs=1,rate=0.5", "--data", "nowhere", "--out", "x.npz"],
        "nowhere/train-images-idx3-ubyte can't be read",
    ),
    (
        ["artefact", "dcgan", "learned.bin", "--out", "x.bin"],
        "learned.bin is built from mnist: name its path with --data",
    ),
    (["artefact", "gemm", "x.npz", "--out", "x.npz"], "gemm makes no 'x.npz': its artefacts are none"),
    (["measure", "gemm", "x", SLUG, "--out", "x.json"], "There is no variant 'x' of gemm"),
    (["measure", "x", "blas", SLUG, "--out", "x.json"], "There is no workload 'x'"),
    (["measure", "gemm", "blas", "m=1", "--out", "x.json"], "has no cache protocol"),
    (["measure", "gemm", "blas", "m=1,n=1,k=1,cache=cold,threads=1", "--out", "x.json"], "isn't written in full"),
    ([*MEASURE, "--protocol", "{"], "--protocol isn't JSON"),
    ([*MEASURE, "--protocol", '{"x": 1}'], "The configuration is wrong at protocol"),
    ([*MEASURE, "--ceilings", "nowhere.json"], "nowhere.json can't be read: No such file or directory."),
    ([*MEASURE, "--ceilings", "torn.json"], "torn.json is not JSON"),
    ([*MEASURE, "--ceilings", "empty.json"], "empty.json can't be used as the ceilings: "),
    ([*MEASURE, "--launcher", "'"], "--launcher is \"'\", which isn't a command line: No closing quotation"),
    ([*MEASURE, "--launcher", " "], "--launcher is empty: name a program"),
    ([*MEASURE, "--granted", "0"], "Snakemake grants 0 cores"),
    (["campaign", "here_1", "{"], "about isn't JSON"),
    (["turns", "gemm/blas", "--campaign", "a", "--machine", "b", "--out", "x.json"], "'gemm/blas' is not a case"),
    (["publish_campaign", "nowhere", "{}"], "results/campaigns/nowhere/campaign.json can't be read"),
    (["overview", "nowhere", "--machine", "here", "--out", "x"], "nowhere/samples.csv can't be read"),
    (["ceilings", "nowhere.json", "--margin", "1.5", "--out", "x.json"], "nowhere.json can't be read"),
    (["ceilings", "empty.json", "--margin", "1.5", "--out", "x.json"], "empty.json is not a sound record"),
    (["roofs", "nowhere", "--out", "x.json"], "nowhere/samples.csv can't be read"),
    (["collect", "nowhere.json", "--out", "tables"], "nowhere.json can't be read"),
    (["collect", "torn.json", "--out", "tables"], "torn.json is not JSON"),
    (["collect", "empty.json", "--out", "tables"], "empty.json can't be used as the plan: "),
    (["collect", "five.json", "--out", "tables"], "five.json can't be used as the plan: cases/0: 5 is not of type"),
    (["collect", "plan.json", "--published", "nowhere", "--out", "tables"], "nowhere/samples.csv.gz can't be read"),
    (["roofs", "--published", "nowhere", "--out", "x.json"], "nowhere/samples.csv.gz can't be read"),
    (["build", "sm_90", "gemm", "blas", "dtype=float64"], "gemm/blas has no CUDA source"),
    (["build", "sm_90", "gemm", "cuda_naive", "block=16"], "'block=16' isn't written like dtype=float64,block=16"),
    (["collect", "plan.json", "--out", "file"], "file/a can't be used: Not a directory."),
    (["table", "nowhere", "--out", "table.csv"], "The table nowhere/samples.csv can't be read"),
    (["figure", "nothing", "--out", "figure"], "There is no figure 'nothing'"),
    (["figure", "mlp_learning", "--out", "figure"], "The figure mlp_learning needs --tables of mlp_accuracy."),
    (
        ["figure", "mlp_learning", "--tables", "mlp_accuracy", "--out", "figure"],
        "mlp_accuracy/samples.csv can't be read",
    ),
    (
        ["figure", "dcgan_pictures", "--artefact", "foo", "--out", "figure"],
        "--artefact is written FILE=PATH, not 'foo'",
    ),
    (["compare", "gemm/blas", "gemm/blas"], "gemm needs a value for its size 'm'"),
    (["compare", f"gemm/x/{SLUG}", f"gemm/x/{SLUG}"], "There is no variant 'x' of gemm"),
    (["run", "m=1"], "No variant is named"),
    (["run", "gemm/blas", "m=1", "n=1"], "gemm needs a value for its size 'k'"),
    (["run", "gemm/blas", "m=1", "n=1", "k=1", "threads=1000000"], "threads=1000000 is more than the"),
    (["run", "gemm/blas", "m=1", "n=1", "k=1", "--launcher", "'"], '--launcher is "\'"'),
    (["run", "gemm/blas", "m=1", "n=1", "k=1", "--json", "file/x"], "file/x can't be written"),
    (["profile", "gemm/blas", "m=1"], "gemm needs a value for its size 'n'"),
    (["counters", "--machine", "here", "--configfile", "nowhere.yaml"], "nowhere.yaml can't be read"),
    (["counters", "--machine", "here", "--into", "file"], "file/here/counters.csv.gz can't be written"),
    (["new", "gemm/mine", "--folder", "file"], "file/gemm can't be used: Not a directory."),
    (["train", "backprop", "blas", "images=10"], "needs a value"),
    (["generate", "gemm", "network.bin", "latents.txt", "x.png"], "gemm generates nothing from files"),
    (["generate", "x", "network.bin", "latents.txt", "x.png"], "There is no workload 'x'"),
    (["generate", "dcgan", "network.bin", "latents.txt", "x.jpg"], "must end in .txt, .bmp, .png"),
    (["generate", "dcgan", "network.bin", "latents.txt", "x.png"], "network.bin can't be read"),
    (["publish", "nowhere.json", "--machine", "here", "--out", "x"], "nowhere.json can't be read"),
    (["publish", "torn.json", "--machine", "here", "--out", "x"], "torn.json is not JSON"),
    (["publish", "plan.json", "--machine", "here", "--keep", "--out", "x"], "There is nothing to publish"),
    (
        ["numbers", "nowhere", "--machine", "here", "--margin", "1.5", "--out", "x.tex"],
        "nowhere/samples.csv can't be read",
    ),
    (["numbers", "--machine", "here", "--margin", "1.5", "--out", "x.tex", "--protocol", "{"], "--protocol isn't JSON"),
    (["sensitivity", "gemm/blas", "--out", "x.csv"], "'gemm/blas' is not a case"),
    (["sensitivity", "--out", "file/x.csv"], "file/x.csv can't be written: "),
    (["tables", "nowhere", *TABLES_OPTIONS], "nowhere/samples.csv can't be read"),
    (["tables", "--description", "torn.json", *TABLES_OPTIONS], "torn.json"),
    (["tables", *TABLES_OPTIONS], "nowhere.csv can't be read"),
    (["tables", *TABLES_OPTIONS[:-1], "other.csv"], "The table other.csv can't be read: it has no column workload"),
    (
        ["tables", "--description", "empty.json", *TABLES_OPTIONS],
        "can't be used as the description: as a whole: 'system' is",
    ),
    (["tables", "--roofs", "five.json", *TABLES_OPTIONS], "five.json can't be used as the roofs: "),
    (["tables", "--kernel", "empty.json", *TABLES_OPTIONS], "empty.json can't be used as the kernels: "),
    (["proof", "nowhere"], "run `snakemake paper` first"),
    (["paper", "nowhere.tex", "--out", "paper.pdf"], "There is no nowhere.tex to typeset"),
    (["describe", "--out", "file/machine.json"], "file/machine.json can't be written: "),
]


@pytest.fixture(autouse=True)
def working_directory(monkeypatch, tmp_path):
    """A working directory with files that no verb can use, and a plan without cases."""
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("torn.json").write_text('{"a": [1', encoding="utf-8")
    Path("empty.json").write_text("{}", encoding="utf-8")
    Path("other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    Path("five.json").write_text('{"experiment": "a", "cases": [5]}', encoding="utf-8")
    Path("plan.json").write_text('{"experiment": "a", "cases": []}', encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"), SENTENCES, ids=[f"{number}-{case[0][0]}" for number, case in enumerate(SENTENCES)]
)
def test_bad_input_is_one_sentence(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as end:
        commands.main(arguments)
    assert end.value.code == 1
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith(f"ladder {arguments[0]}: ")
    assert sentence in message
    assert message.endswith((".", ".)"))


@pytest.mark.parametrize(
    "arguments",
    [["list", "--gpus", "-100"], ["list", "--cores", "0"], ["generate", "dcgan", "a", "b", "c.png", "--gpus", "-1"]],
)
def test_counts_that_make_no_sense_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        commands.main(arguments)
    assert end.value.code == 2
    assert f"'{arguments[-1]}' is not an integer of at least" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "x"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", f"gemm/blas/{SLUG}", f"gemm/blas/{SLUG}", "--detect"],
        ["compare", f"gemm/blas/{SLUG}", f"gemm/blas/{SLUG}", "--cap"],
        ["ceilings", "empty.json", "--out", "x.json", "--margin"],
        ["numbers", "--machine", "here", "--out", "x.tex", "--margin"],
    ],
)
def test_numbers_that_make_no_sense_are_refused(arguments, value, capsys):
    with pytest.raises(SystemExit) as end:
        commands.main([*arguments, value])
    assert end.value.code == 2
    assert f"'{value}' is not a number " in capsys.readouterr().err


def test_every_verb_is_tried():
    tried = {arguments[0] for arguments, _ in SENTENCES} | {"completion"}  # it takes one of five words, and no file
    (verbs,) = (action.choices for action in commands.parser()._actions if action.dest == "verb")
    assert tried == set(verbs)


@pytest.mark.parametrize("arguments", [[], ["run", "gemm/blas", "--quik"], ["list", "--cores", "0"], ["data", "x"]])
def test_a_wrong_command_line_is_a_usage_message(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        commands.main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: ladder")


def test_a_verb_in_a_process_of_its_own_ends_alike():
    process = subprocess.run(
        [sys.executable, "-m", "ladder", *MEASURE, "--granted", "0"], capture_output=True, text=True
    )
    assert process.returncode == 1
    assert process.stdout == ""
    assert process.stderr.startswith("ladder measure: The case asks for 1 thread,")
    assert process.stderr.count("\n") == 1
