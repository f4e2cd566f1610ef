"""The profile for a machine with GPUs: what Snakemake makes of it."""

import pytest

from ladder import machine


@pytest.fixture
def cards(tmp_path, monkeypatch):
    """A function that puts so many cards into the machine, as far as nvidia-smi tells."""

    def insert(count):
        lines = "\n".join(f"{card}, A card, GPU-{card}, 100 MiB, 580.1, 9.0" for card in range(count))
        tool = tmp_path / "bin/nvidia-smi"
        tool.parent.mkdir()
        tool.write_text(f"#!/bin/sh\ncat <<END\n{lines}\nEND\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    return insert


@pytest.mark.workflow
@pytest.mark.parametrize(("visible", "count"), [(None, 3), ("0,2", 2)])
def test_so_many_jobs_run_on_cards_as_there_are_cards(study, cards, monkeypatch, visible, count):
    cards(3)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert len(machine.gpus()) == count
    study.add("small", {"blas": {"threads": 1}})
    out, status = study.snakemake("--workflow-profile", "gpu", "results/plans/small.json")
    assert status == 0, out
    assert f'Provided resources: timing=Resource("timing", 1), gpu=Resource("gpu", {count})' in out
