"""In every surrounding the same study is the same, or a sentence says why it isn't measured there.

A surrounding, such as a locale, is a cell of the matrix of surroundings (`cells.py`). There a script, the probe
(`probe.py`), describes the study; what it prints, the description or a sentence, is its Answer (`matrix_study.py`).
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import ROOT
from faults import small_study
from ladder.records import record
from surroundings import cells, matrix_study

pytestmark = [pytest.mark.slow, pytest.mark.surroundings]
# Where the C library's sources of locales lie.
LOCALE_SOURCES = Path("/usr/share/i18n/locales")
# Programs whose text is read, and the commands of sed that translate words of it. gcc isn't wrapped, because the study
# would take the wrapper for another compiler.
TRANSLATED = {"lscpu": "s/Model name:/Modellname:/; s/^Flags:/Markierungen:/"}


@pytest.fixture(scope="module")
def baseline(tmp_path_factory, worker_id):
    """The study and what it is in plain surroundings, shared by all processes of a run of tests."""
    base = tmp_path_factory.getbasetemp()
    return matrix_study.baseline((base if worker_id == "master" else base.parent) / "surroundings")


def require_same(answer, baseline, *excluded_keys):
    """Fail unless an answer is the plain one or a sentence."""
    if answer.status:
        answer.require_sentence()
        return
    require_no_differences(
        matrix_study.differences(answer.description, baseline.description, *excluded_keys)
        + record_differences(answer, baseline)
    )


def record_differences(answer, baseline):
    """What differs between the record in an answer, if there is one, and the baseline's record of the same variant."""
    if "record" not in answer.description:
        return []
    record = answer.description["record"]
    return matrix_study.record_differences(record, baseline.answers[record["variant"]].description["record"])


def require_no_differences(differences):
    if differences:
        pytest.fail("\n".join(differences), pytrace=False)


@pytest.fixture
def translated_programs(tmp_path):
    """A folder of programs that answer in German except in the C locale, as translated ones do."""
    folder = tmp_path / "translated"
    folder.mkdir()
    for name, commands in TRANSLATED.items():
        script = folder / name
        script.write_text(
            '#!/bin/sh\ncase "${LC_ALL:-${LC_MESSAGES:-${LANG:-C}}}" in C|C.*|POSIX|xx_*|"") exec '
            f'{shutil.which(name)} "$@";; esac\n'
            f"{shutil.which(name)} \"$@\" | sed '{commands}'\n"
        )
        script.chmod(0o755)
    return folder


@pytest.mark.parametrize("name", cells.LOCALES)
def test_in_every_locale_the_study_is_the_same(name, baseline, translated_programs, tmp_path):
    variables, source_and_encoding = cells.LOCALES[name]
    if source_and_encoding:
        source, encoding = source_and_encoding
        if not (LOCALE_SOURCES / source).exists() or not shutil.which("localedef"):
            pytest.skip(f"the locale {source} can't be made: the package `locales` isn't installed")
        subprocess.run(["localedef", "-i", source, "-f", encoding, tmp_path / f"{source}.{encoding}"], check=True)
        variables = variables | {"LOCPATH": str(tmp_path)}
    measure_options = ["--measure", "blas"] if source_and_encoding else []
    answer = matrix_study.run_probe(
        baseline.study,
        "--figure",
        matrix_study.FIGURE,
        *measure_options,
        variables=variables,
        path=[translated_programs],
    )
    assert not answer.status, answer.text
    require_same(answer, baseline)


@pytest.fixture
def placeholder_values(tmp_path):
    """The values of placeholders in `cells.VARIABLES`: a folder, a repository, a library that does nothing, a style."""
    style, library = tmp_path / "matplotlibrc", tmp_path / "libnothing.so"
    style.write_text("font.size: 40\nlines.linewidth: 9\naxes.facecolor: red\nsvg.hashsalt: other\n")
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", library], check=True)
    subprocess.run([*matrix_study.GIT, "init", "--quiet", tmp_path / "repository"], check=True)
    (tmp_path / "folder").mkdir()
    names = {"folder": "folder", "repository": "repository/.git"}
    return {name: tmp_path / path for name, path in names.items()} | {"library": library, "style": style}


@pytest.mark.parametrize("name", cells.VARIABLES)
def test_variables_of_runtimes_change_nothing_or_are_refused(name, baseline, placeholder_values):
    """Neither what is measured nor what is drawn changes, and workers start without the variables."""
    study, _, answers = baseline
    variant, variables = cells.VARIABLES[name]
    if variant not in answers:
        pytest.skip(f"{variant} can't run on this machine")
    expanded_variables = {name: text.format_map(placeholder_values) for name, text in variables.items()}
    figure = ["--figure", matrix_study.FIGURE] if variant == "blas" else []
    answer = matrix_study.run_probe(study, "--measure", variant, *figure, variables=expanded_variables)
    require_same(answer, baseline)
    if variant == "openmp":  # nothing that was compiled there stays for others
        require_no_differences(record_differences(matrix_study.run_probe(study, "--measure", variant), baseline))


@pytest.mark.parametrize("name", cells.FOLDERS)
def test_in_a_folder_of_any_name_the_study_is_the_same_or_refused(name, baseline, tmp_path):
    folder = matrix_study.copy_study(baseline.study, tmp_path / cells.FOLDERS[name])
    answer = matrix_study.run_probe(folder, "--figure", matrix_study.FIGURE, "--typeset", "--measure", "c_openmp")
    require_same(answer, baseline)
    run = snakemake(folder, baseline)
    if run.status:
        assert "ladder: " in run.text
        assert not list((folder / "results").rglob("records/**/*.json"))
    else:
        assert "1 was measured now" in run.text
        assert not answer.status


def test_in_a_folder_that_is_a_link_the_study_is_the_same(baseline, tmp_path):
    (tmp_path / "link").symlink_to(matrix_study.copy_study(baseline.study, tmp_path / "elsewhere/study"))
    require_same(
        matrix_study.run_probe(tmp_path / "link", "--figure", matrix_study.FIGURE, "--measure", "blas"), baseline
    )


def test_modules_in_the_folder_replace_none_of_the_standard_library(baseline, tmp_path):
    folder = matrix_study.copy_study(baseline.study, tmp_path / "study")
    for name in ("code", "json", "numbers", "random", "statistics", "types"):
        (folder / f"{name}.py").write_text("raise SystemExit('from the folder')")
    assert "1 was measured now" in snakemake(folder, baseline).text


def snakemake(folder, baseline):
    """Run Snakemake on one case of the study in a folder: how it ended, without a traceback.

    Like the program `snakemake`, it doesn't search the working folder for modules.
    """
    command = [sys.executable, "-P", "-m", "snakemake", target(baseline), "--configfile", "study.yaml"]
    environment = matrix_study.plain_environment() | {
        "PYTHONPATH": matrix_study.source_path(folder),
        "XDG_RUNTIME_DIR": str(folder),
    }
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=matrix_study.PROBE_TIMEOUT,
    )
    text = (result.stdout + result.stderr).decode(errors="replace")
    assert "Traceback" not in text, text
    return small_study.Outcome(text, result.returncode)


def target(baseline):
    """The path of the record of one case of the study."""
    (key,) = (case["key"] for case in baseline.description["plan"]["cases"] if case["key"].startswith("gemm/blas/"))
    return record.path_of(baseline.description["label"], key)


# Functions that put a copy into a state of git. GIT_STATES has, by the state's name, the function and the origins that
# are right then, {(commit, dirty)}; the commit True is the study's.
def leave_clean(folder):
    pass


def make_dirty(folder):
    with (folder / "src/ladder/errors.py").open("a") as file:
        file.write("# changed\n")


def put_inside_another_repository(folder):
    shutil.rmtree(folder / ".git")
    commit = ["commit", "--quiet", "--allow-empty", "--message", "Another one"]
    for words in (["init", "--quiet"], commit):
        subprocess.run([*matrix_study.GIT, *words], cwd=folder.parent, check=True)


def remove_git(folder):
    shutil.rmtree(folder / ".git")


def give_to_somebody_else(folder):
    if os.geteuid():
        pytest.skip("only root can give files to somebody else")
    for path in (folder, folder / ".git"):
        os.chown(path, 65534, 65534)  # nobody


def slow_git_down(folder):
    """Git takes more than the 10 s that a command of git may take."""
    make_dirty(folder)
    stand_in = folder.parent / "bin/git"
    stand_in.parent.mkdir()
    stand_in.write_text(f'#!/bin/sh\ncase "$*" in *status*|*diff*) sleep 12;; esac\nexec {shutil.which("git")} "$@"\n')
    stand_in.chmod(0o755)


UNKNOWN_COMMIT = "unknown"
GIT_STATES = {
    "clean": (leave_clean, {(True, False)}),
    "dirty": (make_dirty, {(True, True)}),
    "inside another repository": (put_inside_another_repository, {(UNKNOWN_COMMIT, False), (UNKNOWN_COMMIT, True)}),
    "without git": (remove_git, {(UNKNOWN_COMMIT, False), (UNKNOWN_COMMIT, True)}),
    "owned by somebody else": (give_to_somebody_else, {(UNKNOWN_COMMIT, False), (UNKNOWN_COMMIT, True), (True, False)}),
    "slow, its sources changed": (slow_git_down, {(UNKNOWN_COMMIT, False), (UNKNOWN_COMMIT, True), (True, True)}),
}


@pytest.mark.parametrize("name", GIT_STATES)
def test_in_every_state_of_git_the_origin_is_right_or_unknown(name, baseline, tmp_path):
    prepare, expected_origins = GIT_STATES[name]
    folder = matrix_study.copy_study(baseline.study, tmp_path / "outer/study")
    prepare(folder)
    answer = matrix_study.run_probe(folder, path=[folder.parent / "bin"])
    require_same(answer, baseline, "origin")
    if answer.status:
        return
    origin = answer.description["origin"]
    commit = origin["commit"] == baseline.description["origin"]["commit"] or origin["commit"]
    assert (commit, origin["dirty"]) in expected_origins
    if name == "owned by somebody else" and commit == UNKNOWN_COMMIT:
        assert "safe.directory" in answer.text or "LADDER_COMMIT" in answer.text


@pytest.mark.parametrize("is_link", [False, True])
def test_what_the_project_makes_changes_no_origin(baseline, tmp_path, is_link):
    """Records, figures and what is published don't make the sources dirty, also where `results` is a link."""
    folder = matrix_study.copy_study(baseline.study, tmp_path / "study")
    published = folder / "results/published/there/machine.json"
    published.parent.mkdir(parents=True)
    published.write_text("{}")
    for words in (["add", "--force", published], ["commit", "--quiet", "--message", "Published"]):
        subprocess.run([*matrix_study.GIT, *words], cwd=folder, check=True)
    before = matrix_study.run_probe(folder).description["origin"]
    published.write_text('{"machine": "there"}')
    if is_link:
        (folder / "results").rename(tmp_path / "results")
        (folder / "results").symlink_to(tmp_path / "results")
    answer = matrix_study.run_probe(folder, "--measure", "blas")
    assert answer.description["record"]["source"] == before == {"commit": before["commit"], "dirty": False}


def leave_lock_of_killed_run(folder):
    locks = folder / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("results/table.csv\n")
    (folder / ".snakemake/ladder.lock").write_text(socket.gethostname())


def leave_lock_of_another_host(folder):
    leave_lock_of_killed_run(folder)
    (folder / ".snakemake/ladder.lock").write_text("4f0c2b11a9de")  # the name of a container's host


def make_unwritable(folder):
    leave_lock_of_killed_run(folder)
    mount = ["mount", "--bind", folder / ".snakemake", folder / ".snakemake"]
    if os.geteuid():
        (folder / ".snakemake").chmod(0o500)
    elif subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    else:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder / ".snakemake"], check=True)


def make_writable(folder):
    if os.geteuid():
        (folder / ".snakemake").chmod(0o700)
    else:
        subprocess.run(["umount", "--lazy", folder / ".snakemake"], capture_output=True)


@pytest.mark.parametrize("leave_lock", [leave_lock_of_killed_run, leave_lock_of_another_host])
def test_a_lock_that_is_left_blocks_no_run(leave_lock, baseline, tmp_path):
    folder = matrix_study.copy_study(baseline.study, tmp_path / "study")
    leave_lock(folder)
    run = snakemake(folder, baseline)
    assert not run.status, run.text


def test_a_lock_that_cannot_be_written_is_refused_with_a_sentence(baseline, tmp_path):
    folder = matrix_study.copy_study(baseline.study, tmp_path / "study")
    make_unwritable(folder)
    try:
        run = snakemake(folder, baseline)
    finally:
        make_writable(folder)
    assert run.status
    assert "ladder: " in run.text
    assert "can't be written" in run.text


@contextmanager
def hold_lock(path, text):
    """A process that holds a lock as long as the context lasts."""
    code = (
        "import fcntl, sys, time; file = open(sys.argv[1], 'a+'); fcntl.flock(file, fcntl.LOCK_EX); "
        "file.truncate(0); file.write(sys.argv[2]); file.flush(); print('held', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, path, text], stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_live_run_locks_its_folder_until_it_ends(baseline, tmp_path):
    folder = matrix_study.copy_study(baseline.study, tmp_path / "study")
    leave_lock_of_killed_run(folder)
    locks = folder / ".snakemake/locks"
    (locks / "0.output.lock").write_text(f"{target(baseline)}\n")
    with hold_lock(folder / ".snakemake/ladder.lock", socket.gethostname()):
        assert snakemake(folder, baseline).status
    assert not snakemake(folder, baseline).status


def test_measurements_in_different_surroundings_share_the_machines_lock(baseline, tmp_path):
    """Two measurements with other folders of the session never time at once; the one that waits says so."""
    study = baseline.study
    command = [sys.executable, matrix_study.PROBE, "--measure", "blas"]
    path = {"PYTHONPATH": f"{study}/src"}
    outer = matrix_study.copy_study(study, tmp_path / "outer")
    lines = ["import time", "from ladder.records import locks", "with locks.timing_lock():"]
    program = "\n".join([*lines, "    print('held', flush=True)", "    time.sleep(600)"])
    first = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=outer,
        env=matrix_study.plain_environment() | path | {"XDG_RUNTIME_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        first.stdout.readline()
        second = subprocess.Popen(
            command,
            cwd=study,
            env=matrix_study.plain_environment() | path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        time.sleep(6)  # by then it has started, and without a lock measured
        assert second.poll() is None, "it didn't wait"
    finally:
        first.kill()
        first.wait()
    _, message = second.communicate(timeout=matrix_study.PROBE_TIMEOUT)
    assert second.returncode == 0, message
    assert b"wait" in message.lower()


def test_after_a_held_lock_is_deleted_a_run_completes_or_is_refused(baseline, tmp_path):
    """It doesn't fail otherwise."""
    folder = matrix_study.copy_study(baseline.study, tmp_path / "study")
    (folder / ".snakemake").mkdir()
    with hold_lock(folder / ".snakemake/ladder.lock", socket.gethostname()):
        (folder / ".snakemake/ladder.lock").unlink()
        run = snakemake(folder, baseline)
    assert not run.status or "ladder: " in run.text or "locked" in run.text


REAL_GROUPS = Path("/sys/fs/cgroup/cpu")


@pytest.mark.skipif(
    not os.access(REAL_GROUPS / "cgroup.procs", os.W_OK), reason="no group of version 1 can be made here"
)
@pytest.mark.parametrize(("quota_us", "is_nested"), [(100_000, False), (50_000, False), (100_000, True)])
def test_the_quota_of_a_real_control_group_counts(quota_us, is_nested, baseline):
    outer = REAL_GROUPS / f"surroundings-{os.getpid()}-{quota_us}-{is_nested}"
    groups = [outer, outer / "inner"] if is_nested else [outer]
    try:
        for group in groups:
            group.mkdir()
        (outer / "cpu.cfs_quota_us").write_text(str(quota_us))
        require_quota(baseline, quota_us / 100_000, f"echo $$ > {groups[-1]}/cgroup.procs")
    finally:
        for group in reversed(groups):
            group.rmdir()


# A made-up hierarchy is mounted over the real one, and files that describe it over the kernel's.
MOUNT_MADE_UP_GROUPS = """
mount --bind {folder}/cgroup /proc/$$/cgroup
mount --bind {folder}/groups /sys/fs/cgroup
mount --bind {folder}/mountinfo /proc/$$/mountinfo
"""
# {version: (type of the file system, options of its mount, begin of a line of /proc/<pid>/cgroup)}.
CGROUP_MOUNTS = {2: ("cgroup2", "cgroup2", "0::"), 1: ("cgroup", "rw,cpu,cpuacct", "4:cpu,cpuacct:")}


@pytest.mark.parametrize("name", cells.GROUPS)
def test_the_quota_of_a_made_up_control_group_counts(name, baseline, tmp_path):
    version, group, quotas, cpus = cells.GROUPS[name]
    filesystem, options, line_start = CGROUP_MOUNTS[version]
    root = tmp_path / "groups" / ("cpu,cpuacct" if version == 1 else "")
    for name_below_root, (quota, period) in quotas.items():
        folder = root / name_below_root
        folder.mkdir(parents=True)
        if version == 2:
            (folder / "cpu.max").write_text(f"{quota} {period}\n")
        else:
            (folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")
            (folder / "cpu.cfs_period_us").write_text(f"{period}\n")
    mount_point = Path("/sys/fs/cgroup") / root.relative_to(tmp_path / "groups")
    (tmp_path / "cgroup").write_text(f"{line_start}{group}\n")
    (tmp_path / "mountinfo").write_text(f"30 20 0:26 / {mount_point} rw - {filesystem} {filesystem} {options}\n")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    require_quota(baseline, cpus, MOUNT_MADE_UP_GROUPS.format(folder=tmp_path), "unshare", "--mount")


def require_quota(baseline, cpus, enter_commands, *wrapper):
    """The label counts the CPUs of a quota; a case that needs more CPUs is refused or reported.

    `cpus` is the number of CPUs that the quota leaves, perhaps a fraction, or None without a quota. A shell, run by
    `wrapper`, enters the control group by `enter_commands`, then runs the probe.
    """
    command = (
        f"{enter_commands}\nexec {sys.executable} {matrix_study.PROBE} {'--measure blas' if cpus and cpus < 1 else ''}"
    )
    result = subprocess.run(
        [*wrapper, "sh", "-e", "-c", command],
        cwd=baseline.study,
        env=matrix_study.plain_environment() | {"PYTHONPATH": f"{baseline.study}/src"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in result.stderr, result.stderr
    if cpus and cpus < 1:
        assert "quota" in result.stderr, result.stderr
    else:
        cores = min(cpus or baseline.description["cores"], baseline.description["cores"])
        assert json.loads(result.stdout)["cores"] == cores
        assert json.loads(result.stdout)["label"].endswith(f"-{cores:g}c")


PYTHONS = ("python3.12", "python3.13", "python3.14")


@pytest.mark.parametrize("name", PYTHONS)
def test_another_python_plans_and_measures_the_same(name, baseline, tmp_path):
    """The same study in an environment of the pinned packages: the same cases, fingerprints, origins and figures."""
    python = working_python(name)
    if not python:
        pytest.skip(f"there is no {name}: name a folder that has one in PATH")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    result = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", ROOT / "requirements.txt"],
        capture_output=True,
    )
    if result.returncode:
        pytest.skip(f"the packages can't be installed for {name}: {result.stderr.decode()[-300:]}")
    folder = matrix_study.copy_study(baseline.study, tmp_path / "study")
    # The second answer is the one that counts: Numba has compiled by then.
    answer = [
        matrix_study.run_probe(folder, "--figure", matrix_study.FIGURE, "--measure", "openmp", python=python)
        for _ in range(2)
    ][1]
    # NumPy and SciPy are pinned to other versions for some Pythons, which bring other versions of their BLAS.
    differing_record_lines = [
        text for text in record_differences(answer, baseline) if not text.startswith("record.threads.runtimes.blas-")
    ]
    require_no_differences(matrix_study.differences(answer.description, baseline.description) + differing_record_lines)
    assert blas_thread_counts(answer) == blas_thread_counts(baseline.answers["openmp"])


def blas_thread_counts(answer):
    """The libraries of BLAS in an answer's record without their versions, each with its number of threads."""
    runtimes = answer.description["record"]["threads"]["runtimes"]
    return sorted((name.rpartition("-")[0], count) for name, count in runtimes.items() if name.startswith("blas-"))


def working_python(name):
    """The path of an interpreter that runs, be it on the PATH or in pyenv's folder of versions; None without one."""
    versions = sorted(Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}*/bin/{name}"))
    for path in filter(None, [shutil.which(name), *map(str, versions)]):
        if not subprocess.run([path, "-c", ""], capture_output=True).returncode:
            return path
    return None
