"""Print a script with which a shell completes verbs, options, workloads, variants and files."""

import argparse
import shlex
import sys

import shtab

from ladder.catalogue import workloads
from ladder.verbs import command_line

SHELLS = ("bash", "zsh", "tcsh")
# {names that a script asks this verb for: the arguments that it completes with them, as (verb or None for all, dest)}.
NAMES = {
    "workloads": ((None, "workload"),),
    "variants": (("run", "words"), ("profile", "words"), ("compare", "a"), ("compare", "b"), ("new", "name")),
}
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
        print(shtab.complete(annotate(command_line.parser(with_summaries=True)), options.what))


def annotate(parser):
    """The parser, whose arguments tell shtab how to complete them: by names, or by paths if they are other texts."""
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for verb, action in ((verb, action) for verb, subparser in verbs.choices.items() for action in subparser._actions):
        keys = {(verb, action.dest), (None, action.dest)}
        names = [what for what, arguments in NAMES.items() if keys.intersection(arguments)]
        if names:
            action.complete = shtab.cmd(f"{shlex.quote(sys.executable)} -P -m ladder completion {names[0]}")
        elif action.type is None and action.choices is None and action.nargs != 0:
            action.complete = shtab.FILE
    return parser
