"""Documents that the project writes: a document that has changed since is refused."""

import contextlib
import json

import pytest

from ladder.errors import LadderError
from ladder.machine import description
from ladder.records import documents
from ladder.verbs.arguments import write_json


@pytest.fixture(scope="module")
def machine():
    """The description of this machine."""
    return description.describe()


def test_a_document_comes_back_as_it_was_written(machine, tmp_path):
    write_json(tmp_path / "here.json", machine)
    assert documents.read(tmp_path / "here.json", "description") == json.loads(json.dumps(machine))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda machine: machine | {"cpu": "fast"}, r"cpu: 'fast' is not of type 'object'\. Restore it"),
        (lambda machine: machine | {"cores": 0}, "cores: 0 is less than the minimum of 1"),
        (lambda machine: {"cpu": machine["cpu"]}, "as a whole: 'system' is a required property"),
    ],
)
def test_a_document_that_does_not_fit_its_schema_is_refused_with_the_place(machine, tmp_path, spoil, sentence):
    write_json(tmp_path / "here.json", spoil(machine))
    with pytest.raises(LadderError, match=rf"here\.json can't be used as the description: {sentence}"):
        documents.read(tmp_path / "here.json", "description")


def test_a_changed_bit_of_a_document_is_noticed(machine, tmp_path):
    path = tmp_path / "here.json"
    write_json(path, machine)
    content = path.read_bytes()
    for position in range(0, len(content), 11):  # every 11th byte, to save time; `^ 4` flips one bit
        path.write_bytes(content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :])
        with contextlib.suppress(LadderError):
            document = documents.read(path, "description")
            assert json.loads(json.dumps(machine)).items() <= document.items()  # only the key "digest" has changed


def test_a_document_of_another_program_needs_no_digest(machine, tmp_path):
    (tmp_path / "here.json").write_text(json.dumps(machine), encoding="utf-8")
    assert documents.read(tmp_path / "here.json", "description") == json.loads(json.dumps(machine))


def test_the_digest_of_roofs_is_not_taken_for_a_machine(tmp_path):
    """The document of roofs, the best rates of machines, has machines as keys, besides `digest`."""
    path = tmp_path / "roofs.json"
    write_json(path, {"machine": {"rows": []}})
    assert documents.read(path, "roofs") == {"machine": {"rows": []}}
    path.write_text(path.read_text(encoding="utf-8").replace("machine", "another"), encoding="utf-8")
    with pytest.raises(
        LadderError, match=r"doesn't match its digest: the file has changed since it was written\. Restore it"
    ):
        documents.read(path, "roofs")
