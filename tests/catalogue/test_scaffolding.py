"""New variants and workloads keep their contracts and run, and no file is overwritten."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ladder.__main__ import main
from ladder.build import binaries
from ladder.catalogue import literals, scaffolding, soundness, sources, workloads
from ladder.errors import LadderError
from ladder.harness.case_arguments import cases_of


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A user's folder of workloads, which is searched."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("LADDER_VARIANTS", str(folder))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    sources.clear_caches()
    yield folder
    sources.clear_caches()


def rung_devices():
    """(workload, device) of which a workload has a rung."""
    for workload in workloads.names():
        names = workloads.rungs(workload)
        constants = [workloads.constants(workload, name) for name in names]
        yield from sorted({(workload, values["DEVICE"]) for values in constants if not values.get("PEER")})


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "device"), list(rung_devices()))
def test_a_copy_of_every_ladder_s_first_rung_keeps_the_contract(workload, device, folder):
    paths, run_words = scaffolding.create(f"{workload}/mine", device)
    assert {path.parent for path in paths} == {folder / workload}
    soundness.require_contract(workload, "mine")
    origin = run_words[1].split("/")[1]  # after the new variant, the command runs the one that was copied
    constants = workloads.constants(workload, "mine")
    assert constants["DEVICE"] == device
    differing = {name for name, value in workloads.constants(workload, origin).items() if constants[name] != value}
    assert differing <= {"SOURCE"}
    if "SOURCE" in constants:
        assert (folder / workload / constants["SOURCE"]).is_file()
    text = (folder / workload / "mine.py").read_text(encoding="utf-8")
    assert text.startswith(f'"""{workload}/mine: ')
    assert f'"{origin}"' not in re.sub(r"(DEVICE|RUNTIME) = .*", "", text)


def test_headers_beside_a_source_are_copied_to_another_folder_but_not_over_a_file(folder):
    (folder / "gemm").mkdir()
    (folder / "gemm/operands.cuh").write_text("// the user's", encoding="utf-8")
    scaffolding.create("gemm/mine", "cuda")
    assert (folder / "gemm/operands.cuh").read_text(encoding="utf-8") == "// the user's"
    scaffolding.create("gemm/other", "cuda", folder=folder / "second")
    assert (folder / "second/gemm/operands.cuh").is_file()


def test_headers_that_workloads_share_are_not_copied():
    """`tiled.cuh`, in another folder, includes others of its folder."""
    headers = set(scaffolding.local_headers(binaries.source_of("gemm", "cuda_tiled")))
    assert {header.name for header in headers} == {"operands.cuh", "split_k.cuh"}


def test_a_peer_that_is_copied_becomes_a_rung(folder):
    scaffolding.create("gemm/mine", origin="c_openmp")
    constants = workloads.constants("gemm", "mine")
    assert constants["SOURCE"] == "mine.c"
    assert "PEER" not in constants
    assert constants["RUNTIME"] == "openmp"


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("gemm", {}, "'gemm' can't be made: write the names of a workload and"),
        ("gemm/Mine", {}, "'gemm/Mine' can't be made"),
        ("gemm/a/b", {}, "'gemm/a/b' can't be made"),
        ("gem/mine", {}, "no workload 'gem': .* Did you mean 'gemv' or 'gemm'"),
        ("gemm/tiled", {}, r"tiled\.py exists already: choose another name"),
        ("gemm/operands", {}, r"operands\.cuh exists already"),
        ("gemm/mine", {"origin": "tield"}, "no variant 'tield' of gemm: .* Did you mean 'tiled'"),
        (
            "mlp/mine",
            {"device": "mpi"},
            "mlp has no rung on the device 'mpi' to begin with, only on cuda, host, offload",
        ),
        ("workload/gemm", {}, "There is a folder gemm of a workload already"),
    ],
)
def test_what_cannot_be_made_is_refused_and_nothing_is_written(name, options, sentence, folder):
    with pytest.raises(LadderError, match=sentence):
        scaffolding.create(name, **options)
    assert not list(folder.iterdir())


def test_the_verb_writes_a_workload_that_runs(folder, capsys):
    main(["new", "workload/spmv"])
    assert {path.name for path in (folder / "spmv").iterdir()} == {"__init__.py", "plain.py"}
    soundness.require_contract("spmv")
    assert literals.read(folder / "spmv/__init__.py")["RUNGS"] == {"plain": "one pass of NumPy"}
    line = capsys.readouterr().out.split("Try it:  ladder ")[1].splitlines()[0].split()
    assert line == ["run", "spmv/plain", "elements=256", "--quick"]
    main([*line, "--processes", "2", "dtype=float32"])
    assert "1.  spmv/plain" in capsys.readouterr().out


def test_the_verb_prints_a_command_that_works_where_ladder_is_not_on_the_path(folder, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    main(["new", "workload/spmv"])
    command = capsys.readouterr().out.split("Try it:  ")[1].splitlines()[0]
    program = command.removesuffix(" run spmv/plain elements=256 --quick")
    result = subprocess.run(f"{program} --version", shell=True, capture_output=True, text=True)
    assert (program, result.returncode) == (str(Path(sys.executable).with_name("ladder")), 0)


@pytest.mark.slow  # it compiles the variant
def test_the_verb_writes_a_variant_that_runs(folder, capsys):
    main(["new", "stream/mine", "--folder", str(folder.parent / "other")])
    assert f"Try it:  LADDER_VARIANTS={folder.parent / 'other'} ladder run stream/mine" in capsys.readouterr().out
    main(["new", "stream/mine"])
    words = capsys.readouterr().out.split("Try it:  ladder run ")[1].splitlines()[0].split()
    *case_words, quick_option = words
    assert quick_option == "--quick"
    assert [case.variant for case in cases_of(case_words)] == ["mine", "openmp"]
    main(["run", *words, "--processes", "2"])
    assert "stream/mine" in capsys.readouterr().out
