"""Print a script with which a shell completes verbs, options, workloads, variants and files."""

import argparse
import shlex
import sys

import shtab

from ladder.catalogue import workloads
from ladder.verbs import command_line

SHELLS = ("bash", "zsh", "tcsh")
# {names that the scripts get from this verb: the arguments of verbs that are such names}.
NAMES = {"workloads": ("workload",), "variants": ("words", "a", "b", "name")}
EXAMPLES = """\
  ladder completion bash > ~/.local/share/bash-completion/completions/ladder
  source <(ladder completion bash)
  ladder completion zsh > ~/.zfunc/_ladder
docs/how-to/completion.md says where each shell reads it."""


def add_arguments(parser):
    parser.add_argument("what", choices=(*SHELLS, *NAMES), help="the shell, or the names that its script completes")


def run(options):
    if options.what == "workloads":
        print(*workloads.names(), sep="\n")
    elif options.what == "variants":
        print(*(f"{name}/{variant}" for name in workloads.names() for variant in workloads.variants(name)), sep="\n")
    else:
        print(shtab.complete(annotate(command_line.parser(describes=True)), options.what))


def annotate(parser):
    """The parser, with what shtab completes in place of arguments: names, and paths for other texts."""
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for action in (action for verb in verbs.choices.values() for action in verb._actions):
        names = [what for what, arguments in NAMES.items() if action.dest in arguments]
        if names:
            action.complete = shtab.cmd(f"{shlex.quote(sys.executable)} -P -m ladder completion {names[0]}")
        elif action.type is None and action.choices is None and action.nargs != 0:
            action.complete = shtab.FILE
    return parser
