"""A workload whose cases read its artefacts: weights, and pictures made from them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from conftest import PROTOCOL
from ladder.__main__ import main
from ladder.catalogue import datasets, published, sources
from ladder.data.digits import write as write_digits
from ladder.errors import LadderError
from ladder.harness import environment
from ladder.planning import plan
from ladder.records import record

WORKLOAD_MODULE = """
from types import SimpleNamespace

import numpy as np

from ladder.harness.validation import compare

SIZES = {"n": int, "dtype": ("float64",), "weights": ("weights", "missing"), "seed": 1}


def data_set(sizes):
    return f"scaling/{sizes['weights']}.npy"


def load_data(path):
    return np.load(path)


def arrays(sizes):
    return {"x": ((sizes["n"],), "float64")}, {"y": ((sizes["n"],), "float64")}


def fill(inputs, sizes, round, data):
    inputs["x"][...] = data[: sizes["n"]] + round
    return ["x"]


def cost(sizes):
    return SimpleNamespace(flops=sizes["n"], bytes=16 * sizes["n"], precision="float64")


def check(sizes, inputs, outputs, round, data, reference, precision):
    return [compare("scaled", outputs["y"], 2 * (data[: sizes["n"]] + round), np.full(sizes["n"], 1e-12))], None
"""
VARIANT_MODULE = """
from functools import partial

import numpy as np

DEVICE = "host"
RUNTIME = "blas"


def setup(problem, *, threads: int):
    return [("scale", partial(np.multiply, problem.x, 2, out=problem.y))]
"""
ARTEFACTS_MODULE = """
import numpy as np

from ladder.data import dataset

ARTEFACTS = {"weights.npy": "digits", "picture.npy": "scaling/weights.npy", "nothing.npy": None}


def make(name, path, data):
    if name == "weights.npy":
        np.save(path, dataset.load(data).train_images[0].reshape(-1) / 255)
    elif name == "picture.npy":
        np.save(path, np.load(data).reshape(28, 28))
"""
FIGURE_MODULE = """
import matplotlib.pyplot as plt
import numpy as np

TITLE = "Picture"
CATEGORY = "Scaling"
CAPTION = "What is scaled."
USES_ARTEFACTS = ("picture.npy",)


def draw(artefacts):
    figure, axes = plt.subplots()
    axes.imshow(np.load(artefacts["picture.npy"]))
    return figure
"""


def write_workload(root):
    folder = Path(root, "scaling")
    (folder / "paper").mkdir(parents=True)
    (folder / "paper/__init__.py").touch()
    modules = {
        "__init__": WORKLOAD_MODULE,
        "numpy": VARIANT_MODULE,
        "artefacts": ARTEFACTS_MODULE,
        "paper/picture": FIGURE_MODULE,
    }
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


@pytest.fixture
def scaling(tmp_path, monkeypatch):
    """The workload in a user's folder, and a study as the working directory."""
    write_workload(tmp_path / "own")
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "own"))
    monkeypatch.setattr(environment, "enter", lambda variables: None)  # which would restart the tests
    monkeypatch.chdir(tmp_path)
    sources.clear_caches()
    yield tmp_path
    sources.clear_caches()


PIXELS = 28 * 28  # of a picture of a digit, and so the number of weights
N = 700  # the weights that a case reads
SLUG = f"n={N},dtype=float64,weights=weights,seed=1,cache=warm,threads=1"
WEIGHTS, PICTURE = "results/data/scaling/weights.npy", "results/data/scaling/picture.npy"


@pytest.mark.slow
def test_cases_read_artefacts_of_their_workload(scaling, capsys):
    assert datasets.files("scaling/weights.npy") == [WEIGHTS]
    write_digits("results/data/digits")
    main(["artefact", "scaling", "weights.npy", "--data", "results/data/digits", "--out", WEIGHTS])
    main(["artefact", "scaling", "picture.npy", "--data", WEIGHTS, "--out", PICTURE])
    picture = np.load(PICTURE)
    assert picture.shape == (28, 28)
    assert sorted(path.name for path in Path(WEIGHTS).parent.iterdir()) == ["picture.npy", "weights.npy"]
    measure = ["measure", "scaling", "numpy", SLUG, "--out", "record.json", "--protocol", json.dumps(PROTOCOL)]
    main(measure)
    assert record.read("record.json")["processes"][0]["checks"][0]["name"] == "scaled"
    assert Path("record.json").stat().st_size < picture.nbytes  # no array is stored in it
    Path(WEIGHTS).unlink()
    with pytest.raises(SystemExit):
        main(measure)
    assert f"The data {WEIGHTS} can't be loaded: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.npy", "scaling makes no 'missing.npy': its artefacts are weights.npy"), ("nothing.npy", "didn't write")],
)
def test_an_unknown_or_unwritten_artefact_is_refused(scaling, name, words):
    with pytest.raises(LadderError, match=words):
        datasets.make("scaling", name, f"out/{name}", None)
    assert not list(Path("out").glob("*"))


def test_data_that_nothing_makes_are_refused_when_planning(scaling):
    sizes = {"n": [5], "dtype": "float64", "weights": ["weights", "missing"]}
    experiment = {"workload": "scaling", "sizes": sizes, "variants": {"numpy": {"threads": 1}}}
    with pytest.raises(LadderError, match=r"can't be planned: Nothing makes the data 'scaling/missing.npy'"):
        plan.cases("own", experiment)


def test_the_fingerprint_of_artefacts_follows_their_code(scaling):
    before = datasets.fingerprint("scaling")
    file = Path(os.environ["LADDER_VARIANTS"], "scaling/artefacts.py")
    file.write_text("# A comment\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    sources.clear_caches()
    assert datasets.fingerprint("scaling") == before
    file.write_text(file.read_text(encoding="utf-8").replace("/ 255", "/ 256"), encoding="utf-8")
    sources.clear_caches()
    assert datasets.fingerprint("scaling") != before


@pytest.mark.slow
@pytest.mark.workflow
def test_the_workflow_makes_artefacts_and_rebuilds_what_reads_them(study):
    write_workload(study.folder / "own")
    study.config["variant_folders"] = ["own"]
    study.add("own", {"numpy": {"threads": 1}}, {"n": N, "weights": "weights"}, "scaling")
    targets = ["results/tables/own/samples.csv", "results/figures/scaling_picture.svg"]
    out, status = study.snakemake("--cores", "2", *targets)
    assert status == 0, out
    assert len(study.records()) == 1
    assert not study.pending_files(*targets)
    file = study.folder / "own/scaling/artefacts.py"
    file.write_text(file.read_text().replace("/ 255", "/ 256"))
    pending = study.pending_files(*targets)
    assert {WEIGHTS, PICTURE, *targets} <= pending
    assert any(path.startswith("results/records/") for path in pending)


@pytest.mark.slow
@pytest.mark.workflow
def test_the_workflow_unpacks_published_artefacts_instead_of_making_them(study, monkeypatch):
    write_workload(study.folder / "own")
    study.config["variant_folders"] = ["own"]
    study.add("own", {"numpy": {"threads": 1}}, {"n": N, "weights": "weights"}, "scaling")
    monkeypatch.chdir(study.folder)
    monkeypatch.setenv("LADDER_VARIANTS", str(study.folder / "own"))
    for number in range(2):
        np.save("made.npy", np.full(PIXELS, number))
        published.publish("scaling", "weights.npy", "made.npy")
        assert WEIGHTS in study.pending_files(WEIGHTS)
        out, status = study.snakemake("--cores", "2", WEIGHTS)
        assert status == 0, out
        assert (np.load(WEIGHTS) == number).all()
        file = study.folder / "own/scaling/artefacts.py"
        file.write_text(file.read_text().replace("/ 255", "/ 256"))
        assert not study.pending_files(WEIGHTS)
    assert not Path("results/data/digits").exists()
    published.archive_path("scaling", "weights.npy").write_bytes(b"torn")
    Path(WEIGHTS).unlink()
    out, status = study.snakemake("--cores", "2", WEIGHTS)
    assert status
    assert "can't be unpacked" in out


@pytest.mark.slow
@pytest.mark.workflow
def test_artefacts_made_from_published_ones_are_shown_without_measuring(study, monkeypatch):
    write_workload(study.folder / "own")
    study.config |= {"variant_folders": ["own"], "measure": False}
    study.add("own", {"numpy": {"threads": 1}}, {"n": N, "weights": "weights"}, "scaling")
    monkeypatch.chdir(study.folder)
    figure = "results/figures/scaling_picture.pdf"
    assert study.snakemake("-n", figure)[1], "digits would have to be fetched"
    np.save("made.npy", np.ones(PIXELS))
    monkeypatch.setenv("LADDER_VARIANTS", str(study.folder / "own"))
    published.publish("scaling", "weights.npy", "made.npy")
    assert {WEIGHTS, PICTURE, figure} <= study.pending_files(figure)
