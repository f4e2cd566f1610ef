"""Cases measured in turns, by simulated workers, and their campaign as it is published and read back."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ladder.__main__ import main
from ladder.errors import LadderError
from ladder.harness import turns
from ladder.machine import identity
from ladder.records import campaigns, record
from ladder.records.case import Case
from ladder.report import ratios
from ladder.store import collect, study, table_files
from ladder.store.published_tables import PublishedTables

SIZES = "form=nn,m=17,n=65,k=1,dtype=float64,source=random,seed=1,cache=warm"
CASES = [Case.parse("gemm", variant, f"{SIZES},threads=1") for variant in ("openmp", "interchanged", "blas")]
PROTOCOL = {"processes": 4, "cap": 1.0, "samples": 3, "least": 3, "most": 3, "target": 0.02, "phase_passes": 0}
PROTOCOL |= {"energy": False, "most_processes": 4}
COMMIT = "0" * 40
EXPERIMENTS = {case.key: ["gemm_square"] for case in CASES}  # those of each case


@pytest.fixture(autouse=True)
def working_folder(monkeypatch, tmp_path):
    """A working folder, and a commit that is known without git."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LADDER_COMMIT", COMMIT)
    monkeypatch.setenv("LADDER_PARENT", "")


@pytest.fixture
def steps(monkeypatch):
    """The steps of simulated workers, in order, as (step, variant); blas takes half as long as the others.

    The step `start` has no variant, but whether the energy is measured. All times grow from worker to worker.
    """
    steps = []

    class SimulatedWorker:
        def __init__(self, case, protocol, *others):
            self.case = case
            steps.append(("start", protocol["energy"]))
            self.orders = iter(["time", "check"])

        def prepare(self, variables=None):
            steps.append(("prepare", self.case.variant))

        def proceed(self):
            steps.append((next(self.orders), self.case.variant))

        def last_answer(self):
            steps.append(("answer", self.case.variant))
            timed_variants = measured_variants(steps)
            seconds = 1e-3 if self.case.variant == "blas" else 2e-3
            times = seconds * (1 + 0.001 * len(timed_variants)) * np.ones(3)  # a drift
            threads = {"cpus": 1, "affinity": [0], "runtimes": {}}
            return {
                "samples": times.tolist(),
                **{"setup": 0.1, "first": 0.1, "check": 0.1, "total": 1.0, "phases": [], "facts": {}, "curve": []},
                "checks": [{"name": "error", "error": 0.5, "bound": 1.0}],
                "threads": threads,
                "compiled": 0,
            }

        def wait_ready(self):
            """Nothing to wait for: no process is started."""

        stop = wait_paused = wait_ready

    monkeypatch.setattr(turns, "Worker", SimulatedWorker)
    monkeypatch.setattr(turns, "precompile", lambda *arguments: None)
    monkeypatch.setattr(turns, "SETTLING_SECONDS", 0.0)
    return steps


def measured_variants(steps):
    """The variants in the order in which they were timed."""
    return [variant for step, variant in steps if step == "time"]


def campaign_description(machine="here"):
    """What must be the same in all of a campaign."""
    return {"machine": machine, "commit": COMMIT, "dirty": False, "host": identity.host_digest(), "gpus": []}


def measure(name, cases=CASES):
    """Begin a campaign and measure the cases in it."""
    campaigns.begin(name, campaign_description())
    turns.measure_in_turns(dict.fromkeys(cases, ({}, None)), PROTOCOL, name, "here", campaigns.folder(name))


def publish(name):
    """Publish a campaign by the verb."""
    main(["publish_campaign", name, json.dumps(EXPERIMENTS)])


def test_a_campaign_without_ceilings_is_published_with_a_warning(steps, capsys):
    measure("a")
    publish("a")
    assert "The campaign measured no ceiling" in capsys.readouterr().err


def test_all_cases_run_once_a_turn_and_every_second_turn_the_other_way_round(steps):
    measure("a")
    forward = [case.variant for case in CASES]
    assert measured_variants(steps) == [*forward, *forward[::-1]] * 2


def test_the_seconds_of_each_stage_are_logged(steps, capsys):
    measure("a", CASES[:1])
    stages = ", ".join(rf"{stage} \d+\.\d" for stage in ("starting", "checking", "preparing", "timed"))
    assert re.fullmatch(rf"Seconds for 4 processes: {stages}\.\n", capsys.readouterr().err)


def test_workers_prepare_and_check_while_none_is_timed(steps, monkeypatch):
    monkeypatch.setattr(turns.cpus, "cores", lambda: 2)
    measure("a")
    step_names = [step for step, _ in steps]
    first, last = ["start", "prepare", "time", "check"], ["answer"]
    between = ["start", "prepare", "answer", "time", "check"]
    # 12 processes, 4 of each case, in 6 groups of one per core.
    assert step_names == [step for step in [*first, *between * 5, *last] for _ in range(2)]


def test_a_case_that_starts_alone_waits_for_the_checks_before_it(steps, monkeypatch):
    monkeypatch.setattr(turns.devices.of(CASES[0]), "can_start_together", lambda *job: False)
    measure("a", CASES[:1])
    assert [step for step, _ in steps] == ["start", "prepare", "time", "check", "answer"] * 4


def test_the_energy_is_measured_in_the_first_turns_only(steps, monkeypatch):
    monkeypatch.setitem(PROTOCOL, "energy", True)
    measure("a")
    energies = [is_measured for step, is_measured in steps if step == "start"]
    assert energies == [True] * 3 * turns.ENERGY_TURNS + [False] * 3


@pytest.mark.parametrize(("fitting_workers", "sizes"), [(0, [1, 1, 1]), (1, [1, 1, 1]), (2, [2, 1]), (3, [3])])
def test_a_group_holds_no_more_than_fits_into_memory_but_at_least_one(monkeypatch, fitting_workers, sizes):
    monkeypatch.setattr(turns.cpus, "cores", lambda: 8)
    memory = fitting_workers * turns.MEMORY_FACTOR * turns.bytes_of_arrays(CASES[0])
    assert [len(group) for group in turns.group_processes(turns.turn_order(CASES, 1), None, memory)] == sizes


def test_a_case_whose_launcher_waits_for_others_is_alone_in_its_group(monkeypatch):
    monkeypatch.setattr(turns.cpus, "cores", lambda: 8)
    host = turns.devices.of(CASES[0])
    monkeypatch.setattr(
        host, "can_start_together", lambda case, launcher, count: count == 16 and case.variant != "interchanged"
    )  # 16: two groups of a worker per core
    # `interchanged` is the second of three, so the others are alone, too.
    assert [*turns.group_processes(turns.turn_order(CASES, 1), None, 10**9)] == [[(0, case)] for case in CASES]


def test_a_record_names_its_campaign_and_its_host(steps):
    measure("a")
    for case in CASES:
        document = record.read(record.path_of("here", case.key, campaigns.folder("a")))
        assert (document["campaign"], document["host"], document["gpus"]) == ("a", identity.host_digest(), [])
        assert len(document["processes"]) == 4


def test_a_drift_cancels_between_cases_of_the_same_turns(steps):
    measure("a")
    publish("a")
    assert ratio().value == pytest.approx(2, rel=1e-3)


def test_an_error_names_its_case_and_leaves_no_record(steps, monkeypatch):
    def refuse(worker):
        raise LadderError("It is wrong.")

    monkeypatch.setattr(turns.Worker, "wait_paused", refuse)
    with pytest.raises(LadderError, match=f"{CASES[0].key}: It is wrong"):
        measure("a")
    assert not list(Path().glob("**/records"))


def test_too_few_cores_are_refused():
    cases = {Case.parse("gemm", "blas", f"{SIZES},threads=2"): ({}, None)}
    with pytest.raises(LadderError, match="asks for 2 threads, but Snakemake grants 1 core"):
        turns.measure_in_turns(cases, PROTOCOL, "a", "here", "there", granted_cores=1)


def test_a_campaign_on_other_hardware_under_the_same_label_is_refused(steps, monkeypatch):
    measure("a")
    publish("a")
    described = turns.description.describe()
    monkeypatch.setattr(turns.description, "describe", lambda: described | {"cores": 1000})
    with pytest.raises(LadderError, match="cores: 1000 in place of"):
        measure("b")


def ratio(folders=None):
    """The time of `openmp` over that of `blas` in the published campaigns."""
    plan = {"experiment": "gemm_square", "cases": []}
    folders = folders or sorted(Path("results/published/campaigns").iterdir())
    collect.collect(plan, "tables/gemm_square", PublishedTables(folders))
    rows = study.load(["tables/gemm_square"], "here").samples("gemm_square")
    return ratios.of(*(study.where(rows, variant=variant) for variant in ("openmp", "blas")))


def test_a_ratio_is_taken_within_campaigns_which_are_never_mixed(steps):
    for name in "abc":
        measure(name)
        publish(name)
    assert ratio().spread.campaigns == 3
    plan = {"experiment": "gemm_square", "cases": []}
    collect.collect(plan, "all", PublishedTables(sorted(Path("results/published/campaigns").iterdir())))
    rows = table_files.load("all")["samples"]
    assert rows.groupby("process")["campaign"].nunique().max() == 1
    assert rows[rows["variant"] == "blas"]["process"].nunique() == 3 * 4  # campaigns, and processes of each


def test_sides_of_two_campaigns_have_a_ratio_without_a_spread(steps):
    """No verdict rests on it."""
    measure("a", CASES[:1])
    measure("b", CASES[1:])
    for name in "ab":
        publish(name)
    assert ratio().spread is None


def test_cases_of_campaigns_replace_what_was_published_of_their_machine_before(steps):
    measure("a")
    publish("a")
    published_samples = table_files.read_published("results/published/campaigns/a", "samples")
    for name in ("samples", "checks"):
        old = table_files.read_published("results/published/campaigns/a", name).drop(
            columns=["campaign"], errors="ignore"
        )
        Path("results/published/here").mkdir(exist_ok=True)
        old.to_csv(f"results/published/here/{name}.csv.gz", index=False)
    for name in ("curves", "traces", "missing"):
        Path(f"results/published/here/{name}.csv.gz").write_bytes(
            Path(f"results/published/campaigns/a/{name}.csv.gz").read_bytes()
        )
    Path("results/published/here/machine.json").write_bytes(
        Path("results/published/campaigns/a/machine.json").read_bytes()
    )
    folders = ["results/published/here", "results/published/campaigns/a"]
    assert ratio(folders).spread.campaigns == 1
    assert len(table_files.load("tables/gemm_square")["samples"]) == len(published_samples)


def test_a_record_of_another_campaign_commit_or_host_is_not_published(steps, capsys):
    measure("a")
    path = campaigns.folder("a") / campaigns.NOTE_NAME
    for key in ("name", "commit", "host"):
        note = json.loads(path.read_text())
        note.pop("digest", None)
        path.write_text(json.dumps(note | {key: "other"}))
        with pytest.raises(SystemExit):
            publish("a")
        assert "is of the" in capsys.readouterr().err
        path.write_text(json.dumps(note))
    assert not Path("results/published").exists()


def test_a_campaign_is_continued_until_it_is_published(steps):
    name = campaigns.name_to_continue(campaign_description())
    assert name.startswith("here_")
    campaigns.begin("here_1", campaign_description())
    assert campaigns.name_to_continue(campaign_description()) == "here_1"
    for key, other in {"commit": "1" * 40, "host": "0" * 12, "gpus": ["0" * 12], "machine": "there"}.items():
        assert campaigns.name_to_continue(campaign_description() | {key: other}) != "here_1"
    measure("here_1")
    publish("here_1")
    assert campaigns.name_to_continue(campaign_description()) != "here_1"


def test_an_invalid_name_of_a_campaign_is_refused(monkeypatch):
    monkeypatch.setenv(campaigns.VARIABLE, "../elsewhere")
    with pytest.raises(LadderError, match="no campaign's name: unset it"):
        campaigns.of_run()


def test_gpus_are_identified_by_digests():
    threads = {"ranks": [{"gpu": {"uuid": "GPU-1"}}, {"gpu": {"uuid": "GPU-2"}}, {"node": "n"}]}
    assert identity.gpu_digests(threads) == sorted(map(identity.digest, ("GPU-1", "GPU-2")))
    assert identity.gpu_digests({"gpu": {"uuid": "GPU-1"}}) == [identity.digest("GPU-1")]
    assert "GPU" not in identity.digest("GPU-1")
