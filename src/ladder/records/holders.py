"""Who holds a lock: the holder signs the lock's file, so that whoever waits can say for whom and since when."""

import json
import os
import platform
import sys
import time
from contextlib import suppress
from pathlib import Path

# What a signature says: the process's number, what it does, where, since when, and on which machine.
SIGNATURE = {"process": int, "does": str, "folder": str, "since": float, "host": str, "boot": str}
BOOT = Path("/proc/sys/kernel/random/boot_id")
LONGEST = 200  # characters of a command line that are told


def sign(file, beside=False):
    """Write into a lock's file that this process holds it, `beside` others who share it.

    A disk that is full is no reason not to hold a lock.
    """
    line = json.dumps(signature()).encode() + b"\n"
    with suppress(OSError):
        if not beside:
            file.truncate(0)
        file.write(line)


def signature():
    """What this process signs with."""
    return {
        "process": os.getpid(),
        "does": command(sys.argv),
        "folder": folder(),
        "since": time.time(),
        "host": platform.node(),
        "boot": boot(),
    }


def command(arguments):
    """The words of a command line up to its first option."""
    program = Path(arguments[0] or "python")
    words = [program.parent.name if program.stem == "__main__" else program.stem]
    for word in arguments[1:]:
        if word.startswith("-"):
            break
        words.append(word)
    text = " ".join(words)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def folder():
    """The working directory, which may be gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return "a folder that is gone"


def boot():
    """What tells this start of this machine's kernel from any other, in containers too; empty where none says so."""
    try:
        return BOOT.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def signatures(file):
    """Those who have signed a lock's file, in their order. A line that is torn, or is none of ours, says nothing."""
    found = []
    with suppress(OSError):
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        for line in file.read().splitlines():
            with suppress(ValueError):
                one = json.loads(line)
                if isinstance(one, dict) and all(isinstance(one.get(key), kind) for key, kind in SIGNATURE.items()):
                    found.append(one)
    return found


def tell_waiting(file, what):
    """Say on standard error, in one line, who holds the lock of a file, for which this process waits."""
    found = signatures(file)
    # Of those who share it, some may have left. Of a holder that has died, something that it started still works.
    found = [one for one in found if is_alive(one["process"])] or found[-1:]
    who = f"another process, which holds {what}"
    if found:
        others = f" and {len(found) - 1} more, which have" if found[1:] else ", which has"
        who = f"{described(found[0])}{others} held {what} since {clock(found[0]['since'])}"
    print(f"ladder: waits for {printable(who)}.", file=sys.stderr, flush=True)


def described(one):
    """Who has signed, in words."""
    return f"`{one['does']}`, process {one['process']} in {one['folder']}"


def clock(seconds):
    """A time of the day, with its date where that isn't today."""
    try:
        when = time.localtime(seconds)
    except (ValueError, OverflowError, OSError):  # a signature may say anything
        return "an unknown time"
    return time.strftime("%H:%M:%S" if when[:3] == time.localtime()[:3] else "%Y-%m-%d %H:%M:%S", when)


def printable(text):
    """A text as one line that any terminal may show."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def is_alive(process):
    """Whether a process of this number lives here."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is another user's
    return True
