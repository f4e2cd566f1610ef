"""The parser of the command line, with a subparser for each verb, and the help that lists all verbs."""

import argparse
import ast
import importlib
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ladder.verbs import EXAMPLES, FOR_USERS, VERBS

DISTRIBUTION = "ladder-study"


def parser(names: Iterable[str] = VERBS, with_summaries: bool = False) -> argparse.ArgumentParser:
    """The command line's parser, with a subparser for each of these verbs, by `with_summaries` with a line on each.

    Its help lists all verbs in any case.
    """
    top = argparse.ArgumentParser(
        prog="ladder",
        description="Measure numerical kernels and write about them.",
        epilog=overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=PrintVersion, nargs=0, help="print the version")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB", title="verbs", help="one of those below")
    for name in names:
        module = importlib.import_module(f"ladder.verbs.{name}")
        help_option: dict[str, Any] = {"help": module.__doc__} if with_summaries else {}
        verb = verbs.add_parser(name, description=module.__doc__, **help_option)
        if examples := getattr(module, "EXAMPLES", None):
            verb.epilog, verb.formatter_class = f"examples:\n{examples}", argparse.RawDescriptionHelpFormatter
        module.add_arguments(verb)
        verb.set_defaults(run=module.run, times_cases=getattr(module, "TIMES_CASES", False))
    return top


class PrintVersion(argparse.Action):
    """Print the version and end; other command lines don't read it."""

    def __call__(self, parser, *_):
        print(f"{parser.prog} {version()}")
        parser.exit()


def version() -> str:
    """The version: that of pyproject.toml beside the sources, else that of the installed distribution."""
    import importlib.metadata  # only here, because it takes as long as all other imports
    import tomllib

    project = Path(__file__).parents[3] / "pyproject.toml"
    if project.is_file():
        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    return importlib.metadata.version(DISTRIBUTION)


def overview() -> str:
    """The verbs in two groups, with what each does, and examples."""
    others = [name for name in VERBS if name not in FOR_USERS]
    groups = {"for users": FOR_USERS, "steps of the workflow": others}
    lines = [line for title, names in groups.items() for line in ("", f"{title}:", *map(summary, names))]
    return "\n".join([*lines[1:], "", "examples:", EXAMPLES])


def summary(name: str) -> str:
    """A verb with what it does, read without importing its module, which begins with a docstring."""
    text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    sentence = ast.get_docstring(ast.parse(text[: text.index('"""', 3) + 3])) or ""
    return textwrap.fill(sentence, 100, initial_indent=f"  {name:<18}", subsequent_indent=" " * 20)
