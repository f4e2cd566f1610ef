"""Other programs, whose output is the same whatever the user's language."""

import hashlib
import json
import os
import re

import pytest

from conftest import ROOT
from ladder.build import compiler, libraries
from ladder.machine import programs
from ladder.planning import slurm
from ladder.report import proof


def test_the_command_of_ladder_is_one_that_the_shell_finds(monkeypatch, tmp_path):
    script, other = tmp_path / ".venv/bin/ladder", tmp_path / "other/ladder"
    for path in (script, other):
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    monkeypatch.setattr(programs.sys, "executable", str(script.with_name("python")))
    monkeypatch.chdir(tmp_path)
    for path, command in ((script, "ladder"), (other, ".venv/bin/ladder")):
        monkeypatch.setenv("PATH", str(path.parent))
        assert programs.ladder_command() == command
    monkeypatch.chdir(other.parent)
    assert programs.ladder_command() == str(script)
    script.unlink()
    assert programs.ladder_command() == f"{script.with_name('python')} -m ladder"


# A program that prints in the user's language, which it determines like gettext, and creates the file of option -o.
GREETING = r"""#!/bin/sh
case "${LC_ALL:-${LC_MESSAGES:-$LANG}}" in
    C) word=release ;;
    C.*) case "$LANGUAGE" in de*) word=Fassung ;; *) word=release ;; esac ;;
    de*) word=Fassung ;;
    fr*) word=version ;;
    *) word=$(printf '\244\342\377') ;;
esac
for last; do [ "$before" = -o ] && : > "$last"; before=$last; done
echo "$word 12.5, ($LC_NUMERIC)" | tee /dev/stderr
"""
LANGUAGES = [
    {"LANG": "de_DE.UTF-8"},
    {"LC_ALL": "fr_FR.ISO-8859-1"},
    {"LANG": "C.UTF-8", "LANGUAGE": "de"},
    {"LC_ALL": "C.UTF-8", "LANGUAGE": "de"},
    {"LANG": "C", "LC_MESSAGES": "ja_JP.eucJP"},
]


@pytest.fixture(params=LANGUAGES, ids=lambda language: " ".join(language.values()))
def greeting(request, monkeypatch, tmp_path):
    """The untranslated output of programs on the PATH that are replaced by GREETING; the user has another language."""
    for name in ("gcc", "nvcc", "sbatch", "pdfinfo", "git"):
        (tmp_path / name).write_text(GREETING, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)  # where the programs create the files of -o
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LC_NUMERIC"):
        monkeypatch.delenv(name, raising=False)
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)
    for cached in (libraries.host_label, libraries.compiler_version):
        cached.cache_clear()
    yield "release 12.5, ()"
    for cached in (libraries.host_label, libraries.compiler_version):
        cached.cache_clear()


def test_programs_whose_output_is_read_are_not_translated(greeting, tmp_path):
    assert programs.output("git").strip() == greeting
    assert libraries.compiler_version() == greeting
    # The label is a digest of the compiler's version, executable, options and subcommands, of which it has none.
    executable = hashlib.sha256(GREETING.encode()).hexdigest()
    digest = hashlib.sha256(json.dumps([greeting, executable, f"{greeting}\n", []]).encode()).hexdigest()
    assert libraries.host_label() == f"host-{digest[:12]}"
    assert libraries.run_compiler(tmp_path / "any.c", ["gcc", "any.c"], tmp_path / "any.o").strip() == greeting
    assert slurm.run("sbatch").stdout.strip() == greeting
    assert proof.run_poppler("pdfinfo").strip() == greeting
    assert compiler.compile_with_nvcc(tmp_path / "any.cu", {}, "sm_90") == (b"", f"{greeting}\n", "nvcc 12.5")


def test_programs_inherit_the_other_variables(monkeypatch):
    monkeypatch.setenv("LADDER_OF_A_TEST", "kept")
    assert programs.output("sh", "-c", "echo $LADDER_OF_A_TEST").strip() == "kept"


def test_output_that_is_not_utf_8_and_a_program_that_reads_input_are_harmless():
    assert programs.output("printf", r"\377\n") == "\N{REPLACEMENT CHARACTER}\n"
    assert programs.output("cat") == ""


def test_only_one_function_reads_text_of_other_programs():
    """The other two modules read JSON of workers, and logs of LaTeX, which aren't translated."""
    reads = re.compile(r"subprocess\.(run|Popen|check_output)\([^)]*(text|encoding|universal_newlines)=")
    files = {
        str(path.relative_to(ROOT / "src/ladder"))
        for path in (ROOT / "src/ladder").rglob("*.py")
        if reads.search(path.read_text(encoding="utf-8"))
    }
    assert files <= {"machine/programs.py", "harness/workers.py", "report/typesetting.py"}
