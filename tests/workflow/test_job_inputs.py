"""The inputs of jobs: stamps, data, references, ceilings, and files compiled ahead of time."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.io import is_flagged

from ladder.catalogue import sources
from ladder.machine import nvidia
from ladder.workflow import data, measurement, stamps
from ladder.workflow.builds import Builds
from ladder.workflow.ceilings import Ceilings
from ladder.workflow.measurement import Measurement
from ladder.workflow.sensitivity import Sensitivity
from ladder.workflow.stamps import Stamps
from small_plans import CLUSTER, experiment, job_wildcards, read_plan

BLAS = {"blas": {"threads": 1}}
TRAINING = {"layers": "784-7-10", "images": 40, "batch": 20, "epochs": 1, "rate": 0.5, "dtype": "float64"}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def cases_of(study):
    return [item.case for item in study.cases]


def measurement_of(study):
    return Measurement(study, Ceilings(study), Builds(study))


def create_file(path):
    """Create an empty file and its folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()


def test_a_stamp_is_of_one_variant_on_one_problem():
    study = read_plan({"one": experiment({"blas": {"threads": [1, 2]}, "tiled": {"threads": 1}})})
    paths = [stamps.path_of(case) for case in cases_of(study)]
    assert len(set(paths)) == 2
    assert paths[0].startswith("results/stamps/gemm-blas/form=nn+m=17+")
    assert "threads" not in paths[0]


def test_the_stamp_of_a_variant_that_uses_others_names_them():
    variants = {"host": {"product": ["blas", "tiled"], "threads": 1}}
    study = read_plan({"one": experiment(variants, "mlp", TRAINING | {"source": "digits"})})
    folders = {Path(stamps.path_of(case)).parent.name for case in cases_of(study)}
    assert folders == {"mlp-host-blas", "mlp-host-tiled"}


def test_a_stamp_holds_the_code_and_all_protocols_of_its_cases():
    experiments = {name: experiment({"blas": {"threads": count}}) for name, count in (("one", 1), ("two", 2))}
    experiments["two"]["protocol"] = {"samples": 3}
    study = read_plan(experiments)
    case = cases_of(study)[0]
    wildcards = SimpleNamespace(name=stamps.path_of(case).removeprefix("results/stamps/").removesuffix(".txt"))
    assert Stamps(study).fingerprint(wildcards) == sources.fingerprint(case)
    assert Stamps(study).protocol(wildcards) == " ".join(sorted(study.protocols.values()))


def test_samples_are_compared_with_their_machines_ceilings_unless_they_measure_one():
    ceiling = experiment(BLAS, sizes={"form": "nn", "m": 33, "n": 33, "k": 33})
    study = read_plan({"ceiling_flops": ceiling, "one": experiment(BLAS)})
    ceilings = Ceilings(study)
    ceiling_case, other_case = cases_of(study)
    assert ceilings.of_case(ceiling_case) == []
    assert ceilings.of_case(other_case) == "results/ceilings/here.json"
    assert (ceilings.files, ceilings.roofs) == (["results/ceilings/here.json"], ["results/roofs.json"])
    assert ceilings.records(SimpleNamespace(machine="here")) == study.records(["ceiling_flops"])
    assert ceilings.records(SimpleNamespace(machine="elsewhere")) == []


def test_without_an_experiment_on_a_ceiling_that_can_run_there_are_no_ceilings():
    study_without_ceilings = read_plan(
        {"ceiling_flops": experiment({"blas": {"threads": 64}}), "one": experiment(BLAS)}
    )
    assert Ceilings(study_without_ceilings).files == []
    assert Ceilings(study_without_ceilings).of_case(cases_of(study_without_ceilings)[1]) == []
    assert Ceilings(read_plan({"one": experiment(BLAS)})).roofs == []


def test_ceilings_of_a_cluster_are_those_of_the_cases_node():
    ceiling = experiment({"blas": {"threads": 1}}, sizes={"form": "nn", "m": 33, "n": 33, "k": 33})
    study = read_plan({"ceiling_flops": ceiling, "one": experiment({"blas": {"threads": 1}, "cublas": {}})}, CLUSTER)
    assert [Ceilings(study).of_case(case) for case in cases_of(study)] == [[], "results/ceilings/lab.json", []]


def test_a_newer_ceiling_makes_no_record_old_and_a_missing_record_waits_for_it():
    ceiling = experiment(BLAS, sizes={"form": "nn", "m": 33, "n": 33, "k": 33})
    study = read_plan({"ceiling_flops": ceiling, "one": experiment(BLAS)})
    job = job_wildcards(cases_of(study)[1])
    assert not is_flagged(measurement_of(study).ceilings(job), "ancient")
    create_file(measurement.record_of(job))
    assert is_flagged(measurement_of(study).ceilings(job), "ancient")
    assert data.ancient_if_exists(measurement.record_of(job), []) == []


def test_what_is_compiled_is_what_the_case_runs(monkeypatch):
    monkeypatch.setattr(nvidia, "gpus", list)
    variants = {"blas": {"threads": 1}, "openmp": {"threads": 1}}
    sizes = {"n": 7, "m": 5}
    study = read_plan(
        {
            "one": experiment(variants),
            "c": experiment({"c_openmp": {"threads": 1, "schedule": "static"}}, "gemv", sizes),
        }
    )
    blas, openmp, c_openmp = map(job_wildcards, cases_of(study))
    jobs = measurement_of(study)
    assert (jobs.compilation_note(blas), jobs.compilation_note(c_openmp)) == ([], [])
    assert jobs.compilation_note(openmp).startswith("results/compiled/")
    assert (jobs.libraries(blas), jobs.binaries(openmp)) == ([], [])
    assert Builds(replace(study, image="x.sif")).libraries_of(cases_of(study)[2]) == []  # the image has a compiler
    (library,) = jobs.libraries(c_openmp)
    assert library.startswith("results/build/host-")
    assert library.endswith(".so")


def test_kernels_are_built_for_the_configurations_architectures_and_this_machines(monkeypatch):
    monkeypatch.setattr(nvidia, "gpus", lambda: [{"capability": "8.0"}])
    study = read_plan({"one": experiment({"cuda_naive": {}})}, architectures=["sm_90"])
    builds = Builds(study)
    assert [path.split("/")[2] for path in builds.binaries] == ["sm_80", "sm_90"]
    assert [path.split("/")[2] for path in builds.binaries_of(cases_of(study)[0])] == ["sm_80"]
    assert builds.reports == [path.replace(".cubin", ".json") for path in builds.binaries]


def test_a_cluster_builds_for_its_nodes_and_leaves_libraries_to_them(monkeypatch):
    monkeypatch.setattr(nvidia, "gpus", lambda: [{"capability": "8.0"}])
    experiments = {
        "one": experiment({"cuda_naive": {}}),
        "c": experiment({"c_openmp": {"threads": 1, "schedule": "static"}}, "gemv", {"n": 7, "m": 5}),
    }
    study = read_plan(experiments, CLUSTER, architectures=["sm_90"])
    kernel, library = cases_of(study)
    assert [path.split("/")[2] for path in Builds(study).binaries_of(kernel)] == ["sm_90"]
    assert Builds(study).libraries_of(library) == []


def test_a_paper_without_new_measurements_builds_no_kernel():
    study = read_plan({"one": experiment({"cuda_naive": {}})}, architectures=["sm_90"], measure=False)
    builds = Builds(study)
    assert builds.reports == []
    (path,) = builds.binaries
    create_file(path.replace(".cubin", ".json"))
    assert Builds(study).reports == [path.replace(".cubin", ".json")]


def test_downloaded_data_never_make_a_record_old():
    study = read_plan(
        {"one": experiment({"host": {"product": "blas", "threads": 1}}, "mlp", TRAINING | {"source": "digits"})}
    )
    job = job_wildcards(cases_of(study)[0])
    jobs = measurement_of(study)
    assert len(jobs.data(job)) == 4
    assert not any(is_flagged(path, "ancient") for path in jobs.data(job))
    create_file(measurement.record_of(job))
    assert all(is_flagged(path, "ancient") for path in jobs.data(job))


def test_a_reference_is_of_its_sizes_alone():
    study = read_plan(
        {"one": experiment({"host": {"product": "blas", "threads": 1}}, "mlp", TRAINING | {"source": "digits"})}
    )
    path = Path(measurement_of(study).reference(job_wildcards(cases_of(study)[0])))
    assert path.parent == Path("results/references/mlp")
    wildcards = SimpleNamespace(workload="mlp", sizes=path.stem)
    assert data.of_reference(wildcards)[0].startswith("results/data/digits/")
    assert data.reference_option(wildcards) == "--data results/data/digits"
    products = read_plan({"one": experiment(BLAS)})
    assert measurement_of(products).reference(job_wildcards(cases_of(products)[0])) == []


def test_a_reference_of_no_sizes_ends_the_run_with_a_sentence():
    with pytest.raises(SystemExit, match=r"^ladder: .*isn't of the form key=value"):
        data.reference_case(SimpleNamespace(workload="mlp", sizes="images"))


ARTEFACTS = {"weights.npz": "mnist", "pictures.npz": "net/weights.npz", "noise.npz": None}


@pytest.fixture
def artefacts(monkeypatch):
    """A workload `net` with artefacts, none of them published."""
    monkeypatch.setattr(data.datasets, "artefacts", lambda workload: ARTEFACTS if workload == "net" else {})
    monkeypatch.setattr(data.datasets.workloads, "names", lambda: ["net"])
    monkeypatch.setattr(data.published, "checksum_of", lambda workload, file: None)
    monkeypatch.setattr(data.datasets, "fingerprint", lambda workload: "code")


def artefact_wildcards(file):
    return SimpleNamespace(workload="net", artefact=file)


def test_an_artefact_is_built_from_its_origin(artefacts):
    assert data.files_of_origin(artefact_wildcards("pictures.npz")) == ["results/data/net/weights.npz"]
    assert data.origin_option(artefact_wildcards("pictures.npz")) == "--data=results/data/net/weights.npz"
    assert len(data.files_of_origin(artefact_wildcards("weights.npz"))) == 4
    assert (
        data.files_of_origin(artefact_wildcards("noise.npz")),
        data.origin_option(artefact_wildcards("noise.npz")),
    ) == ([], "")
    assert data.artefact_fingerprint(artefact_wildcards("noise.npz")) == "code"


def test_a_published_artefact_is_not_built(artefacts, monkeypatch):
    monkeypatch.setattr(data.published, "checksum_of", lambda workload, file: "checksum")
    assert data.files_of_origin(artefact_wildcards("pictures.npz")) == []
    assert data.origin_option(artefact_wildcards("pictures.npz")) == ""
    assert data.artefact_fingerprint(artefact_wildcards("pictures.npz")) == "checksum"


def test_data_are_available_if_they_exist_or_are_built_from_what_is_published(artefacts, monkeypatch):
    assert data.is_available("net/noise.npz")
    assert not data.is_available("mnist")
    assert not data.is_available("net/pictures.npz")
    monkeypatch.setattr(data.published, "checksum_of", lambda _, file: "checksum" if file == "weights.npz" else None)
    assert data.is_available("net/pictures.npz")


def test_the_sensitivity_is_of_the_cases_that_this_machine_can_run():
    sensitivity = Sensitivity(read_plan({}))
    assert sensitivity.cases
    assert sensitivity.keys() == [case.key for case in sensitivity.cases]
    assert all(path.startswith("results/data/") for path in sensitivity.data())
    all_cases = Sensitivity(read_plan({}, sensitivity="all"))
    first_cases = Sensitivity(read_plan({}, sensitivity="first"))
    assert set(first_cases.keys()) < set(all_cases.keys())
    assert first_cases.fingerprint(None) == sources.digest(
        "ladder.verbs.sensitivity",
        "ladder.devices.host",
        *sorted({root for case in first_cases.cases for root in sources.roots_of(case)}),
    )
