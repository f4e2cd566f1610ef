"""Fetch gzip-compressed files from mirrors and let none of their bytes through unchecked.

`requests` and `tqdm` are used directly, not `pooch`: pooch neither resumes a transfer nor bounds its duration
or the size of what it unpacks, and it compares the sum of the compressed file, which differs between mirrors.
"""

import contextlib
import gzip
import hashlib
import itertools
import os
import queue
import re
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
import urllib3
from tqdm import tqdm

from ladder.data.datasets import Expected
from ladder.errors import LadderError
from ladder.records.files import write_atomically

BLOCK = 1 << 16  # bytes
SLOWEST = 4096  # bytes per second; a transfer that stays below it counts as stalled
PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds before the second attempt, doubled before each further one
PASSING = {408, 425, 429, 500, 502, 503, 504}  # HTTP statuses that another attempt may cure


class _Unusable(Exception):
    """Why a mirror's file will not do."""


class _Interrupted(_Unusable):
    """Why a transfer broke off; another attempt may succeed and resume it."""


def fetch(
    path: Path,
    expected: Expected,
    mirrors: Sequence[str | os.PathLike],
    attempts: int,
    timeout: float,
    progress: bool,
) -> str | os.PathLike | None:
    """Place the file `{path.name}.gz`, decompressed, at `path`; return the mirror it came from.

    Mirrors are tried in order, as `ladder.data.mnist` explains. Nothing is done, and None returned, when
    `path` holds the expected bytes already. Raises LadderError when a mirror makes no sense, none has the
    expected bytes, or `path` cannot be written.
    """
    try:
        if _holds(path, expected):
            return None
        sources = [_source(mirror) for mirror in mirrors]
        partials = path.parent / ".partial"
        partials.mkdir(parents=True, exist_ok=True)
        failures = []
        for mirror, source in zip(mirrors, sources, strict=True):
            try:
                if isinstance(source, Path):
                    contents = _from_folder(source, path.name, expected)
                else:
                    url = f"{source}/{path.name}.gz"
                    contents = _from_server(url, partials, expected, attempts, timeout, progress)
            except _Unusable as failure:
                failures.append(f"{mirror}: {failure}")
                continue
            write_atomically(path, contents)
            for partial in partials.glob(f"{path.name}.gz-*"):
                partial.unlink()
            return mirror
        raise LadderError(
            f"{path.name} could not be fetched: {'; '.join(failures) or 'no mirror is given'}. Set "
            f"mnist_mirror to a URL (http, https, file) or a folder that holds {path.name}.gz, and run again."
        )
    except OSError as error:  # what goes wrong with a mirror is _Unusable: this is our own folder
        raise LadderError(
            f"{path} cannot be written: {error.strerror or error}; make room and check its permissions, "
            "or choose another folder."
        ) from error
    finally:
        with contextlib.suppress(OSError):  # stays while it holds transfers to be resumed
            (path.parent / ".partial").rmdir()


def _holds(path: Path, expected: Expected) -> bool:
    if not path.is_file() or path.stat().st_size != expected.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == expected.sha256


def _source(mirror: str | os.PathLike) -> str | Path:
    """The base URL, or the folder, that `mirror` means."""
    mirror = os.fspath(mirror)
    with contextlib.suppress(ValueError, RuntimeError):  # a malformed host, the home of an unknown user
        parts = urlsplit(mirror)
        if parts.scheme in ("http", "https") and parts.hostname:
            return mirror.rstrip("/")
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
            return Path(url2pathname(parts.path))
        if not parts.scheme and mirror.strip():
            return Path(mirror).expanduser()
    raise LadderError(
        f"The mirror {mirror!r} is neither an http, https or file URL nor a folder; "
        "write https://host/folder, file:///folder or /folder."
    )


def _from_folder(folder: Path, name: str, expected: Expected) -> bytes:
    try:
        if (folder / f"{name}.gz").is_file():
            return _unpacked(folder / f"{name}.gz", expected)
        with (folder / name).open("rb") as file:
            return _checked(file.read(expected.size + 1), expected)
    except FileNotFoundError:
        raise _Unusable(f"no file {name}.gz or {name} there") from None
    except OSError as error:
        raise _Unusable(error.strerror or str(error)) from error


def _from_server(url: str, partials: Path, expected: Expected, attempts: int, timeout: float, progress: bool) -> bytes:
    """Contents of the file at `url`, in at most `attempts` attempts, the pauses between them growing."""
    # A partial file belongs to one URL: the compressed bytes of two mirrors need not agree.
    partial = partials / f"{url.rpartition('/')[2]}-{hashlib.sha256(url.encode()).hexdigest()[:12]}"
    for attempt in itertools.count(1):
        try:
            return _attempt(url, partial, expected, timeout, progress)
        except _Interrupted as failure:
            if attempt >= attempts:
                raise _Unusable(f"{failure} (attempt {attempt} of {attempts})") from failure
        time.sleep(min(PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE))


def _attempt(url: str, partial: Path, expected: Expected, timeout: float, progress: bool) -> bytes:
    """Contents of the file at `url`; a resumed transfer that gives wrong ones is repeated from byte 0."""
    resumed = _transfer(url, partial, expected, timeout, progress)
    try:
        return _unpacked(partial, expected)
    except _Unusable:
        partial.unlink()
        if not resumed:
            raise
    return _attempt(url, partial, expected, timeout, progress)


def _transfer(url: str, partial: Path, expected: Expected, timeout: float, progress: bool) -> bool:
    """Bring `partial` to the end of the file at `url`; return whether its first bytes were there before."""
    longest = expected.size + expected.size // 1000 + BLOCK  # gzip adds less to what it cannot compress
    start = partial.stat().st_size if partial.exists() else 0
    with contextlib.closing(_receive(url, start, timeout)) as stream:
        response = next(stream)
        status = response.status_code
        resumed = start > 0 and status == 206 and _continues(response, start)
        if start and status in (206, 416) and not resumed:
            stream.close()
            partial.unlink()
            return _transfer(url, partial, expected, timeout, progress)
        if status in PASSING:
            raise _Interrupted(f"HTTP status {status}")
        if status != 200 and not resumed:
            raise _Unusable(f"HTTP status {status}")

        length = start if resumed else 0
        rest = response.raw.length_remaining  # by Content-Length, None without it; urllib3 insists on it
        bar = tqdm(
            desc=partial.name.rpartition("-")[0],
            initial=length,
            total=None if rest is None else length + rest,
            unit="B",
            unit_scale=True,
            disable=None if progress else True,  # None: only on a terminal
        )
        with partial.open("ab" if resumed else "wb") as file, bar:
            for block in stream:
                length += len(block)
                if length > longest:
                    partial.unlink()
                    raise _Unusable(f"sends more than {longest} bytes, which cannot be the file")
                file.write(block)
                bar.update(len(block))
    return resumed


def _continues(response: requests.Response, start: int) -> bool:
    """Whether the response carries the file from byte `start` to its end."""
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("Content-Range", ""))
    return bool(found) and (int(found[1]), int(found[2])) == (start, int(found[3]) - 1)


def _receive(url: str, start: int, timeout: float) -> Iterator:
    """Yield the response to GET `url` from byte `start` on, then the blocks of its body as they arrive.

    The transfer runs in a thread of its own, so that one clock bounds whatever a server can draw out (name
    look-up, handshake, headers, body): the response must come within `timeout` seconds, and then each
    `timeout` seconds must bring SLOWEST * `timeout` bytes. Raises _Interrupted.
    """
    arrived, abandoned = queue.SimpleQueue(), threading.Event()
    threading.Thread(target=_send_on, args=(url, start, timeout, arrived, abandoned), daemon=True).start()
    deadline, received, quota = time.monotonic() + timeout, 0, SLOWEST * timeout
    try:
        while True:
            try:
                item = arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                if received < quota:
                    raise _Interrupted(f"stalled: {received} bytes in {timeout:g} s") from None
                deadline, received = time.monotonic() + timeout, 0
                continue
            if item is None:
                return
            if isinstance(item, requests.RequestException | urllib3.exceptions.HTTPError | OSError):
                raise _Interrupted(_root(item)) from item
            if isinstance(item, Exception):
                raise item
            yield item
            if isinstance(item, bytes):
                received += len(item)
            else:
                deadline = time.monotonic() + timeout
    finally:
        abandoned.set()


def _send_on(url: str, start: int, timeout: float, arrived: queue.SimpleQueue, abandoned: threading.Event) -> None:
    """Put the response to a GET, the blocks of its body and None into `arrived`, or the exception met."""
    # The bytes are wanted as the server stores them, because ranges count in those: nothing may be encoded
    # on the way, nor decoded here when a Content-Encoding names the file's own gzip. read1 returns what has
    # come, where read would wait for a whole block.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        # The connection has a third of the time, so that a host's second address has its turn.
        with requests.get(url, headers=headers, stream=True, timeout=(timeout / 3, timeout)) as response:
            arrived.put(response)
            while not abandoned.is_set() and (block := response.raw.read1(BLOCK, decode_content=False)):
                arrived.put(block)
        arrived.put(None)
    except Exception as error:
        arrived.put(error)


def _root(error: BaseException) -> str:
    """What the innermost cause of `error` says: the layers above repeat it with object addresses."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _unpacked(path: Path, expected: Expected) -> bytes:
    """Decompressed contents of a gzip file, at most one byte more than expected in memory."""
    try:
        with gzip.open(path) as file:
            contents = file.read(expected.size + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _Unusable(f"not an intact gzip file ({error})") from error
    return _checked(contents, expected)


def _checked(contents: bytes, expected: Expected) -> bytes:
    if len(contents) > expected.size:
        raise _Unusable(f"holds more than the {expected.size} bytes it should")
    if len(contents) < expected.size:
        raise _Unusable(f"holds {len(contents)} bytes where it should hold {expected.size}")
    if (found := hashlib.sha256(contents).hexdigest()) != expected.sha256:
        raise _Unusable(f"its sha256 is {found} where it should be {expected.sha256}")
    return contents
