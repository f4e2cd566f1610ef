"""The profile for a machine with GPUs, as Snakemake reads it."""

import pytest

from ladder.machine import nvidia


@pytest.mark.slow
@pytest.mark.workflow
@pytest.mark.parametrize(("visible_devices", "gpu_count"), [(None, 3), ("0,2", 2)])
def test_two_jobs_share_each_visible_gpu(study, fake_gpus, monkeypatch, visible_devices, gpu_count):
    fake_gpus(3)
    if visible_devices:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible_devices)
    assert len(nvidia.gpus()) == gpu_count
    study.add("small", {"blas": {"threads": 1}})
    out, status = study.snakemake("--workflow-profile", "gpu", "results/plans/small.json")
    assert status == 0, out
    assert f'Provided resources: timing=Resource("timing", 1), card=Resource("card", {2 * gpu_count})' in out
