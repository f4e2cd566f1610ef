"""The help of the command line, its version, and words that are no verbs."""

import importlib.metadata
import re
import tomllib

import pytest

from conftest import ROOT
from ladder.__main__ import main
from ladder.verbs import EXAMPLES, FOR_USERS, VERBS
from ladder.verbs import command_line as commands


def output_of(capsys, *line):
    """The exit status, the standard output and the standard error of a command line that ends the process."""
    with pytest.raises(SystemExit) as end:
        main(list(line))
    return end.value.code, *capsys.readouterr()


def test_every_verb_is_in_one_group_of_the_help(capsys):
    status, text, _ = output_of(capsys, "--help")
    for_users, steps = text.split("for users:")[1].split("steps of the workflow:")
    assert status == 0
    assert tuple(re.findall(r"^  ([a-z_]+) ", for_users, re.MULTILINE)) == FOR_USERS
    assert set(re.findall(r"^  ([a-z_]+) {2,}[A-Z]", steps, re.MULTILINE)) == set(VERBS) - set(FOR_USERS)


@pytest.mark.parametrize("verb", re.findall(r"^  ladder ([a-z]+)", EXAMPLES, re.MULTILINE))
def test_every_example_calls_a_verb(verb):
    assert verb in VERBS


def test_a_verb_s_help_has_its_examples(capsys):
    assert "  ladder run gemm/tiled gemm/blas" in output_of(capsys, "run", "--help")[1]


def test_the_version_is_read_from_the_sources_or_the_distribution(capsys, monkeypatch, tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == commands.DISTRIBUTION
    assert output_of(capsys, "--version") == (0, f"ladder {project['version']}\n", "")
    monkeypatch.setattr(commands, "__file__", str(tmp_path / "site-packages/ladder/verbs/command_line.py"))
    monkeypatch.setattr(importlib.metadata, "version", {commands.DISTRIBUTION: "7"}.get)
    assert commands.version() == "7"


def test_words_may_follow_options(monkeypatch):
    words = []
    monkeypatch.setattr("ladder.verbs.run.run", lambda options: words.append((options.words, options.sweep)))
    main(["run", "gemm/blas", "--quick", "m=1", "--sweep", "threads=1,2", "n=1"])
    assert words == [(["gemm/blas", "m=1", "n=1"], ["threads=1,2"])]


@pytest.mark.parametrize("line", [["run", "gemm/blas", "--quik"], ["status", "now"]])
def test_unknown_options_and_words_are_refused(capsys, line):
    status, _, message = output_of(capsys, *line)
    assert status == 2
    assert f"unrecognized arguments: {line[-1]}" in message


def test_a_word_that_is_no_verb_is_refused_with_a_sentence(capsys):
    status, _, sentence = output_of(capsys, "comapre", "a", "b")
    assert (status, sentence) == (
        2,
        "ladder: There is no verb 'comapre'. Did you mean 'compare'? `ladder --help` lists all.\n",
    )
    assert output_of(capsys, "xyz")[2] == "ladder: There is no verb 'xyz'. `ladder --help` lists all.\n"


@pytest.mark.parametrize("words", [["--print-completion", "zsh"], ["--install-completion"]])
def test_options_of_other_programs_for_completion_lead_to_the_verb(capsys, words):
    status, _, sentence = output_of(capsys, *words)
    assert (status, sentence) == (
        2,
        f"ladder: Completion is a verb: write `ladder completion {[*words, 'bash'][1]}`.\n",
    )
