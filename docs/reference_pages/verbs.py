"""The verbs of the command line, from their parsers."""

import argparse
import textwrap

from ladder.verbs import FOR_USERS, VERBS
from ladder.verbs.command_line import parser
from reference_pages import markdown

WIDTH = 84  # of the lines of a synopsis


def page():
    """The verbs for users, then those that the rules of the workflow call."""
    (verbs,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    groups = {"For users": FOR_USERS, "Steps of the workflow": [name for name in VERBS if name not in FOR_USERS]}
    parts = []
    for title, names in groups.items():
        parts += [f"## {title}", *(section(name, verbs.choices[name]) for name in names)]
    return markdown.document(*parts)


def section(name, verb):
    """What a verb does, its synopsis, arguments and examples."""
    examples = textwrap.dedent((verb.epilog or "").removeprefix("examples:\n"))
    return markdown.document(
        f"### `{name}`",
        verb.description,
        markdown.block(synopsis(verb)),
        markdown.table(("argument", "meaning"), [(invocation(action), action.help) for action in arguments(verb)]),
        markdown.block(examples) if examples else "",
    )


def synopsis(verb):
    """The words of a call."""
    verb.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=WIDTH)
    return verb.format_usage().removeprefix("usage: ")


def arguments(verb):
    """The arguments of a verb, except --help."""
    return [action for action in verb._actions if not isinstance(action, argparse._HelpAction)]


def invocation(action):
    """An argument as it is written."""
    value = action.metavar or action.dest.upper()
    takes_value = action.nargs != 0
    names = [f"{name} {value}" if takes_value else name for name in action.option_strings]
    return markdown.codes(names or [action.metavar or action.dest])
