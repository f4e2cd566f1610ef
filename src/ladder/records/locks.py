"""Locks by flock, which the kernel releases when the last process that holds them ends, even if it is killed."""

import fcntl
import io
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from ladder.errors import LadderError
from ladder.records.holders import clear, report_waiting, sign

# The folders of a user's locks on a machine, the same in every environment. A process holds a lock in both, since a
# service may have a private /tmp, and locked files in /tmp may be deleted as temporary.
FOLDERS = (Path("/tmp"), Path("/dev/shm"))
# The file descriptors of the machine's locks that this process holds. Its child processes inherit them, so that a child
# that outlives it still keeps others from timing.
descriptors: set[int] = set()


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold a folder's lock for compiling, after waiting for it. Raises LadderError if the folder can't be written."""
    resource = f"{folder} for compiling"
    with hold_files(lambda: [open_in(folder)], fcntl.LOCK_EX, resource) as files, hold_signatures(files):
        yield


@contextmanager
def timing_lock(shared: bool = False) -> Iterator[None]:
    """Hold the machine's lock for timing, which all runs use; `shared` with others that hold it shared.

    A process that waits for the holders has the lock `turn`, on which later processes queue: otherwise shared holders
    that overlap would starve a process that needs the machine exclusively.
    """
    open_files, resource = partial(open_machine_lock, "timing"), "the machine for timing"
    with ExitStack() as stack:
        with hold_files(partial(open_machine_lock, "turn"), fcntl.LOCK_EX, resource, holder_files=open_files):
            # The first shared holder replaces the signatures, later ones append theirs.
            exclusive_files = stack.enter_context(try_hold_files(open_files)) if shared else None
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            files = exclusive_files or stack.enter_context(hold_files(open_files, kind, resource))
            stack.enter_context(hold_signatures(files, append=shared and not exclusive_files))
            for file in files:
                fcntl.flock(file, kind)
        stack.enter_context(make_inheritable(files))
        yield


@contextmanager
def first_free_lock(names: Sequence[str]) -> Iterator[str]:
    """Hold the lock of the first of these names, such as GPUs, that no other process holds; yield the name."""
    has_reported = False
    while True:
        for name in names:
            with try_hold_files(partial(open_machine_lock, name)) as files:
                if files:
                    with hold_signatures(files), make_inheritable(files):
                        yield name
                    return
        if not has_reported:
            resource = names[0] if len(names) == 1 else f"{names[0]}, the first of {len(names)},"
            report_holder(partial(open_machine_lock, names[0]), resource)
            has_reported = True
        time.sleep(0.1)


def open_machine_lock(name: str) -> list[io.FileIO]:
    """Open the files of a named lock of this user on this machine, one per folder. Raises LadderError if all fail."""
    files, reasons = [], []
    for folder in FOLDERS:
        path = folder / f"ladder-{name}-{os.getuid()}.lock"
        try:
            files.append(open_private(path))
        except OSError as error:
            if os.path.lexists(path):
                raise LadderError(
                    f"{path}, a lock of this machine, can't be used: {error.strerror}. Delete it, then run again."
                ) from None
            reasons.append(f"{folder}: {error.strerror}")
    if not files:
        raise LadderError(f"The locks of this machine can't be written ({'; '.join(reasons)}). Make /tmp writable.")
    return files


def open_private(path: Path) -> io.FileIO:
    """Open a lock's file, created if missing. Raises OSError unless it is a plain file that belongs to this user."""
    file = open_plain_file(path, mode=0o600)
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
        file.close()
        raise OSError(0, "it isn't a plain file of this user's", str(path))
    return file


def open_plain_file(path: Path, mode: int = 0o666) -> io.FileIO:
    """Open a lock's file, created if missing, or in place of an empty folder. Raises OSError unless it is plain."""
    with suppress(OSError):
        Path(path).rmdir()
    if is_no_plain_file(path):
        raise OSError(0, "it isn't a plain file", str(path))
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return io.FileIO(path, "r+b", opener=lambda path, _: os.open(path, flags, mode))


def is_no_plain_file(path: Path) -> bool:
    """Whether a path is that of a folder, a link (even a dangling one), a pipe or a device."""
    return os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode)


def open_in(folder: Path | str, name: str = ".lock") -> io.FileIO:
    """Open the file of a folder's lock, created if missing. Raises LadderError if it can't be written."""
    path = Path(folder, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open_plain_file(path)
    except OSError as error:
        advice = (
            "Delete it, then run again" if is_no_plain_file(path) else "Allow writing, or work in a copy of the project"
        )
        raise LadderError(f"{error.filename} can't be written: {error.strerror}. {advice}.") from None


@contextmanager
def hold_files(
    open_files: Callable[[], list[io.FileIO]],
    kind: int,
    resource: Path | str,
    holder_files: Callable[[], list[io.FileIO]] | None = None,
) -> Iterator[list[io.FileIO]]:
    """Lock the files that `open_files()` opens, waiting if necessary, and yield them; `kind` is flock's LOCK_EX or _SH.

    If it must wait, it reports once who holds `resource`, by the signatures in `holder_files()`, by default the same.
    """
    has_reported = False
    while True:
        files = open_files()
        try:
            for file in files:
                if not lock(file, kind | fcntl.LOCK_NB):
                    if not has_reported:
                        report_holder(holder_files or open_files, resource)
                        has_reported = True
                    lock(file, kind)
            if all(map(is_linked, files)):
                yield files
                return
        finally:
            release(files)


@contextmanager
def try_hold_files(open_files: Callable[[], list[io.FileIO]]) -> Iterator[list[io.FileIO] | None]:
    """Lock the files exclusively and yield them; yield None if that would require waiting."""
    files = open_files()
    try:
        is_free = all(lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB) for file in files) and all(map(is_linked, files))
        if not is_free:  # if it kept one file locked, this process would later block itself
            release(files)
        yield files if is_free else None
    finally:
        release(files)


@contextmanager
def hold_signatures(files: Sequence[io.FileIO], append: bool = False) -> Iterator[None]:
    """Sign the files of a lock that this process holds, until it releases the lock.

    `append` keeps the signatures of others who share it. The last holder clears them, so that a process that waits for
    the next one, which hasn't signed yet, doesn't report this one.
    """
    for file in files:
        sign(file, append)
    try:
        yield
    finally:
        for file in files:
            if lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB):  # nobody shares it
                clear(file)


@contextmanager
def make_inheritable(files: Sequence[io.FileIO]) -> Iterator[None]:
    """Let child processes that are started within this context inherit the locks of these files."""
    numbers = {file.fileno() for file in files}
    descriptors.update(numbers)
    try:
        yield
    finally:
        descriptors.difference_update(numbers)


def report_holder(open_files: Callable[[], list[io.FileIO]], resource: Path | str) -> None:
    """Report who holds the lock of these files, which this process waits for."""
    files = open_files()
    report_waiting(files, resource)
    for file in files:
        file.close()


def lock(file: io.FileIO, kind: int) -> bool:
    """Lock a file; return False if LOCK_NB forbids waiting. Raises LadderError if the file system has no locks."""
    try:
        fcntl.flock(file, kind)
    except BlockingIOError:
        return False
    except OSError as error:
        raise LadderError(
            f"{file.name} can't be locked: {error.strerror}. Work in a folder whose file system has locks."
        ) from None
    return True


def release(files: Sequence[io.FileIO]) -> None:
    """Release the locks of files, even if a child process still has them open."""
    for file in files:
        if not file.closed:
            fcntl.flock(file, fcntl.LOCK_UN)
            file.close()


def is_linked(file: io.FileIO) -> bool:
    """Whether an open file still exists under its name: later processes don't see the lock of a deleted file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), Path(file.name).stat())
    except OSError:
        return False
