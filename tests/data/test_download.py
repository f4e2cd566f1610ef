"""Fetching from mirrors that are honest, broken, slow or gone; the files are small and made up."""

import errno
import gzip
import itertools
import multiprocessing
import os
import random
import re
import resource
import socket
import threading
from concurrent.futures import ProcessPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ladder.data import datasets, download
from ladder.data.download import Expected
from ladder.errors import LadderError

CONTENTS = {
    name: random.Random(seed).randbytes(size)
    for seed, (name, size) in enumerate(zip(datasets.FILES, (20_011, 65, 17, 1), strict=True))
}
EXPECTED = {
    name: Expected(len(contents), download.hashlib.sha256(contents).hexdigest()) for name, contents in CONTENTS.items()
}
PACKED = {f"{name}.gz": gzip.compress(contents) for name, contents in CONTENTS.items()}
FIRST = datasets.TRAIN_IMAGES
BODY = PACKED[f"{FIRST}.gz"]
PATIENT, HASTY = 60.0, 0.5  # timeouts in seconds: for servers that answer, and for those that never do


class Mirror(ThreadingHTTPServer):
    """A server of `files`; its first answers are `faults`, functions of request and body, the rest honest."""

    daemon_threads = True

    def __init__(self, files, faults=()):
        super().__init__(("127.0.0.1", 0), Request)
        self.files, self.faults = files, iter(faults)
        self.asked = []  # (file name, Range header or None)
        self.closing = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # clients hang up on the faulty ones


class Request(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path[1:]
        self.server.asked.append((name, self.headers["Range"]))
        next(self.server.faults, honest)(self, self.server.files.get(name))

    def reply(self, body, status=200, **headers):
        self.send_response(status)
        for key, value in ({"Content_Length": len(body)} | headers).items():
            self.send_header(key.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def drip(self, bytes_):
        """Send a byte at a time, each well within any read timeout, for at most a minute."""
        for byte, _ in zip(bytes_, range(600), strict=False):
            self.wfile.write(bytes([byte]))
            if self.server.closing.wait(0.1):
                return

    def log_message(self, *_):
        pass


def honest(request, body):
    asked = re.fullmatch(r"bytes=(\d+)-", request.headers["Range"] or "")
    if body is None:
        request.reply(b"no such file", 404)
    elif not asked:
        request.reply(body)
    elif (start := int(asked[1])) < len(body):
        rest = f"bytes {start}-{len(body) - 1}/{len(body)}"
        request.reply(body[start:], 206, Content_Range=rest)
    else:
        request.reply(b"", 416)


def cut(request, body):
    """Announce everything, send a third, hang up."""
    request.reply(body[: len(body) // 3], Content_Length=len(body))


def stall_at_once(request, body):
    request.server.closing.wait(60)


def stall_in_body(request, body):
    cut(request, body)
    request.wfile.flush()
    request.server.closing.wait(60)


def drip_headers(request, body):
    request.drip(b"HTTP/1.1 200 OK\r\nX-Filler: " + b"x" * 600)


def drip_body(request, body):
    request.reply(b"", Content_Length=len(body))
    request.drip(body)


def drip_after_a_good_start(request, body):
    cut(request, body)
    request.drip(body[len(body) // 3 :])


def drip_chunk_size(request, body):
    request.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    request.drip(b"ff;" + b"x" * 600)


def hang_up(request, body):
    request.connection.shutdown(socket.SHUT_RDWR)


def status(number):
    return lambda request, body: request.reply(b"<html>sorry</html>", number)


def always(body):
    """Answer 200 with this body."""
    return lambda request, _: request.reply(body)


def flipped(contents, at):
    return contents[:at] + bytes([contents[at] ^ 1]) + contents[at + 1 :]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0.01)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def serve():
    """Start a Mirror; all are closed in the end."""
    mirrors = []

    def start(faults=(), files=PACKED):
        mirror = Mirror(files, faults)
        mirrors.append(mirror)
        threading.Thread(target=mirror.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return mirror

    yield start
    for mirror in mirrors:
        mirror.closing.set()
        mirror.shutdown()
        mirror.server_close()


@pytest.fixture
def good(tmp_path):
    """A folder that is a sound mirror."""
    folder = tmp_path / "good mirror"
    folder.mkdir()
    for name, body in PACKED.items():
        (folder / name).write_bytes(body)
    return folder


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data" / "mnist"


def fetch(folder, *mirrors, timeout=PATIENT, attempts=3, files=EXPECTED):
    datasets.mnist(folder, [getattr(mirror, "url", mirror) for mirror in mirrors], attempts, timeout, files=files)


def fetch_first(folder, *mirrors, **options):
    fetch(folder, *mirrors, files={FIRST: EXPECTED[FIRST]}, **options)


def failure(folder, *mirrors, **options):
    """The sentence with which fetching the first file fails, leaving nothing that could be taken for it."""
    with pytest.raises(LadderError) as caught:
        fetch_first(folder, *mirrors, **options)
    assert not [path for path in folder.glob("*") if path.name != ".partial"]
    return str(caught.value)


def assert_complete(folder, names=CONTENTS):
    """The files are right and nothing else lies beside them."""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {name: CONTENTS[name] for name in names}


def dead_url():
    """A URL at which nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}/mnist"


# Where mirrors may be


def test_http(serve, folder):
    mirror = serve()
    fetch(folder, mirror)
    assert_complete(folder)
    assert mirror.asked == [(name, None) for name in PACKED]


@pytest.mark.parametrize("ending", ["", "/"])
def test_http_below_a_path(serve, folder, ending):
    mirror = serve(files={f"a/b/{name}": body for name, body in PACKED.items()})
    fetch(folder, f"{mirror.url}/a/b{ending}")
    assert_complete(folder)


def test_folders_and_file_urls(good, folder, monkeypatch):
    monkeypatch.chdir(good.parent)
    monkeypatch.setenv("HOME", str(good.parent))
    mirrors = good, str(good), good.name, f"~/{good.name}", good.as_uri(), f"file://localhost{good}"
    for number, mirror in enumerate(mirrors):
        fetch(folder / str(number), mirror)
        assert_complete(folder / str(number))


def test_uncompressed_files_in_a_folder(tmp_path, folder):
    for name, contents in CONTENTS.items():
        (tmp_path / name).write_bytes(contents)
    fetch(folder, tmp_path)
    assert_complete(folder)


@pytest.mark.parametrize("contents", [flipped(CONTENTS[FIRST], 5), CONTENTS[FIRST][:-1], b"", BODY[:-9]])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_folder_is_checked_like_a_server(tmp_path, good, folder, contents, suffix):
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / f"{FIRST}{suffix}").write_bytes(contents)
    assert str(bad) in failure(folder, bad)
    fetch_first(folder, bad, good)
    assert_complete(folder, [FIRST])


@pytest.mark.parametrize(
    "mirror",
    [
        "ftp://host/mnist",
        "s3://bucket/mnist",
        "htps://host/mnist",
        "http:/host/mnist",
        "http:///mnist",
        "https://",
        "http://[::1/mnist",
        "host:8000/mnist",
        "file://mnist/folder",
        "~no-such-user-here/mnist",
        "",
        " ",
    ],
)
def test_a_mirror_that_makes_no_sense(good, folder, mirror):
    sentence = failure(folder, good, mirror)
    assert repr(mirror) in sentence
    assert "https://host/folder" in sentence


def test_a_missing_folder_and_no_mirror(tmp_path, folder):
    assert f"{tmp_path / 'nowhere'}: no file {FIRST}.gz" in failure(folder, tmp_path / "nowhere")
    assert "no mirror is given" in failure(folder)


# What is there already


def test_right_files_are_left_alone(serve, good, folder):
    fetch(folder, good)
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    (folder / FIRST).write_bytes(flipped(CONTENTS[FIRST], 100))
    mirror = serve()
    fetch(folder, mirror)
    assert_complete(folder)
    assert mirror.asked == [(f"{FIRST}.gz", None)]
    after = {path.name: path.stat().st_ino for path in folder.iterdir()}
    assert {name for name in CONTENTS if after[name] != before[name]} == {FIRST}


# Bytes that must never be used

BAD_BODIES = {
    "flipped in the stream": flipped(BODY, len(BODY) // 2),
    "flipped in the checksum": flipped(BODY, len(BODY) - 6),
    "flipped before packing": gzip.compress(flipped(CONTENTS[FIRST], 7)),
    "nonsense in the stream": BODY[:10] + b"\xff" * 100,
    "cut, with a matching length": BODY[: len(BODY) // 2],
    "cut by one byte": BODY[:-1],
    "followed by more": BODY + b"more",
    "short": gzip.compress(CONTENTS[FIRST][:-1]),
    "long": gzip.compress(CONTENTS[FIRST] + b"\0"),
    "bomb": gzip.compress(bytes(50_000_000)),
    "packed twice": gzip.compress(BODY),
    "not packed": CONTENTS[FIRST],
    "html": b"<!DOCTYPE html><html><title>404 Not Found</title></html>",
    "empty": b"",
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_wrong_bytes(serve, good, folder, body):
    alone = serve(itertools.repeat(always(body)))
    sentence = failure(folder, alone)
    assert alone.url in sentence
    assert "mnist_mirror" in sentence
    assert len(alone.asked) == 1  # what a server holds will not get better
    assert not (folder / ".partial").exists()

    fetch_first(folder, serve([always(body)]), good)
    assert_complete(folder, [FIRST])


def test_wrong_bytes_are_named(serve, folder):
    def sentence(body):
        return failure(folder, serve([always(body)]))

    assert "not an intact gzip file" in sentence(BAD_BODIES["html"])
    assert "holds 20010 bytes where it should hold 20011" in sentence(BAD_BODIES["short"])
    assert "holds more than the 20011 bytes" in sentence(BAD_BODIES["long"])
    assert f"should be {EXPECTED[FIRST].sha256}" in sentence(BAD_BODIES["flipped before packing"])


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """Reading one byte more than expected tells; no read may ask for more, and none for everything."""
    asked = []
    read = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda file, size=-1: asked.append(size) or read(file, size))
    (tmp_path / f"{FIRST}.gz").write_bytes(BAD_BODIES["bomb"])
    failure(tmp_path / "data", tmp_path)
    assert asked == [EXPECTED[FIRST].size + 1]


def test_a_server_that_never_ends(serve, good, folder):
    def endless(request, body):
        request.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        while not request.server.closing.is_set():
            request.wfile.write(BODY)

    assert "which cannot be the file" in failure(folder, serve([endless]))
    assert not (folder / ".partial").exists()
    fetch_first(folder, serve([endless]), good)
    assert_complete(folder, [FIRST])


def test_content_encoding_that_names_the_files_own_gzip(serve, folder):
    fetch_first(folder, serve([lambda request, body: request.reply(body, Content_Encoding="gzip")]))
    assert_complete(folder, [FIRST])


# Servers that fail


@pytest.mark.parametrize("number", [401, 403, 404, 410, 206, 204, 416])
def test_a_final_status_sends_us_to_the_next_mirror_at_once(serve, good, folder, number):
    mirror = serve(itertools.repeat(status(number)))
    assert f"{mirror.url}: HTTP status {number}. " in failure(folder, mirror)
    assert len(mirror.asked) == 1
    fetch_first(folder, mirror, good)
    assert_complete(folder, [FIRST])


@pytest.mark.parametrize("fault", [status(503), status(429), hang_up, cut])
def test_a_passing_fault_is_retried(serve, folder, fault):
    mirror = serve([fault, fault])
    fetch_first(folder, mirror, attempts=3)
    assert_complete(folder, [FIRST])
    assert len(mirror.asked) == 3


@pytest.mark.parametrize("attempts", [1, 2])
def test_attempts_are_limited(serve, folder, attempts):
    mirror = serve(itertools.repeat(status(503)))
    assert f"HTTP status 503 (attempt {attempts} of {attempts})" in failure(folder, mirror, attempts=attempts)
    assert len(mirror.asked) == attempts


def test_pauses_double_up_to_a_limit(serve, folder, monkeypatch):
    pauses = []
    monkeypatch.setattr(download, "PAUSE", 1.0)
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    failure(folder, serve(itertools.repeat(status(503))), attempts=8)
    assert pauses == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(
    "fault",
    [stall_at_once, stall_in_body, drip_headers, drip_body, drip_after_a_good_start, drip_chunk_size],
    ids=lambda fault: fault.__name__,
)
def test_a_server_that_holds_us_up(serve, good, folder, fault):
    mirror = serve(itertools.repeat(fault))
    sentence = failure(folder, mirror, timeout=HASTY, attempts=2)
    assert re.search(r"(stalled: \d+ bytes in 0.5 s|timed out)", sentence)
    assert len(mirror.asked) == 2
    fetch_first(folder, mirror, good, timeout=HASTY, attempts=1)
    assert_complete(folder, [FIRST])


def test_a_slow_server_that_keeps_the_pace_is_let_finish(serve, folder, monkeypatch):
    """It takes several timeouts in all; each brings more than the slowest allowed rate."""
    monkeypatch.setattr(download, "SLOWEST", 500)

    def pieces(request, body):
        request.reply(b"", Content_Length=len(body))
        for start in range(0, len(body), 1001):
            request.wfile.write(body[start : start + 1001])
            request.server.closing.wait(0.1)

    fetch_first(folder, serve([pieces]), timeout=1.0, attempts=1)
    assert_complete(folder, [FIRST])


def test_the_first_mirror_is_down(serve, folder):
    mirror = serve()
    fetch(folder, dead_url(), mirror)
    assert_complete(folder)


def test_a_mirror_that_served_is_asked_first_for_the_next_file(serve, folder):
    broken, sound = serve(itertools.repeat(status(404))), serve()
    fetch(folder, broken, sound)
    assert_complete(folder)
    assert broken.asked == [(f"{FIRST}.gz", None)]


def test_an_unknown_host(folder):
    assert "http://nowhere.invalid: " in failure(folder, "http://nowhere.invalid", attempts=1)


def test_all_mirrors_fail_in_one_sentence(serve, tmp_path, folder):
    dead, missing, html = dead_url(), serve([status(404)]), serve([always(BAD_BODIES["html"])])
    sentence = failure(folder, dead, missing, html, tmp_path)
    assert sentence.startswith(f"{FIRST} could not be fetched: {dead}: Connection refused (attempt 3 of 3); ")
    assert f"{missing.url}: HTTP status 404; " in sentence
    assert f"{html.url}: not an intact gzip file" in sentence
    assert f"{tmp_path}: no file {FIRST}.gz" in sentence
    assert "mnist_mirror" in sentence
    assert "\n" not in sentence


# Resuming


def test_resume_asks_for_the_rest_only(serve, folder):
    sent = []

    def counted(request, body):
        honest(request, body)
        sent.append(int(request.headers["Range"].removeprefix("bytes=").removesuffix("-")))

    mirror = serve([cut, counted])
    fetch_first(folder, mirror)
    assert_complete(folder, [FIRST])
    third = len(BODY) // 3
    assert mirror.asked == [(f"{FIRST}.gz", None), (f"{FIRST}.gz", f"bytes={third}-")]
    assert sent == [third]


def test_resume_in_another_run(serve, folder):
    mirror = serve([cut])
    failure(folder, mirror, attempts=1)
    assert [path.stat().st_size for path in (folder / ".partial").iterdir()] == [len(BODY) // 3]
    fetch_first(folder, mirror, attempts=1)
    assert_complete(folder, [FIRST])
    assert [asked for _, asked in mirror.asked] == [None, f"bytes={len(BODY) // 3}-"]


def test_resume_twice(serve, folder):
    def cut_again(request, body):
        start = len(BODY) // 3
        whole = f"bytes {start}-{len(body) - 1}/{len(body)}"
        request.reply(body[start : start + 1], 206, Content_Range=whole, Content_Length=len(body) - start)

    mirror = serve([cut, cut_again])
    fetch_first(folder, mirror)
    assert_complete(folder, [FIRST])
    third = len(BODY) // 3
    assert [asked for _, asked in mirror.asked] == [None, f"bytes={third}-", f"bytes={third + 1}-"]


@pytest.mark.parametrize("header", [{}, {"Content_Range": f"bytes {len(BODY) // 3}-{len(BODY) - 1}/{len(BODY)}"}])
def test_a_server_that_ignores_ranges(serve, folder, header):
    """Status 200 means the whole file, whatever the headers say."""
    mirror = serve([cut, lambda request, body: request.reply(body, **header)])
    fetch_first(folder, mirror, attempts=2)
    assert_complete(folder, [FIRST])
    assert len(mirror.asked) == 2


WRONG_RANGES = {
    "starts elsewhere": "bytes 0-{last}/{size}",
    "ends early": "bytes {third}-{third}/{size}",
    "other size": "bytes {third}-{last}/99999",
    "unknown size": "bytes {third}-{last}/*",
    "other unit": "items {third}-{last}/{size}",
    "nonsense": "all of it",
    "none": None,
}


@pytest.mark.parametrize("header", WRONG_RANGES.values(), ids=WRONG_RANGES)
def test_a_wrong_content_range_starts_over(serve, folder, header):
    third = len(BODY) // 3

    def wrong(request, body):
        filled = header and header.format(third=third, last=len(body) - 1, size=len(body))
        request.reply(body[third:], 206, **({"Content_Range": filled} if filled else {}))

    mirror = serve([cut, wrong])
    fetch_first(folder, mirror, attempts=2)  # starting over is part of the second attempt
    assert_complete(folder, [FIRST])
    assert [asked for _, asked in mirror.asked] == [None, f"bytes={third}-", None]


def leave_partial(serve, folder, contents):
    """A mirror, and a partial file of it with these contents left by an earlier run."""
    mirror = serve([cut])
    failure(folder, mirror, attempts=1)
    (partial,) = (folder / ".partial").iterdir()
    partial.write_bytes(contents)
    mirror.asked.clear()
    return mirror


@pytest.mark.parametrize("contents", [BODY, BODY + b"more", bytes(1_000_000)])
def test_a_partial_file_that_cannot_be_continued(serve, folder, contents):
    mirror = leave_partial(serve, folder, contents)
    fetch_first(folder, mirror, attempts=1)
    assert_complete(folder, [FIRST])
    assert [asked for _, asked in mirror.asked] == [f"bytes={len(contents)}-", None]


@pytest.mark.parametrize("contents", [b"x", b"x" * 1001, flipped(BODY[:-1], 1000)])
def test_a_wrong_resumed_file_is_fetched_from_scratch(serve, folder, contents):
    mirror = leave_partial(serve, folder, contents)
    fetch_first(folder, mirror, attempts=1)
    assert_complete(folder, [FIRST])
    assert [asked for _, asked in mirror.asked] == [f"bytes={len(contents)}-", None]


def test_one_mirrors_partial_file_is_never_continued_with_another(serve, folder):
    """The same contents, packed differently: the bytes of the two must not mix."""
    other = {name: gzip.compress(CONTENTS[name.removesuffix(".gz")], 0) for name in PACKED}
    broken, sound = serve(itertools.repeat(cut)), serve(files=other)
    fetch_first(folder, broken, sound)
    assert_complete(folder, [FIRST])
    assert sound.asked == [(f"{FIRST}.gz", None)]


# Our own disk


def test_a_folder_that_cannot_be_made(good, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LadderError, match=r"cannot be written: .*choose another folder"):
        fetch_first(tmp_path / "file" / "mnist", good)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission(good, folder):
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    with pytest.raises(LadderError, match="Permission denied"):
        fetch_first(folder, good)


@pytest.fixture
def small_files():
    """A process whose files can't grow beyond 1000 bytes, which the kernel reports as it would a full disk.

    It is not this one: what pytest prints may go to a file, too.
    """
    limit = (resource.RLIMIT_FSIZE, (1000, 1000))
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawned, initializer=resource.setrlimit, initargs=limit) as pool:
        yield pool


def test_a_disk_that_takes_no_more(serve, good, folder, small_files):
    for mirror in (good, serve().url):
        call = small_files.submit(datasets.mnist, folder, [mirror], 3, PATIENT, files={FIRST: EXPECTED[FIRST]})
        with pytest.raises(LadderError, match=f"{os.strerror(errno.EFBIG)}.*make room"):
            call.result()
        assert not [path for path in folder.glob("*") if path.name != ".partial"]


def test_write_atomically_keeps_the_old_file(tmp_path, small_files):
    path = tmp_path / "file"
    download.write_atomically(path, b"old")
    with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        small_files.submit(download.write_atomically, path, bytes(1001)).result()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# The real files, where there are any


@pytest.mark.skipif("LADDER_MNIST" not in os.environ, reason="LADDER_MNIST names no folder of MNIST's .gz files")
@pytest.mark.parametrize(
    "fault",
    [
        honest,
        cut,
        stall_in_body,
        drip_body,
        status(404),
        always(BAD_BODIES["html"]),
        lambda request, body: request.reply(body[: len(body) // 2]),
        lambda request, body: request.reply(flipped(body, len(body) // 2)),
    ],
    ids=["honest", "cut", "stall", "drip", "404", "html", "truncated", "flipped"],
)
def test_real_mnist(serve, folder, fault):
    source = Path(os.environ["LADDER_MNIST"])
    files = {f"{name}.gz": (source / f"{name}.gz").read_bytes() for name in datasets.FILES}
    met = set()

    def faulty_once(request, body):
        """Answer the first request for each file with the fault."""
        answer = honest if request.path in met else fault
        met.add(request.path)
        answer(request, body)

    faulty, sound = serve(itertools.repeat(faulty_once), files), serve(files=files)
    for name, expected in datasets.FILES.items():  # one by one, so that the faulty mirror comes first each time
        mirrors = [dead_url(), faulty.url, sound.url]
        datasets.mnist(folder, mirrors, timeout=2.0, files={name: expected})
    assert len(met) == 4
    dataset = datasets.load(folder)
    assert dataset.train_images.shape == (60_000, 28, 28)
    assert dataset.test_labels.shape == (10_000,)
