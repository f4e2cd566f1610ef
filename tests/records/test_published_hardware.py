"""A label of a machine, under which only hardware of one kind is published."""

import json
from pathlib import Path

import pytest

from ladder.errors import LadderError
from ladder.records import published_hardware

ZEN4 = {"Model name": "AMD EPYC", "Vector units": "avx512f", "L2 cache": "2 MiB (2 instances)"}
H200 = {"name": "NVIDIA H200"}


def description(cpu=ZEN4, cores=2, gpus=()):
    return {"cpu": cpu, "cores": cores, "gpus": list(gpus)}


@pytest.fixture(autouse=True)
def published_folder(monkeypatch, tmp_path):
    """What is published of the machine `box`: a folder of its own, whose path is returned, and a campaign."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(published_hardware.documents, "read", lambda path, kind: json.loads(path.read_text()))
    for name in ("box", "campaigns/box_1"):
        folder = Path("results/published") / name
        folder.mkdir(parents=True)
        (folder / "machine.json").write_text(json.dumps({"machine": "box", "description": description()}))
    return Path("results/published/box")


def test_the_same_hardware_and_other_labels_are_accepted():
    published_hardware.require_same_hardware("box", description())
    published_hardware.require_same_hardware("box", description(ZEN4 | {"Frequency boost": "enabled"}))
    published_hardware.require_same_hardware("barn", description(cores=64))


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (description(ZEN4 | {"Vector units": "avx2"}), "Vector units: avx2 in place of avx512f"),
        (description(ZEN4 | {"L2 cache": "1 MiB (2 instances)"}), "L2 cache: 1 MiB .* in place of 2 MiB"),
        (description(cores=4), "cores: 4 in place of 2"),
        (description(gpus=[H200, H200]), "GPUs: NVIDIA H200, NVIDIA H200 in place of none"),
    ],
)
@pytest.mark.parametrize("is_replaced", [False, True])
def test_other_hardware_is_refused_by_its_differences(published_folder, other, difference, is_replaced):
    """Also if only a campaign has that label, because the machine's folder is rewritten."""
    with pytest.raises(LadderError, match=rf"isn't of the kind .* box .*{difference}.*machine=<label>"):
        published_hardware.require_same_hardware("box", other, published_folder if is_replaced else None)


def test_the_published_folder_that_is_replaced_does_not_count(published_folder):
    Path("results/published/campaigns/box_1/machine.json").unlink()
    published_hardware.require_same_hardware("box", description(cores=4), published_folder)
