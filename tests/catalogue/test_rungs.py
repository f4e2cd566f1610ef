"""The ladder of each workload: all of its variants in order, with a line on each."""

import pytest

from conftest import ROOT
from ladder.__main__ import main
from ladder.catalogue import locations, workloads
from ladder.errors import LadderError
from ladder.planning import configuration

VARIANT = """
DEVICE = "host"
RUNTIME = "numba"


def setup(problem, *, threads: int):
    pass
"""


@pytest.mark.parametrize("workload", workloads.names())
def test_every_variant_is_a_rung_and_every_rung_a_variant(workload, monkeypatch):
    monkeypatch.delenv("LADDER_VARIANTS", raising=False)
    rungs = workloads.rungs(workload)
    assert sorted(rungs) == workloads.variants(workload)
    assert all(rungs.values())
    peers = [bool(workloads.constants(workload, variant).get("PEER")) for variant in rungs]
    assert peers == sorted(peers), "peers come last"


@pytest.fixture
def installed_package(monkeypatch, tmp_path):
    """The package is installed outside of a clone, so that there is no configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(configuration, "default_file", lambda: tmp_path / "config/config.yaml")


def test_the_ladders_are_printed_outside_of_a_clone(installed_package, monkeypatch, tmp_path, capsys):
    (tmp_path / "mine/gemm").mkdir(parents=True)
    (tmp_path / "mine/gemm/added.py").write_text(VARIANT)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "mine"))
    main(["list", "--rungs"])
    printed = capsys.readouterr().out
    assert "gemm: form=nn|tn|nt, m, n, k" in printed
    assert "  added               host" in printed


def test_a_plan_outside_of_a_clone_is_refused_with_a_sentence(installed_package, capsys):
    with pytest.raises(SystemExit):
        main(["list"])
    assert capsys.readouterr().err == (
        "ladder list: There is no config/config.yaml here: work in a clone of the repository, or name another "
        "configuration by --configfile.\n"
    )


def test_the_ladders_are_printed_with_devices_tunings_and_sizes(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("LADDER_VARIANTS", "")
    main(["list", "--rungs"])
    lines = capsys.readouterr().out.splitlines()
    assert "gemm: form=nn|tn|nt, m, n, k, dtype=float64|float32, source=random|mnist|digits, seed=1" in lines
    first_blas_line = next(line for line in lines if line.startswith("  blas ") and "OpenBLAS" in line)
    _, device, description = first_blas_line.split(maxsplit=2)
    assert device == "host"
    assert description.endswith("(threads)")
    assert any("(ranks, mode=ship|resident, chunks=1, graph=off|on)" in line for line in lines)
    printed = {line.split()[0] for line in lines if line.startswith("  ")}
    assert printed == {variant for workload in workloads.names() for variant in workloads.variants(workload)}


def test_variants_are_found_in_folders_of_the_configuration_and_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    for folder, variant in (("configured", "one_of_mine"), ("environment", "another")):
        (tmp_path / folder / "gemm").mkdir(parents=True)
        (tmp_path / folder / "gemm" / f"{variant}.py").write_text(VARIANT)
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "environment"))
    (tmp_path / "own.yaml").write_text(f"variant_folders: [{tmp_path}/configured]")
    (tmp_path / "more.yaml").write_text("cores: 2")
    main(["list", "--rungs", "--configfile", str(tmp_path / "own.yaml"), str(tmp_path / "more.yaml")])
    assert {"one_of_mine", "another"} <= set(capsys.readouterr().out.split())


def test_a_missing_folder_of_variants_is_refused(tmp_path):
    with pytest.raises(LadderError, match=r"There is no folder .*/kernls, which `variant_folders` or LADDER_VARIANTS"):
        locations.set_variant_folders([tmp_path, tmp_path / "kernls"])
