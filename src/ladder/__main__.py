"""The command line: `python -m ladder VERB` runs one verb of `ladder.verbs`, as each rule of the workflow does."""

import argparse
import contextlib
import importlib
import io
import os
import sys
from pathlib import Path

from ladder.errors import LadderError
from ladder.machine import processes
from ladder.records import locks
from ladder.records.files import require_utf8
from ladder.records.holders import working_folder
from ladder.verbs import VERBS
from ladder.verbs.arguments import INTERRUPTED


def main(arguments=None):
    """Run one verb; a LadderError becomes a sentence on standard error and the exit status 1."""
    is_job = processes.join_run()  # first, since the run may end meanwhile
    os.environ.pop("SOURCE_DATE_EPOCH", None)  # an invalid value stops NumPy from loading
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # in case the locale lacks a character
    selected = [name for name in arguments[:1] if name in VERBS]  # the other verbs' modules aren't imported
    options = parser(selected or VERBS).parse_args(arguments)
    try:
        require_utf8(Path(__file__).absolute().parents[2], working_folder())
        # Jobs that time nothing share the lock, so that no job of any run works while another one takes samples.
        with locks.timing_lock(shared=True) if is_job and not options.times else contextlib.nullcontext():
            options.run(options)
    except LadderError as error:
        print(f"ladder {options.verb}: {error}", file=sys.stderr)
        sys.exit(1)
    except (RuntimeError, BlockingIOError) as error:
        if not processes.is_at_limit(error):
            raise
        print(f"ladder {options.verb}: {processes.AT_LIMIT}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt as interruption:  # by Ctrl-C, or by OpenBLAS if no thread can be started
        cause = str(interruption) or ("Interrupted." if processes.can_start_thread() else processes.AT_LIMIT)
        print(f"ladder {options.verb}: {cause}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except MemoryError as error:
        print(f"ladder {options.verb}: Out of memory: {error}. Lower the sizes.", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        reason = f"{error.filename or 'A file'} can't be used: {error.strerror}" if error.strerror else error
        print(f"ladder {options.verb}: {reason}.", file=sys.stderr)
        sys.exit(1)


def parser(names=VERBS):
    """The command line's parser, with a subparser for each of these verbs."""
    top = argparse.ArgumentParser(prog="ladder", description="Measure numerical kernels and write about them.")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name in names:
        module = importlib.import_module(f"ladder.verbs.{name}")
        verb = verbs.add_parser(name, help=module.__doc__, description=module.__doc__)
        module.add_arguments(verb)
        verb.set_defaults(run=module.run, times=getattr(module, "TIMES", False))
    return top


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # before the verb began, or at a second Ctrl-C
        sys.exit(INTERRUPTED)
