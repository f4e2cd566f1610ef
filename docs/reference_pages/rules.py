"""The rules of the workflow and the commands of the Makefile, from their files."""

import re
from pathlib import Path

from reference_pages import markdown

ROOT = Path(__file__).parents[2]
RULE = re.compile(r"^rule (\w+):\n((?:[ \t].*\n|\n)*)", re.MULTILINE)
OUTPUT = re.compile(r"^ +output:\n((?: {8}.*\n)*)", re.MULTILINE)
FILE = re.compile(r'"(results/[^"]*)"')
COMMAND = re.compile(r"^([a-z-]+):.*## (.*)", re.MULTILINE)


def page():
    """The targets, the rules by their files, and the commands."""
    return markdown.document(
        "## Targets",
        "`snakemake TARGET` makes what these rules collect. Every file below is a target, too.",
        markdown.table(("target", "defined in"), [(markdown.code(name), path) for name, path in targets()]),
        "## Rules",
        *(part for path in files() if rows(path) for part in section(path)),
        "## Commands of the Makefile",
        markdown.table(("command", "what it does"), commands()),
    )


def files():
    """The Snakefile, and the files of rules that it includes."""
    return [ROOT / "workflow/Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]


def rules(path):
    """{rule: its text} of a file."""
    return dict(RULE.findall(path.read_text(encoding="utf-8")))


def targets():
    """[(rule, file)] of the rules that have no output."""
    for path in files():
        for name, text in rules(path).items():
            if not OUTPUT.search(text):
                yield name, markdown.code(path.relative_to(ROOT))


def section(path):
    """A file's rules with what they write."""
    return f"### `{path.relative_to(ROOT)}`", markdown.table(("rule", "writes"), rows(path))


def rows(path):
    """(rule, the files that it writes) of each rule of a file that has an output."""
    outputs = {name: OUTPUT.search(text) for name, text in rules(path).items()}
    return [(markdown.code(name), markdown.codes(FILE.findall(text[1]))) for name, text in outputs.items() if text]


def commands():
    """(command, what it does) of the Makefile."""
    return [(f"`make {name}`", text) for name, text in COMMAND.findall((ROOT / "Makefile").read_text(encoding="utf-8"))]
