"""Documents that the project writes: one that has changed since is refused."""

import contextlib
import json

import pytest

from ladder.errors import LadderError
from ladder.machine import description
from ladder.records import documents
from ladder.verbs.arguments import write_json


@pytest.fixture(scope="module")
def here():
    """What this machine is."""
    return description.describe()


def test_a_document_comes_back_as_it_was_written(here, tmp_path):
    write_json(tmp_path / "here.json", here)
    assert documents.read(tmp_path / "here.json", "description") == json.loads(json.dumps(here))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda here: here | {"cpu": "fast"}, r"cpu: 'fast' is not of type 'object'\. Restore it"),
        (lambda here: here | {"cores": 0}, "cores: 0 is less than the minimum of 1"),
        (lambda here: {"cpu": here["cpu"]}, "as a whole: 'system' is a required property"),
    ],
)
def test_a_document_that_does_not_fit_its_schema_is_refused_with_its_place(here, tmp_path, wrong, sentence):
    write_json(tmp_path / "here.json", wrong(here))
    with pytest.raises(LadderError, match=rf"here\.json can't be used as the description: {sentence}"):
        documents.read(tmp_path / "here.json", "description")


def test_no_bit_of_a_document_can_change_unseen(here, tmp_path):
    path = tmp_path / "here.json"
    write_json(path, here)
    content = path.read_bytes()
    for place in range(0, len(content), 11):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with contextlib.suppress(LadderError):
            found = documents.read(path, "description")
            assert json.loads(json.dumps(here)).items() <= found.items()  # the digest's name alone has changed


def test_a_document_of_others_needs_no_digest(here, tmp_path):
    (tmp_path / "here.json").write_text(json.dumps(here), encoding="utf-8")
    assert documents.read(tmp_path / "here.json", "description") == json.loads(json.dumps(here))


def test_the_ceilings_of_machines_have_a_digest_that_is_no_machine(tmp_path):
    path = tmp_path / "roofs.json"
    write_json(path, {"here": {"rows": []}})
    assert documents.read(path, "roofs") == {"here": {"rows": []}}
    path.write_text(path.read_text(encoding="utf-8").replace("here", "mere"), encoding="utf-8")
    with pytest.raises(
        LadderError, match=r"doesn't match its digest: the file has changed since it was written\. Restore it"
    ):
        documents.read(path, "roofs")
