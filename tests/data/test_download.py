"""Downloads from mirrors that are correct, faulty or unavailable; the files are small and synthetic."""

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

SIZES = (20_011, 65, 17, 1)  # in bytes, made up
CONTENTS = {name: bytes(i % 251 for i in range(size)) for name, size in zip(dataset.FILES, SIZES, strict=True)}
EXPECTED = {
    name: download.ExpectedFile(len(contents), hashlib.sha256(contents).hexdigest())
    for name, contents in CONTENTS.items()
}
GZIPPED_FILES = {f"{name}.gz": gzip.compress(contents) for name, contents in CONTENTS.items()}
FIRST_NAME = dataset.TRAIN_IMAGES
GZIPPED_FIRST = GZIPPED_FILES[f"{FIRST_NAME}.gz"]


class Handler(BaseHTTPRequestHandler):
    """A mirror that replies by the next of its server's faults, and correctly when there is none left."""

    def do_GET(self):
        self.server.requested.append(self.path[1:])
        next(self.server.faults, reply_correctly)(self, GZIPPED_FILES.get(self.path[1:]))

    def reply(self, body, status=200, **headers):
        self.send_response(status)
        # A keyword can't have the hyphens of a header.
        for key, value in ({"Content_Length": len(body)} | headers).items():
            self.send_header(key.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def reply_correctly(handler, body):
    handler.reply(body or b"no such file", 200 if body else 404)


def reply_truncated(handler, body):
    """Announce the whole body, send a third of it, and close the connection."""
    handler.reply(body[: len(body) // 3], Content_Length=len(body))


def close_connection(handler, body):
    handler.connection.shutdown(socket.SHUT_RDWR)


def reply_endlessly(handler, body):
    handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
    for _ in range(1000):
        handler.wfile.write(GZIPPED_FIRST)


def reply_with_status(number):
    return lambda handler, body: handler.reply(b"<html>sorry</html>", number, Retry_After=3600)  # which must be ignored


def reply_with_body(body, **headers):
    return lambda handler, _: handler.reply(body, **headers)


@pytest.fixture(autouse=True)
def disable_pauses_and_proxy(monkeypatch):
    monkeypatch.setattr(download, "RETRIES", download.RETRIES.new(backoff_factor=0))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def serve():
    """A function that starts a mirror whose first responses are `faults`, the others correct."""
    servers = []

    def start(*faults):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.faults, server.requested, server.daemon_threads = iter(faults), [], True
        server.handle_error = lambda *_: None  # clients close connections to faulty servers
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def mirror_folder(tmp_path):
    """A folder that is a correct mirror."""
    folder = tmp_path / "sound mirror"
    folder.mkdir()
    for name, body in GZIPPED_FILES.items():
        (folder / name).write_bytes(body)
    return folder


def fetch_and_verify(folder, *mirrors, names=(FIRST_NAME,)):
    """Download files, and assert that the folder then has exactly them and their checksums."""
    mnist.write(
        folder, [getattr(mirror, "url", mirror) for mirror in mirrors], {name: EXPECTED[name] for name in names}
    )
    checksums = "".join(f"{EXPECTED[name].sha256}  {name}\n" for name in names).encode()
    expected = {name: CONTENTS[name] for name in names} | {"SHA256SUMS": checksums}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == expected


def failure(folder, *mirrors):
    """The message of a download that fails and writes nothing."""
    with pytest.raises(LadderError) as caught:
        fetch_and_verify(folder, *mirrors)
    assert not list(folder.glob("*"))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_servers_folders_and_file_urls_can_be_mirrors(serve, mirror_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(mirror_folder.parent)
    monkeypatch.setenv("HOME", str(mirror_folder.parent))
    server = serve()
    plain = tmp_path / "plain"
    fetch_and_verify(plain, f"{server.url}/", names=dataset.FILES)
    assert server.requested == list(GZIPPED_FILES)
    for number, source in enumerate(
        [
            mirror_folder,
            mirror_folder.name,
            f"~/{mirror_folder.name}",
            mirror_folder.as_uri(),
            f"file://localhost{mirror_folder}",
            plain,
        ]
    ):
        fetch_and_verify(tmp_path / str(number), source, names=dataset.FILES)


@pytest.mark.parametrize(
    "mirror",
    ["ftp://host/mnist", "http:///mnist", "http://[::1/mnist", "host:8000/m", "file://mnist/m", "~none/m", " "],
)
def test_a_malformed_mirror_is_refused(mirror_folder, tmp_path, mirror):
    message = failure(tmp_path / "data", mirror_folder, mirror)
    assert repr(mirror) in message
    assert "https://host/folder" in message


def test_correct_files_are_kept_and_wrong_ones_replaced(serve, mirror_folder, tmp_path):
    fetch_and_verify(tmp_path / "data", mirror_folder, names=dataset.FILES)
    (tmp_path / "data" / FIRST_NAME).write_bytes(CONTENTS[FIRST_NAME][::-1])
    mirror = serve()
    fetch_and_verify(tmp_path / "data", mirror, names=dataset.FILES)
    assert mirror.requested == [f"{FIRST_NAME}.gz"]


BAD_BODIES = {
    "flipped": (
        GZIPPED_FIRST[:50] + bytes([GZIPPED_FIRST[50] ^ 1]) + GZIPPED_FIRST[51:],
        "not an intact gzip file|its sha256 is",
    ),
    "flipped before packing": (
        gzip.compress(CONTENTS[FIRST_NAME][::-1]),
        f"its sha256 is .* be {EXPECTED[FIRST_NAME].sha256}",
    ),
    "truncated": (GZIPPED_FIRST[: len(GZIPPED_FIRST) // 2], "not an intact gzip file"),
    "followed by more": (GZIPPED_FIRST + b"more", "not an intact gzip file"),
    "short": (gzip.compress(CONTENTS[FIRST_NAME][:-1]), "holds 20010 bytes where it should hold 20011 bytes"),
    "bomb": (gzip.compress(bytes(50_000_000)), "holds more than 20011 bytes"),
    "not packed": (CONTENTS[FIRST_NAME], "not an intact gzip file"),
    "html": (b"<!DOCTYPE html><html><title>404 Not Found</title></html>", "not an intact gzip file"),
    "empty": (b"", "holds 0 bytes"),
}


@pytest.mark.parametrize(("body", "reason"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_wrong_bytes_are_never_used(serve, mirror_folder, tmp_path, body, reason):
    bad_server, bad_mirror = serve(reply_with_body(body)), tmp_path / "bad_mirror"
    assert_reason(failure(tmp_path / "none", bad_server), bad_server.url, reason)
    assert len(bad_server.requested) == 1  # a retry would receive the same bytes
    bad_mirror.mkdir()
    (bad_mirror / f"{FIRST_NAME}.gz").write_bytes(body)
    assert_reason(failure(tmp_path / "none", bad_mirror), bad_mirror, reason)
    fetch_and_verify(tmp_path / "data", serve(reply_with_body(body)), bad_mirror, mirror_folder)


def assert_reason(message, mirror, reason):
    """Assert that a message names the mirror with the reason, and the key of the configuration that sets mirrors."""
    assert re.search(f"{re.escape(str(mirror))}: .*({reason})", message), message
    assert "mnist_mirror" in message


@pytest.mark.parametrize(
    ("fault", "request_count", "reason"),
    [
        (reply_with_status(404), 1, "HTTP status 404"),
        (reply_with_status(204), 1, "HTTP status 204"),
        (reply_with_status(503), 4, "too many 503 error responses"),
        (close_connection, 4, "closed connection without response|reset"),
        (reply_truncated, 1, "not an intact gzip file"),
        (reply_endlessly, 1, "sends more than"),
    ],
)
def test_a_fault_is_retried_if_it_may_be_temporary_then_the_next_mirror_is_tried(
    serve, mirror_folder, tmp_path, fault, request_count, reason
):
    mirror = serve(*itertools.repeat(fault, 20))
    assert_reason(failure(tmp_path / "none", mirror), mirror.url, reason)
    assert len(mirror.requested) == request_count
    fetch_and_verify(tmp_path / "data", mirror, mirror_folder)


@pytest.mark.parametrize("fault", [reply_with_status(503), close_connection])
def test_a_temporary_fault_is_retried(serve, tmp_path, fault):
    fetch_and_verify(tmp_path / "data", serve(fault, fault))


def test_a_file_whose_gzip_is_declared_as_content_encoding_is_accepted(serve, tmp_path):
    fetch_and_verify(tmp_path / "data", serve(reply_with_body(GZIPPED_FIRST, Content_Encoding="gzip")))


def test_after_a_timeout_the_next_mirror_is_tried(serve, mirror_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    test_is_over = threading.Event()
    fetch_and_verify(tmp_path / "data", serve(*[lambda handler, body: test_is_over.wait(60)] * 4), mirror_folder)
    test_is_over.set()


def test_if_all_mirrors_fail_the_message_has_every_reason(serve, tmp_path):
    with socket.socket() as closed:  # nobody listens there
        closed.bind(("127.0.0.1", 0))
        closed_url = f"http://127.0.0.1:{closed.getsockname()[1]}/mnist"
    message = failure(tmp_path / "data", closed_url, serve(reply_with_status(404)), tmp_path)
    for reason in (
        f"{FIRST_NAME} can't be fetched: {closed_url}: Connection refused; ",
        "HTTP status 404; ",
        f"{tmp_path}: No such",
    ):
        assert reason in message
    assert "no mirror is given" in failure(tmp_path / "data")


def test_a_folder_that_cannot_be_made_or_a_full_disk_is_reported(mirror_folder, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LadderError, match=r"can't be written: .*Make room"):
        fetch_and_verify(tmp_path / "file" / "mnist", mirror_folder)
    script = (
        f"from ladder.data import mnist; mnist.write({str(tmp_path / 'data')!r}, [{str(mirror_folder)!r}], expected)"
    )
    script = (
        f"from ladder.data.download import ExpectedFile; expected = { ({FIRST_NAME: EXPECTED[FIRST_NAME]})!r}; {script}"
    )
    # A limit of 8 KiB on the size of files stands in for a full disk; with -B, Python writes no bytecode, which
    # would be truncated.
    result = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; exec {shlex.quote(sys.executable)} -B -c {script!r}"],
        capture_output=True,
        text=True,
    )
    assert "can't be written: File too large. Make room" in result.stderr
    assert not list((tmp_path / "data").iterdir())
