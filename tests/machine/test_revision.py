"""The revision of the sources, determined in real repositories and adverse environments."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ladder.errors import LadderError
from ladder.machine import revision

GIT = shutil.which("git")


def git(folder, *command):
    author = ["-c", "user.name=x", "-c", "user.email=x@y"]
    result = subprocess.run([GIT, "-C", folder, *author, *command], check=True, capture_output=True, text=True)
    return result.stdout.strip()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project's folder without a repository; `revision` takes it for its project."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "LADDER_COMMIT", "LADDER_UNCHANGED")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))  # `current` ignores this variable
    folder = tmp_path / "around" / "project"
    for name in (
        revision.THIS_FILE,
        "src/ladder/case.c",
        "Snakefile",
        "results/published/samples.csv",
        "docs/picture.svg",
    ):
        write(folder / name, name)
    write(folder / ".gitignore", "/results/*\n!/results/published/\n__pycache__/\n")
    monkeypatch.setattr(revision, "__file__", str(folder / revision.THIS_FILE))
    revision.warn_once.cache_clear()
    return folder


@pytest.fixture
def clone(project):
    """The project's folder as a repository with one commit."""
    commit(project, project)
    return project


def commit(folder, project):
    """Make a folder a repository with one commit, of the project's files."""
    git(folder, "init", "-q")
    git(folder, "add", project)
    git(folder, "commit", "-q", "-m", "One")


def add_index_lock(clone):
    write(clone / ".git/index.lock", "")


def break_index(clone):
    write(clone / ".git/index", "no index")


def mark_unchanged(clone, flag="--assume-unchanged"):
    git(clone, "update-index", flag, "src/ladder/case.c")


def hide_changes_by_configuration(clone):
    write(clone / ".git/info/exclude", "*.py\n*.c\n")
    for name, value in [("status.showUntrackedFiles", "no"), ("color.ui", "always"), ("core.ignoreStat", "true")]:
        git(clone, "config", name, value)
    fsmonitor = clone / ".git/nothing-changed"
    write(fsmonitor, "#!/bin/sh\nprintf 'token\\0'\n")
    fsmonitor.chmod(0o755)
    git(clone, "config", "core.fsmonitor", fsmonitor)
    git(clone, "status")


def configure_another_work_tree(clone):
    """The other work tree has the files of the commit."""
    shutil.copytree(clone, clone.parent / "another", ignore=shutil.ignore_patterns(".git"))
    git(clone, "config", "core.worktree", clone.parent / "another")


def configure_a_filter(clone):
    """The filter replaces every file by its version in the commit."""
    write(clone / ".git/info/attributes", "* filter=as-it-was\n")
    git(clone, "config", "filter.as-it-was.clean", "git show HEAD:%f")


def configure_an_untracked_cache(clone):
    for name, value in [("core.untrackedCache", "true"), ("core.fileMode", "false"), ("core.ignoreCase", "true")]:
        git(clone, "config", name, value)
    write(clone / ".git/everything", "*")
    git(clone, "config", "core.excludesFile", clone / ".git/everything")
    git(clone, "status")


def detach(clone):
    git(clone, "checkout", "-q", "--detach")


# States of a clean clone, of which many would hide changes from `git status`.
STATES = [lambda clone: None, add_index_lock, break_index, mark_unchanged, hide_changes_by_configuration, detach]
STATES += [configure_another_work_tree, configure_a_filter, configure_an_untracked_cache]
STATES.append(lambda clone: mark_unchanged(clone, "--skip-worktree"))


def edit_source(clone):
    write(clone / "src/ladder/case.c", "another")


def remove_source(clone):
    (clone / "src/ladder/case.c").unlink()


def edit_workflow(clone):
    write(clone / "Snakefile", "another")


def add_variant(clone):
    write(clone / "src/ladder/workloads/mine.py", "DEVICE = 'host'")


def link_source(clone):
    """The link's target has the same content."""
    (clone / "src/ladder/case.c").rename(clone / "elsewhere.c")
    (clone / "src/ladder/case.c").symlink_to("../../elsewhere.c")


def link_variants(clone):
    write(clone / "mine/gemm/mine.py", "DEVICE = 'host'")
    (clone / "src/ladder/workloads").symlink_to("../../mine")


@pytest.mark.parametrize(
    ("set_state", "change"),
    [
        *((state, edit_source) for state in STATES),
        *(
            (hide_changes_by_configuration, change)
            for change in (remove_source, edit_workflow, add_variant, link_source, link_variants)
        ),
    ],
)
def test_changed_sources_are_dirty_however_the_repository_is_configured(clone, set_state, change, capsys):
    """Neither a locked or broken index nor git's configuration hides changes."""
    expected = git(clone, "rev-parse", "HEAD")
    set_state(clone)
    assert revision.current() == {"commit": expected, "dirty": False}
    change(clone)
    assert revision.current() == {"commit": expected, "dirty": True}
    assert not capsys.readouterr().err


def test_changes_that_are_staged_are_dirty(clone):
    for change, paths in [(edit_source, "src"), (add_variant, ".")]:
        change(clone)
        git(clone, "add", paths)
        assert revision.current()["dirty"]
        git(clone, "reset", "-q", "--hard")
        assert not revision.current()["dirty"]


def publish(clone):
    write(clone / "results/published/samples.csv", "another")
    write(clone / "results/published/machine/checks.csv", "new")
    write(clone / "docs/picture.svg", "drawn again")


def link_results(clone):
    (clone / "results").rename(clone.parent / "elsewhere")
    (clone / "results").symlink_to("../elsewhere")


def write_caches_and_notes(clone):
    write(clone / "src/ladder/__pycache__/case.pyc", "")
    write(clone / "src/ladder.egg-info/PKG-INFO", "")
    write(clone / "notes.txt", "")


@pytest.mark.parametrize("change", [publish, link_results, write_caches_and_notes])
def test_outputs_of_the_project_are_not_dirty(clone, change):
    change(clone)
    assert not revision.current()["dirty"]


def test_the_callers_git_variables_have_no_effect(clone, tmp_path, monkeypatch):
    """Hooks and `rebase --exec` set such variables."""
    another = tmp_path / "another"
    write(another / revision.THIS_FILE, "")
    commit(another, another)
    expected = git(clone, "rev-parse", "HEAD")
    names = {"DIR": another / ".git", "WORK_TREE": another, "INDEX_FILE": another / ".git/index", "NAMESPACE": "x"}
    for name, value in names.items():
        monkeypatch.setenv(f"GIT_{name}", str(value))
    assert revision.current() == {"commit": expected, "dirty": False}


def put_into_outer_repository(project):
    write(project.parent / "README", "")
    commit(project.parent, project.parent / "README")


def stage_in_outer_repository(project):
    put_into_outer_repository(project)
    git(project.parent, "add", ".")


def switch_to_unborn_branch(project):
    git(project, "init", "-q")


def remove_head(project):
    commit(project, project)
    head = git(project, "rev-parse", "HEAD")
    (project / ".git/objects" / head[:2] / head[2:]).unlink()


@pytest.mark.parametrize(
    ("set_state", "message"),
    [
        (lambda project: None, "is not in a git repository"),
        (put_into_outer_repository, "doesn't contain its files"),
        (stage_in_outer_repository, "doesn't contain its files"),
        (switch_to_unborn_branch, "no commit"),
        (remove_head, "no commit, or has lost it"),
    ],
)
def test_the_commit_is_unknown_if_it_does_not_hold_the_files(project, set_state, message, capsys):
    set_state(project)
    assert revision.current() == revision.current() == {"commit": "unknown", "dirty": True}
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert "LADDER_COMMIT" in line


def test_a_project_that_is_tracked_in_a_larger_repository_has_its_commit(project):
    write(project.parent / "beside", "")
    commit(project.parent, ".")
    expected = {"commit": git(project, "rev-parse", "HEAD"), "dirty": False}
    write(project.parent / "beside", "changed")
    write(project.parent / "src/another.py", "")
    assert revision.current() == expected
    edit_source(project)
    assert revision.current() == expected | {"dirty": True}


@pytest.mark.parametrize("add", [["worktree", "add", "-q"], ["clone", "-q", "--depth=1", "."]])
def test_a_worktree_and_a_shallow_clone_have_their_commit(clone, add, monkeypatch, tmp_path):
    git(clone, *add, tmp_path / "second")
    monkeypatch.setattr(revision, "__file__", str(tmp_path / "second" / revision.THIS_FILE))
    assert revision.current() == {"commit": git(clone, "rev-parse", "HEAD"), "dirty": False}


FOREIGN_OWNER = "fatal: detected dubious ownership in repository\n\tgit config --global --add safe.directory /x"


@pytest.mark.parametrize(
    ("script", "message"),  # the script in place of git, None without git
    [
        (f"echo '{FOREIGN_OWNER}' >&2; exit 128", "git config --global --add safe.directory"),
        ("sleep 5 & sleep 5", "takes more than"),
        (f'case $* in *ls-tree*) sleep 5 & sleep 5 ;; *) exec {GIT} "$@" ;; esac', "takes more than"),
        (f'case $* in *ls-tree*) kill -9 $$ ;; *) exec {GIT} "$@" ;; esac', "git says 'nothing'"),
        (f"exec {GIT} $1 $2 rev-parse HEAD", "doesn't contain its files"),
        ("echo nonsense", "git prints 'nonsense'"),
        ("exit 0", "git prints ''"),
        (None, "is it installed?"),
    ],
)
def test_a_failing_git_never_means_clean(clone, script, message, monkeypatch, tmp_path, capsys):
    (tmp_path / "bin").mkdir()
    if script:
        write(tmp_path / "bin/git", f"#!/bin/sh\n{script}\n")
        Path(tmp_path, "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/bin:/usr/bin" if script else str(tmp_path / "bin"))
    monkeypatch.setattr(revision, "GIT_TIMEOUT", 1)
    assert revision.current() == {"commit": "unknown", "dirty": True}
    assert message in capsys.readouterr().err


def test_a_copy_without_history_has_the_commit_of_ladder_commit(monkeypatch):
    for text, dirty in (("a" * 40, False), ("0" * 64, False), ("a" * 40 + "-dirty", True), ("unknown", True)):
        monkeypatch.setenv("LADDER_COMMIT", text)
        assert revision.current() == {"commit": text.removesuffix("-dirty"), "dirty": dirty}
        assert revision.format(revision.current()) == text


@pytest.mark.parametrize(
    "text", ["HEAD", "main", "abc", "d8c0bccf'; x", "a" * 41, "a" * 40 + "\nb", "A" * 40, "-dirty"]
)
def test_a_name_or_a_part_of_a_commit_is_refused(monkeypatch, text):
    monkeypatch.setenv("LADDER_COMMIT", text)
    with pytest.raises(LadderError, match="40 or 64 hexadecimal digits"):
        revision.current()


def test_code_in_a_folder_of_the_user_is_in_no_commit(clone, tmp_path):
    for path, dirty in [
        ("src/ladder/case.c", False),
        ("tests/variants/gemm/mine.py", True),
        (tmp_path / "mine.py", True),
    ]:
        assert revision.of_files([clone / revision.THIS_FILE, clone / path]) == revision.current() | {"dirty": dirty}


def test_a_sparse_clone_is_clean_and_lacks_no_source(clone):
    for name in ("Makefile", "config/config.yaml"):
        write(clone / name, name)
    commit(clone, clone)
    git(clone, "sparse-checkout", "set", "--no-cone", "/src", "/Snakefile", "/config")
    assert not (clone / "Makefile").exists()
    assert not revision.current()["dirty"]
    git(clone, "sparse-checkout", "set", "--no-cone", "/src", "/Snakefile")
    assert revision.current()["dirty"]


def rewrite_source(clone):
    """Another text of the same length, with the same modification time."""
    path = clone / "src/ladder/case.c"
    file_status = path.stat()
    write(path, path.read_text().swapcase())
    os.utime(path, ns=(file_status.st_atime_ns, file_status.st_mtime_ns))


def test_jobs_need_no_git_while_nothing_has_changed(clone, monkeypatch):
    expected, variables = revision.for_jobs()
    assert expected == {"commit": git(clone, "rev-parse", "HEAD"), "dirty": False}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(revision, "run", None)  # git
    publish(clone)
    assert revision.current() == expected


@pytest.mark.parametrize("change", [edit_source, remove_source, edit_workflow, add_variant, rewrite_source])
def test_jobs_notice_changes_after_the_run_has_begun(clone, change, monkeypatch):
    expected, variables = revision.for_jobs()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    change(clone)
    assert revision.current() == expected | {"dirty": True}


def test_jobs_know_of_changes_before_and_while_git_is_queried(clone, monkeypatch):
    query = revision.current
    monkeypatch.setattr(revision, "current", lambda: (query(), rewrite_source(clone))[0])
    _, variables = revision.for_jobs()
    monkeypatch.setattr(revision, "current", query)
    with monkeypatch.context() as job:
        for name, value in variables.items():
            job.setenv(name, value)
        assert revision.current()["dirty"]
    assert revision.for_jobs()[1] == {"LADDER_COMMIT": revision.format(revision.current())}


def test_sources_that_change_during_a_measurement_are_dirty():
    clean, dirty, another = (
        {"commit": name, "dirty": flag} for name, flag in (("a", False), ("a", True), ("b", False))
    )
    pairs = [(clean, clean), (clean, dirty), (dirty, clean), (clean, another)]
    assert [revision.combine(*pair) for pair in pairs] == [clean, dirty, dirty, dirty]
