"""The command line: `python -m ladder VERB` runs one verb of `ladder.verbs`, as each rule of the workflow does."""

import contextlib
import io
import os
import sys
from pathlib import Path

from ladder.errors import LadderError, did_you_mean
from ladder.machine import processes
from ladder.records import locks
from ladder.records.files import require_utf8
from ladder.records.holders import working_folder
from ladder.verbs import VERBS
from ladder.verbs.arguments import INTERRUPTED
from ladder.verbs.command_line import parser

# Options of other programs that print a script for a shell's completion.
COMPLETION_OPTIONS = ("--print-completion", "--install-completion", "--show-completion", "--completion")


def main(arguments=None):
    """Run one verb; a LadderError becomes a sentence on standard error and the exit status 1."""
    is_job = processes.join_run()  # first, since the run may end meanwhile
    os.environ.pop("SOURCE_DATE_EPOCH", None)  # an invalid value stops NumPy from loading
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # in case the locale lacks a character
    require_verb(arguments)
    selected_verbs = [name for name in arguments[:1] if name in VERBS]  # the other verbs' modules aren't imported
    options = parse(arguments, selected_verbs)
    try:
        require_utf8(Path(__file__).absolute().parents[2], working_folder())
        # Jobs that time nothing share the lock, so that no job of any run works while another one takes samples.
        with locks.timing_lock(shared=True) if is_job and not options.times_cases else contextlib.nullcontext():
            options.run(options)
    except LadderError as error:
        print(f"ladder {options.verb}: {error}", file=sys.stderr)
        sys.exit(1)
    except (RuntimeError, BlockingIOError) as error:
        if not processes.is_at_limit(error):
            raise
        print(f"ladder {options.verb}: {processes.LIMIT_MESSAGE}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt as interruption:  # by Ctrl-C, or by OpenBLAS if no thread can be started
        cause = str(interruption) or ("Interrupted." if processes.can_start_thread() else processes.LIMIT_MESSAGE)
        print(f"ladder {options.verb}: {cause}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except MemoryError as error:
        print(f"ladder {options.verb}: Out of memory: {error}. Lower the sizes.", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        reason = f"{error.filename or 'A file'} can't be used: {error.strerror}" if error.strerror else error
        print(f"ladder {options.verb}: {reason}.", file=sys.stderr)
        sys.exit(1)


def parse(arguments, verb_names):
    """The parsed arguments, by a parser of these verbs.

    A verb's words may also follow its options, which argparse can't express for verbs.
    """
    top_parser = parser(verb_names)
    options, rest = top_parser.parse_known_args(arguments)
    if rest and (not hasattr(options, "words") or any(word.startswith("-") for word in rest)):
        top_parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        options.words += rest
    return options


def require_verb(arguments):
    """Exit with a sentence if the first word isn't a verb."""
    name = next(iter(arguments), "-")
    if name in COMPLETION_OPTIONS:
        print(
            f"ladder: Completion is a verb: write `ladder completion {' '.join(arguments[1:]) or 'bash'}`.",
            file=sys.stderr,
        )
        sys.exit(2)
    if not name.startswith("-") and name not in VERBS:
        print(
            f"ladder: There is no verb {name!r}.{did_you_mean(name, VERBS)} `ladder --help` lists all.", file=sys.stderr
        )
        sys.exit(2)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # before the verb began, or at a second Ctrl-C
        sys.exit(INTERRUPTED)
