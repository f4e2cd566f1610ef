"""Locks by flock, which the kernel releases when the last process that holds them ends, however it ends."""

import fcntl
import io
import os
import stat
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from ladder.errors import LadderError
from ladder.records.holders import report_waiting, sign

# The folders of a user's locks on a machine; no variable of the environment changes them. A lock is held in both, since
# a service may have a private /tmp, and a cleaner may delete files in /tmp while they are locked.
FOLDERS = (Path("/tmp"), Path("/dev/shm"))
# The descriptors of the machine's locks that this process holds. The processes that it starts inherit them, so that one
# that outlives it still keeps others from timing.
descriptors = set()


@contextmanager
def alone_in(folder):
    """Hold a folder's lock; other processes wait for it. Raises LadderError if it can't be written."""
    with locked(lambda: [opened_in(folder)], fcntl.LOCK_EX, f"{folder} for compiling") as (file,):
        sign(file)
        yield


@contextmanager
def quiet_machine(shared=False):
    """Hold the machine's lock for timing, across runs; `shared` with others that hold it shared.

    One process at a time waits for the holders, the others for their turn: else overlapping shared holders would starve
    a process that needs the machine alone.
    """
    timing, what = partial(opened, "timing"), "the machine for timing"
    with ExitStack() as stack:
        with locked(partial(opened, "turn"), fcntl.LOCK_EX, what, holder_files=timing):
            # The first of those who share it overwrites the file.
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
    """Hold and yield the first of these names, of GPUs for example, that nobody else holds. Waits for one."""
    has_reported = False
    while True:
        for name in names:
            with attempted(partial(opened, name)) as files:
                if files:
                    for file in files:
                        sign(file)
                    with inherited(files):
                        yield name
                    return
        if not has_reported:
            say_waiting(partial(opened, names[0]), names[0] if len(names) == 1 else f"{names[0]}, as others the rest,")
            has_reported = True
        time.sleep(0.1)


def opened(name):
    """The files of a lock shared by all processes of this user on this machine. Raises LadderError if there is none."""
    files, reasons = [], []
    for folder in FOLDERS:
        path = folder / f"ladder-{name}-{os.getuid()}.lock"
        try:
            files.append(open_own(path))
        except OSError as error:
            if os.path.lexists(path):
                raise LadderError(
                    f"{path}, a lock of this machine, can't be used: {error.strerror}. Delete it, then run again."
                ) from None
            reasons.append(f"{folder}: {error.strerror}")
    if not files:
        raise LadderError(f"The locks of this machine can't be written ({'; '.join(reasons)}). Make /tmp writable.")
    return files


def open_own(path):
    """The file of a lock, created if missing. Raises OSError for anything but a plain file of this user's."""
    file = open_plain(path, mode=0o600)
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
        file.close()
        raise OSError(0, "it isn't a plain file of this user's", str(path))
    return file


def open_plain(path, mode=0o666):
    """The file of a lock, created if missing, in place of an empty folder. Raises OSError unless it is a plain file."""
    with suppress(OSError):
        Path(path).rmdir()
    if is_odd(path):
        raise OSError(0, "it isn't a plain file", str(path))
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return io.FileIO(path, "r+b", opener=lambda path, _: os.open(path, flags, mode))


def is_odd(path):
    """Whether a path is that of a folder, a link, be it a dangling one, a pipe or a device."""
    return os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode)


def opened_in(folder, name=".lock"):
    """The file of a lock in a folder, created if missing. Raises LadderError if it can't be written."""
    path = Path(folder, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open_plain(path)
    except OSError as error:
        advice = "Delete it, then run again" if is_odd(path) else "Allow writing, or work in a copy of the project"
        raise LadderError(f"{error.filename} can't be written: {error.strerror}. {advice}.") from None


@contextmanager
def locked(open_files, kind, what, holder_files=None):
    """Wait until the files of a lock are locked, and yield them; report once who holds it, by `holder_files`."""
    has_reported = False
    while True:
        files = open_files()
        try:
            for file in files:
                if not lock(file, kind | fcntl.LOCK_NB):
                    if not has_reported:
                        say_waiting(holder_files or open_files, what)
                        has_reported = True
                    lock(file, kind)
            if all(map(is_in_place, files)):
                yield files
                return
        finally:
            release(files)


@contextmanager
def attempted(open_files):
    """The files of a lock if this process can hold it alone without waiting, else None."""
    files = open_files()
    try:
        is_free = all(lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB) for file in files) and all(map(is_in_place, files))
        if not is_free:  # holding one of them, this process would block itself
            release(files)
        yield files if is_free else None
    finally:
        release(files)


@contextmanager
def inherited(files):
    """Let the processes that this one starts meanwhile inherit the locks of these files."""
    numbers = {file.fileno() for file in files}
    descriptors.update(numbers)
    try:
        yield
    finally:
        descriptors.difference_update(numbers)


def say_waiting(open_files, what):
    """Report who holds the lock that this process waits for."""
    files = open_files()
    report_waiting(files[0], what)
    for file in files:
        file.close()


def lock(file, kind):
    """Lock a file; whether that succeeded without waiting. Raises LadderError if the file system has no locks."""
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
    """Release the locks of files, even if a process that this one started still has them open."""
    for file in files:
        if not file.closed:
            fcntl.flock(file, fcntl.LOCK_UN)
            file.close()


def is_in_place(file):
    """Whether an open file still has its name: the lock of a deleted file excludes nobody."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), Path(file.name).stat())
    except OSError:
        return False
