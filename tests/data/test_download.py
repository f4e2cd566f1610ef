"""Fetching from mirrors that are correct, faulty or unavailable; the files are small and synthetic."""

import gzip
import hashlib
import itertools
import re
import shlex
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ladder.data import dataset, download, mnist
from ladder.errors import LadderError

SIZES = (20_011, 65, 17, 1)
CONTENTS = {name: bytes(i % 251 for i in range(size)) for name, size in zip(dataset.FILES, SIZES, strict=True)}
EXPECTED = {name: download.Expected(len(one), hashlib.sha256(one).hexdigest()) for name, one in CONTENTS.items()}
PACKED = {f"{name}.gz": gzip.compress(contents) for name, contents in CONTENTS.items()}
FIRST = dataset.TRAIN_IMAGES
BODY = PACKED[f"{FIRST}.gz"]


class Request(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path[1:])
        next(self.server.faults, honest)(self, PACKED.get(self.path[1:]))

    def reply(self, body, status=200, **headers):
        self.send_response(status)
        for key, value in ({"Content_Length": len(body)} | headers).items():
            self.send_header(key.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def honest(request, body):
    request.reply(body or b"no such file", 200 if body else 404)


def cut(request, body):
    """Announce everything, send a third, hang up."""
    request.reply(body[: len(body) // 3], Content_Length=len(body))


def hang_up(request, body):
    request.connection.shutdown(socket.SHUT_RDWR)


def endless(request, body):
    request.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
    for _ in range(1000):
        request.wfile.write(BODY)


def status(number):
    return lambda request, body: request.reply(b"<html>sorry</html>", number, Retry_After=3600)


def always(body, **headers):
    return lambda request, _: request.reply(body, **headers)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(download, "RETRIES", download.RETRIES.new(backoff_factor=0))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def serve():
    """A function that starts a mirror whose first responses are `faults`, the others correct."""
    servers = []

    def start(*faults):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        server.faults, server.asked, server.daemon_threads = iter(faults), [], True
        server.handle_error = lambda *_: None  # clients hang up on the faulty ones
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def good(tmp_path):
    """A folder that is a sound mirror."""
    folder = tmp_path / "good mirror"
    folder.mkdir()
    for name, body in PACKED.items():
        (folder / name).write_bytes(body)
    return folder


def fetch(folder, *mirrors, names=(FIRST,)):
    mnist.write(
        folder, [getattr(mirror, "url", mirror) for mirror in mirrors], {name: EXPECTED[name] for name in names}
    )
    sums = "".join(f"{EXPECTED[name].sha256}  {name}\n" for name in names).encode()
    due = {name: CONTENTS[name] for name in names} | {"SHA256SUMS": sums}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == due


def failure(folder, *mirrors):
    """The message with which fetching fails, writing nothing."""
    with pytest.raises(LadderError) as caught:
        fetch(folder, *mirrors)
    assert not list(folder.glob("*"))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_servers_folders_and_file_urls(serve, good, tmp_path, monkeypatch):
    monkeypatch.chdir(good.parent)
    monkeypatch.setenv("HOME", str(good.parent))
    mirror = serve()
    plain = tmp_path / "plain"
    fetch(plain, f"{mirror.url}/", names=dataset.FILES)
    assert mirror.asked == list(PACKED)
    for number, where in enumerate(
        [good, good.name, f"~/{good.name}", good.as_uri(), f"file://localhost{good}", plain]
    ):
        fetch(tmp_path / str(number), where, names=dataset.FILES)


@pytest.mark.parametrize(
    "mirror",
    ["ftp://host/mnist", "http:///mnist", "http://[::1/mnist", "host:8000/m", "file://mnist/m", "~none/m", " "],
)
def test_a_mirror_that_makes_no_sense(good, tmp_path, mirror):
    sentence = failure(tmp_path / "data", good, mirror)
    assert repr(mirror) in sentence
    assert "https://host/folder" in sentence


def test_right_files_are_left_alone_and_wrong_ones_replaced(serve, good, tmp_path):
    fetch(tmp_path / "data", good, names=dataset.FILES)
    (tmp_path / "data" / FIRST).write_bytes(CONTENTS[FIRST][::-1])
    mirror = serve()
    fetch(tmp_path / "data", mirror, names=dataset.FILES)
    assert mirror.asked == [f"{FIRST}.gz"]


BAD_BODIES = {
    "flipped": (BODY[:50] + bytes([BODY[50] ^ 1]) + BODY[51:], "not an intact gzip file|its sha256 is"),
    "flipped before packing": (gzip.compress(CONTENTS[FIRST][::-1]), f"its sha256 is .* be {EXPECTED[FIRST].sha256}"),
    "truncated": (BODY[: len(BODY) // 2], "not an intact gzip file"),
    "followed by more": (BODY + b"more", "not an intact gzip file"),
    "short": (gzip.compress(CONTENTS[FIRST][:-1]), "holds 20010 bytes where it should hold 20011 bytes"),
    "bomb": (gzip.compress(bytes(50_000_000)), "holds more than 20011 bytes"),
    "not packed": (CONTENTS[FIRST], "not an intact gzip file"),
    "html": (b"<!DOCTYPE html><html><title>404 Not Found</title></html>", "not an intact gzip file"),
    "empty": (b"", "holds 0 bytes"),
}


@pytest.mark.parametrize(("body", "said"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_wrong_bytes_are_never_used(serve, good, tmp_path, body, said):
    alone, bad = serve(always(body)), tmp_path / "bad"
    assert_said(failure(tmp_path / "none", alone), alone.url, said)
    assert len(alone.asked) == 1  # what a server holds will not get better
    bad.mkdir()
    (bad / f"{FIRST}.gz").write_bytes(body)
    assert_said(failure(tmp_path / "none", bad), bad, said)
    fetch(tmp_path / "data", serve(always(body)), bad, good)


def assert_said(sentence, mirror, said):
    assert re.search(f"{re.escape(str(mirror))}: .*({said})", sentence), sentence
    assert "mnist_mirror" in sentence


@pytest.mark.parametrize(
    ("fault", "attempts", "said"),
    [
        (status(404), 1, "HTTP status 404"),
        (status(204), 1, "HTTP status 204"),
        (status(503), 4, "too many 503 error responses"),
        (hang_up, 4, "closed connection without response|reset"),
        (cut, 1, "not an intact gzip file"),
        (endless, 1, "sends more than"),
    ],
)
def test_a_faulty_server_is_tried_again_where_that_may_help_then_the_next(serve, good, tmp_path, fault, attempts, said):
    mirror = serve(*itertools.repeat(fault, 20))
    assert_said(failure(tmp_path / "none", mirror), mirror.url, said)
    assert len(mirror.asked) == attempts
    fetch(tmp_path / "data", mirror, good)


@pytest.mark.parametrize("fault", [status(503), hang_up])
def test_a_passing_fault_is_retried(serve, tmp_path, fault):
    fetch(tmp_path / "data", serve(fault, fault))


def test_content_encoding_that_names_the_files_own_gzip(serve, tmp_path):
    fetch(tmp_path / "data", serve(always(BODY, Content_Encoding="gzip")))


def test_a_server_that_falls_silent(serve, good, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    closing = threading.Event()
    fetch(tmp_path / "data", serve(*[lambda request, body: closing.wait(60)] * 4), good)
    closing.set()


def test_all_mirrors_fail_in_one_sentence(serve, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}/mnist"
    sentence = failure(tmp_path / "data", dead, serve(status(404)), tmp_path)
    for part in (
        f"{FIRST} can't be fetched: {dead}: Connection refused; ",
        "HTTP status 404; ",
        f"{tmp_path}: No such",
    ):
        assert part in sentence
    assert "no mirror is given" in failure(tmp_path / "data")


def test_a_folder_that_cannot_be_made_or_takes_no_more(good, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LadderError, match=r"can't be written: .*Make room"):
        fetch(tmp_path / "file" / "mnist", good)
    script = f"from ladder.data import mnist; mnist.write({str(tmp_path / 'data')!r}, [{str(good)!r}], expected)"
    script = f"from ladder.data.download import Expected; expected = { ({FIRST: EXPECTED[FIRST]})!r}; {script}"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; exec {shlex.quote(sys.executable)} -c {script!r}"], capture_output=True, text=True
    )
    assert "can't be written: File too large. Make room" in done.stderr
    assert not list((tmp_path / "data").iterdir())
