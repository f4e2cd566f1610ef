"""The revision of the sources: their commit, and whether they are dirty, that is, changed since the commit.

Git only says which commit is checked out and which files it holds. If this module isn't among them, as in an archive
unpacked inside another repository, the commit is unknown. Whether a file has changed follows from the digest of its
content, not from git: an index may be locked, corrupt or set to overlook changes, and git's configuration may name
another work tree, or a filter or a monitor that hides changes. `GIT_*` variables, which hooks set, have no effect.

The sources are dirty if a file differs from the commit, except in the folders results, docs, paper and tests, which
can't affect a measurement. They are also dirty if a file under `src` isn't in the commit, even one that git ignores: a
new variant can be measured before `git add`. A sparse clone may lack files that no job depends on. What can't be
determined counts as changed, so an unknown commit is always dirty.
"""

import functools
import hashlib
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ladder.errors import LadderError
from ladder.records.files import abbreviate

DIRTY = "-dirty"
UNKNOWN: dict[str, Any] = {"commit": "unknown", "dirty": True}
GIT_TIMEOUT = 10  # seconds for one command of git
COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # by SHA-1 or by SHA-256
REVISION = re.compile(f"(?:{COMMIT.pattern})(?:{DIRTY})?|{UNKNOWN['commit']}")  # a text by `format`
TREE_ENTRY = re.compile(r"\d{6} \w+ ([0-9a-f]+)\t(.+)", re.DOTALL)  # of git's list of files: mode, kind, digest, path
# Paths relative to the project's folder.
THIS_FILE = "src/ladder/machine/revision.py"
IRRELEVANT_PATHS = ("results", "docs", "paper", "tests")  # whose changes don't affect measurements
REQUIRED_PATHS = ("Snakefile", "config", "profiles", "pyproject.toml", "src", "workflow")  # of files that jobs need
IGNORED_PATTERNS = ("__pycache__", "*.egg-info", ".*", "*~")  # patterns of names under `src` that no measurement reads


def current() -> dict[str, Any]:
    """The revision of the sources, {commit, dirty}.

    LADDER_COMMIT gives it for a copy of the sources without history; raises LadderError if that isn't a commit. An
    unknown commit is reported once, on standard error. LADDER_UNCHANGED (see `for_jobs`) gives a clean commit and the
    `state_of` its sources.
    """
    project = Path(__file__).resolve().parents[3]
    if commit := os.environ.get("LADDER_COMMIT", "").strip():
        return of_variable(commit)
    commit, _, state = os.environ.get("LADDER_UNCHANGED", "").partition(" ")
    if state and state == state_of(project):
        return {"commit": commit, "dirty": False}
    try:
        with tempfile.TemporaryDirectory(prefix="ladder-git-") as folder:
            return revision_of(project, folder)
    except (LadderError, OSError) as error:
        warn_once(f"The commit of the sources is unknown: {error} LADDER_COMMIT=<commit> in the environment names it.")
        return UNKNOWN


def of_files(files: Sequence[Path]) -> dict[str, Any]:
    """The revision of code in these files; it is dirty if a file is in a user's folder, outside of the commit."""
    source, revision = Path(__file__).resolve().parents[2], current()
    return revision | {"dirty": revision["dirty"] or not all(path.resolve().is_relative_to(source) for path in files)}


def of_variable(text: str) -> dict[str, Any]:
    """The revision that LADDER_COMMIT gives, {commit, dirty}. Raises LadderError if the text is invalid."""
    if not REVISION.fullmatch(text):
        raise LadderError(
            f"LADDER_COMMIT={abbreviate(text)!r} isn't a commit: write its 40 or 64 hexadecimal digits, as "
            f"`git rev-parse HEAD` prints them, and append {DIRTY} if the sources were changed since."
        )
    return parse(text)


def revision_of(project: Path, folder: Path | str) -> dict[str, Any]:
    """The project's revision; git's output goes to files in `folder`. Raises LadderError if the commit is unknown."""
    commit = run(project, folder, "rev-parse", "--verify", "HEAD^{commit}").strip()
    if not COMMIT.fullmatch(commit):
        raise LadderError(f"git prints {abbreviate(commit)!r} in {project} instead of a commit; is it git?")
    entries = map(TREE_ENTRY.fullmatch, run(project, folder, "ls-tree", "-r", "-z", commit).split("\0"))
    committed = {entry[2]: entry[1] for entry in entries if entry}
    if THIS_FILE not in committed:
        raise LadderError(f"{project} is in a git repository whose commit doesn't contain its files.")
    is_changed = any(differs(project, path, digest) for path, digest in committed.items())
    return {"commit": commit, "dirty": is_changed or not committed.keys() >= set(sources(project))}


def differs(project: Path, path: str, digest: str) -> bool:
    """Whether a file may affect a measurement and differs from the commit, in which its content has this digest."""
    top = path.partition("/")[0]
    if top in IRRELEVANT_PATHS:
        return False
    try:
        return object_id(project / path, "sha1" if len(digest) == 40 else "sha256") != digest
    except (FileNotFoundError, NotADirectoryError):
        return top in REQUIRED_PATHS
    except OSError:
        return True


def object_id(path: Path, algorithm: str) -> str:
    """Git's object id of a file's content or a link's target, in hexadecimal; "" for anything else."""
    mode = path.lstat().st_mode
    if not (stat.S_ISLNK(mode) or stat.S_ISREG(mode)):
        return ""
    content = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else path.read_bytes()
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def sources(project: Path) -> Iterator[str]:
    """The paths of the files under `src` and of links to folders there, relative to the project's folder."""
    for folder, folders, names in os.walk(project / "src"):
        folders[:] = [name for name in folders if not is_ignored(name)]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in [*links, *names]:
            if not is_ignored(name):
                yield Path(folder, name).relative_to(project).as_posix()


def is_ignored(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in IGNORED_PATTERNS)


def for_jobs() -> tuple[dict[str, Any], dict[str, str]]:
    """The revision of the sources, and the environment variable that passes it to jobs, {name: value}.

    Clean sources may change before a job starts, so the job gets their state too, and queries git if they have changed.
    Dirty sources stay dirty.
    """
    state = state_of(Path(__file__).resolve().parents[3])  # before git is queried, so that no change is missed
    revision = current()
    unchanged = {"LADDER_UNCHANGED": f"{revision['commit']} {state}"}
    return revision, {"LADDER_COMMIT": format(revision)} if revision["dirty"] else unchanged


def state_of(project: Path) -> str:
    """A digest of the paths, inodes, sizes and times of the files that jobs depend on; "" if one can't be read."""
    top_paths = [Path(project, name) for name in REQUIRED_PATHS]
    paths = [top_path for top_path in top_paths if top_path.is_file()]
    for folder, folders, names in (step for top_path in top_paths for step in os.walk(top_path)):
        folders[:] = [name for name in folders if name != "__pycache__"]
        paths += [Path(folder, name) for name in names]
    digest = hashlib.sha256()
    for path in sorted(paths):
        try:
            status = path.stat()
        except OSError:  # deleted meanwhile, or a dangling link
            return ""
        digest.update(f"{path!r} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}\n".encode())
    return digest.hexdigest()


def run(project: Path, folder: Path | str, *command: str) -> str:
    """Run git in the project's folder, with output to files in `folder`; return the output. Raises LadderError."""
    out, err = Path(folder, "out"), Path(folder, "err")  # a child of git could keep pipes open
    try:
        with out.open("wb") as stdout, err.open("wb") as stderr:
            completed = subprocess.run(
                ["git", "-C", project, *command],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                timeout=GIT_TIMEOUT,
            )
    except subprocess.TimeoutExpired:
        raise LadderError(f"`git {command[0]}` takes more than {GIT_TIMEOUT} s in {project}.") from None
    except OSError as error:
        raise LadderError(f"git can't be run ({error.strerror}); is it installed?") from None
    if completed.returncode:
        raise LadderError(reason(err.read_text(encoding="utf-8", errors="replace"), project))
    return os.fsdecode(out.read_bytes())


def environment() -> dict[str, str]:
    """The environment for git: the caller's without variables that redirect git."""
    inherited = {name: value for name, value in os.environ.items() if is_inherited(name)}
    return inherited | {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


def is_inherited(name: str) -> bool:
    """Whether git inherits a variable: `GIT_CONFIG_*` may set `safe.directory`, other `GIT_*` variables are dropped."""
    return name.startswith("GIT_CONFIG_") or not name.startswith("GIT_")


def reason(complaint: str, project: Path) -> str:
    """An explanation of git's error message about a project, with advice."""
    if "safe.directory" in complaint:
        return f"{project} belongs to another user: `git config --global --add safe.directory {project}` trusts it."
    if "not a git repository" in complaint:
        return f"{project} is not in a git repository."
    if "Needed a single revision" in complaint:
        return f"the git repository of {project} has no commit, or has lost it."
    return f"git says {(complaint.strip().splitlines() or ['nothing'])[-1]!r} in {project}."


@functools.cache
def warn_once(sentence: str) -> None:
    """Print a sentence on stderr, once."""
    print(f"ladder: {sentence}", file=sys.stderr)


def combine(before: dict[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The revision of a process that started at one revision and ended at another; it is dirty if they differ."""
    return before | {"dirty": before != after or before["dirty"]}


def format(revision: Mapping[str, Any]) -> str:
    """A revision as text: the commit, followed by `-dirty` if it is dirty; "unknown" has no suffix."""
    if revision["commit"] == UNKNOWN["commit"]:
        return UNKNOWN["commit"]
    return revision["commit"] + (DIRTY if revision["dirty"] else "")


def parse(text: str) -> dict[str, Any]:
    """The revision, {commit, dirty}, in a text by `format`."""
    commit = text.removesuffix(DIRTY)
    return {"commit": commit, "dirty": text.endswith(DIRTY) or commit == UNKNOWN["commit"]}
