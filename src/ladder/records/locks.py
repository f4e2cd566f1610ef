"""Locks by flock, which the kernel releases when the last process that has them ends, however it does."""

import fcntl
import io
import os
import stat
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from ladder.errors import LadderError
from ladder.records.holders import sign, tell_waiting

# The places of a user's locks on a machine, whatever the environment: no variable moves them. A lock is held in both,
# since a service may have a /tmp of its own, and a cleaner may delete what lies in /tmp while it is held.
FOLDERS = (Path("/tmp"), Path("/dev/shm"))
# Of the machine's locks that this process holds, for the processes that it starts: one that outlives it still keeps
# others from timing.
descriptors = set()


@contextmanager
def alone_in(folder):
    """Hold a folder's lock; who needs it at the same time waits. Raises LadderError where it can't be written."""
    with locked(lambda: [opened_in(folder)], fcntl.LOCK_EX, f"{folder} for compiling") as (file,):
        sign(file)
        yield


@contextmanager
def quiet_machine(shared=False):
    """Hold the machine's one lock for timing, against other runs too; `shared` with others that share the machine.

    One process at a time waits for the holders, the others for their turn: else holders that share the machine, of
    whom one follows another, would keep out who needs it alone.
    """
    timing, what = partial(opened, "timing"), "the machine for timing"
    with ExitStack() as stack:
        with locked(partial(opened, "turn"), fcntl.LOCK_EX, what, told_by=timing):
            # The first of those who share it writes the file anew.
            first = stack.enter_context(attempted(timing)) if shared else None
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            files = first or stack.enter_context(locked(timing, kind, what))
            for file in files:
                sign(file, beside=shared and not first)
                fcntl.flock(file, kind)
        stack.enter_context(inherited(files))
        yield


@contextmanager
def first_free(names):
    """Hold the first of these names, of cards for example, that nobody else holds; yield it. Waits for one."""
    told = False
    while True:
        for name in names:
            with attempted(partial(opened, name)) as files:
                if files:
                    for file in files:
                        sign(file)
                    with inherited(files):
                        yield name
                    return
        if not told:
            say_waiting(partial(opened, names[0]), names[0] if len(names) == 1 else f"{names[0]}, as others the rest,")
            told = True
        time.sleep(0.1)


def opened(name):
    """The files of a lock that all processes of this user on this machine share. Raises LadderError without any."""
    files, reasons = [], []
    for folder in FOLDERS:
        path = folder / f"ladder-{name}-{os.getuid()}.lock"
        try:
            files.append(open_own(path))
        except OSError as error:
            if os.path.lexists(path):
                raise LadderError(
                    f"{path}, a lock of this machine, can't be used: {error.strerror}. Remove it, then run again."
                ) from None
            reasons.append(f"{folder}: {error.strerror}")
    if not files:
        raise LadderError(f"The locks of this machine can't be written ({'; '.join(reasons)}). Make /tmp writable.")
    return files


def open_own(path):
    """The file of a lock, which is made. Raises OSError for a link, and for what isn't a plain file of this user's."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = io.FileIO(path, "r+b", opener=lambda path, _: os.open(path, flags, 0o600))
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        file.close()
        raise OSError(0, "it isn't a plain file of this user's", str(path))
    return file


def opened_in(folder, name=".lock"):
    """The file of a lock in a folder, which is made. Raises LadderError where it can't be written."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return Path(folder, name).open("a+b", buffering=0)
    except OSError as error:
        raise LadderError(
            f"{error.filename} can't be written: {error.strerror}. Allow writing, or work in a copy of the project."
        ) from None


@contextmanager
def locked(open_files, kind, what, told_by=None):
    """The files of a lock, as soon as they are locked; says once for whom it waits, as the files `told_by` tell."""
    told = False
    while True:
        files = open_files()
        try:
            for file in files:
                if not lock(file, kind | fcntl.LOCK_NB):
                    if not told:
                        say_waiting(told_by or open_files, what)
                        told = True
                    lock(file, kind)
            if all(map(is_in_place, files)):
                yield files
                return
        finally:
            release(files)


@contextmanager
def attempted(open_files):
    """The files of a lock, where this process can be the only one that holds it at once, else None."""
    files = open_files()
    try:
        is_free = all(lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB) for file in files) and all(map(is_in_place, files))
        if not is_free:  # of one of them, this process would keep itself out
            release(files)
        yield files if is_free else None
    finally:
        release(files)


@contextmanager
def inherited(files):
    """Have the processes that this one starts meanwhile hold the locks of these files too."""
    numbers = {file.fileno() for file in files}
    descriptors.update(numbers)
    try:
        yield
    finally:
        descriptors.difference_update(numbers)


def say_waiting(open_files, what):
    """Say who holds the lock for which this process waits."""
    files = open_files()
    tell_waiting(files[0], what)
    for file in files:
        file.close()


def lock(file, kind):
    """Lock a file; whether that was possible at once. Raises LadderError where the file system has no locks."""
    try:
        fcntl.flock(file, kind)
    except BlockingIOError:
        return False
    except OSError as error:
        raise LadderError(
            f"{file.name} can't be locked: {error.strerror}. Work in a folder whose file system has locks."
        ) from None
    return True


def release(files):
    """Release the locks of files, also where a process that this one started still has them open."""
    for file in files:
        if not file.closed:
            fcntl.flock(file, fcntl.LOCK_UN)
            file.close()


def is_in_place(file):
    """Whether an open file is still that of its name: one that was deleted meanwhile keeps nobody out."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), Path(file.name).stat())
    except OSError:
        return False
