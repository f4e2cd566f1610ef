"""Download a gzip-compressed file from the first mirror that has it, and check its size and SHA-256 checksum."""

import contextlib
import gzip
import hashlib
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
import urllib3
from requests.adapters import HTTPAdapter

from ladder.errors import LadderError
from ladder.records.files import write_atomically

TIMEOUT = 30  # seconds for a connection, and for each read
# Three more attempts, with pauses of 0, 2 and 4 s, after failed connections and statuses that may be temporary; the
# pause that a server asks for is ignored.
TRANSIENT_STATUSES = (408, 425, 429, 500, 502, 503, 504)
RETRIES = urllib3.Retry(3, backoff_factor=1, status_forcelist=TRANSIENT_STATUSES, respect_retry_after_header=False)


class ExpectedFile(NamedTuple):
    """The size in bytes and the SHA-256 checksum (hexadecimal) of a file after decompression."""

    size: int
    sha256: str


class UnusableFile(Exception):
    """A mirror's file can't be used; the message is the reason."""


def fetch(path: Path, expected: ExpectedFile, mirrors: Sequence[Path | str]) -> Path | str | None:
    """Download `{path.name}.gz` from the first mirror that has it, decompress it to `path`, and return that mirror.

    Returns None if `path` already has the expected contents. A mirror is a URL (http, https, file) or a folder, which
    may hold the decompressed file instead. Raises LadderError if a mirror is malformed, if `path` can't be written, or,
    naming the key `mnist_mirror`, if no mirror has the expected contents.
    """
    path = Path(path)
    failures = []
    with contextlib.suppress(UnusableFile, OSError):
        require_expected(path.read_bytes(), expected)
        return None
    for mirror, source in [(mirror, parse_mirror(str(mirror))) for mirror in mirrors]:
        try:
            contents = require_expected(read_from_mirror(source, path.name, expected.size), expected)
        except (UnusableFile, OSError, urllib3.exceptions.HTTPError) as error:  # `requests` raises OSErrors
            failures.append(f"{mirror}: {cause(error)}")
        else:
            write_atomically(path, contents)
            return mirror
    raise LadderError(
        f"{path.name} can't be fetched: {'; '.join(failures) or 'no mirror is given'}. Set mnist_mirror to a URL "
        f"(http, https, file) or a folder that holds {path.name}.gz, and run again."
    )


def parse_mirror(mirror: str) -> Path | str:
    """A mirror's text as the URL of a server, or as the Path of a folder."""
    with contextlib.suppress(ValueError, RuntimeError):  # for a malformed host, or `~` of an unknown user
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


def read_from_mirror(source: Path | str, name: str, size: int) -> bytes:
    """The contents of the file `name`, whose expected size in bytes is `size`, from a folder or a server's URL."""
    if isinstance(source, Path):
        return read_from_folder(source, name, size)
    return read_from_server(source, name, size)


def read_from_folder(folder: Path, name: str, size: int) -> bytes:
    """The file's contents from a folder, compressed or not."""
    compressed = folder / f"{name}.gz"
    return decompress(compressed.read_bytes(), size) if compressed.is_file() else (folder / name).read_bytes()


def read_from_server(url: str, name: str, size: int) -> bytes:
    """The file's contents from a server, which must not send more bytes than the compressed file can have."""
    max_bytes = size + size // 1000 + 2**16  # gzip enlarges incompressible data by less than this
    with requests.Session() as session:
        session.mount(url, HTTPAdapter(max_retries=RETRIES))
        # `identity` asks for the file as stored; a server may declare its gzip as Content-Encoding all the same.
        headers = {"Accept-Encoding": "identity"}
        response = session.get(f"{url}/{name}.gz", headers=headers, stream=True, timeout=TIMEOUT)
        if response.status_code != 200:
            raise UnusableFile(f"HTTP status {response.status_code}")
        compressed = response.raw.read(max_bytes + 1, decode_content=False)
    if len(compressed) > max_bytes:
        raise UnusableFile(f"sends more than {max_bytes} bytes, which can't be the file")
    return decompress(compressed, size)


def decompress(compressed: bytes, size: int) -> bytes:
    """The contents of a gzip file, at most `size` + 1 bytes of them."""
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(compressed)).read(size + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UnusableFile(f"not an intact gzip file ({error})") from None


def require_expected(contents: bytes, expected: ExpectedFile) -> bytes:
    """Return the contents. Raises UnusableFile if their size or checksum isn't the expected one."""
    if len(contents) != expected.size:
        amount = "more than" if len(contents) > expected.size else f"{len(contents)} bytes where it should hold"
        raise UnusableFile(f"holds {amount} {expected.size} bytes")
    if (sha256 := hashlib.sha256(contents).hexdigest()) != expected.sha256:
        raise UnusableFile(f"its sha256 is {sha256} where it should be {expected.sha256}")
    return contents


def cause(error: BaseException) -> str:
    """The message of an error's innermost cause: outer messages repeat it and add the addresses of objects."""
    while inner := error.__cause__ or (not error.__suppress_context__ and error.__context__):
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
