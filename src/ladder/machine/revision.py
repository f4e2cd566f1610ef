"""The revision of the source: its commit, and whether the code that measures was changed since.

Git is asked for two things: which commit this is, and which files it has. The project must be among them: an archive
unpacked inside another repository has an unknown commit. Whether a file was changed is decided by the digest of its
content, not by git: an index may be locked, corrupt or told to overlook changes, and settings may name another work
tree, a filter or a monitor that hides them. Nor do a caller's `GIT_*` variables have an effect, which a hook sets.

The source is changed if any file differs from the commit that may affect a measurement: not the project's output in
`results`, published or not, nor its documents, its paper and its tests. So it is if any file under `src` is not in the
commit, ignored or not: a new variant measures without being added. A sparse clone may lack files that no job depends
on. Whatever can't be determined counts as changed, so that an unknown commit is never clean.
"""

import functools
import hashlib
import os
import re
import stat
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from ladder.errors import LadderError
from ladder.records.files import abbreviate

DIRTY = "-dirty"
UNKNOWN = {"commit": "unknown", "dirty": True}
PATIENCE = 10  # seconds for one command of git
COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # by SHA-1 or by SHA-256
REVISION = re.compile(f"(?:{COMMIT.pattern})(?:{DIRTY})?|{UNKNOWN['commit']}")  # as `format` writes a revision
ENTRY = re.compile(r"\d{6} \w+ ([0-9a-f]+)\t(.+)", re.DOTALL)  # of git's list of files: mode, kind, digest, path
# Paths from the project's folder.
THIS_FILE = "src/ladder/machine/revision.py"
IRRELEVANT = ("results", "docs", "paper", "tests")
RELEVANT = ("Snakefile", "config", "profiles", "pyproject.toml", "src", "workflow")  # what a job depends on
IGNORED = ("__pycache__", "*.egg-info", ".*", "*~")  # files and folders under `src` that no measurement reads


def current():
    """The source's commit and whether it was changed since: {commit, dirty}.

    LADDER_COMMIT sets it for a copy of the sources without their history; raises LadderError if that is no commit. An
    unknown one is reported on stderr, once.
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


def of(files):
    """The revision of code in these files. In a folder of the user's it is in no commit, and counts as changed."""
    source, revision = Path(__file__).resolve().parents[2], current()
    return revision | {"dirty": revision["dirty"] or not all(path.resolve().is_relative_to(source) for path in files)}


def of_variable(text):
    """The revision that LADDER_COMMIT gives, {commit, dirty}. Raises LadderError unless it is one."""
    if not REVISION.fullmatch(text):
        raise LadderError(
            f"LADDER_COMMIT={abbreviate(text)!r} is no commit: write its 40 or 64 hexadecimal digits, as "
            f"`git rev-parse HEAD` prints them, and append {DIRTY} if the sources were changed since."
        )
    return parse(text)


def revision_of(project, folder):
    """The revision of the project in a folder. Raises LadderError, with the reason, if its commit is unknown."""
    commit = run(project, folder, "rev-parse", "--verify", "HEAD^{commit}").strip()
    if not COMMIT.fullmatch(commit):
        raise LadderError(f"git prints {abbreviate(commit)!r} in {project} instead of a commit; is it git?")
    entries = map(ENTRY.fullmatch, run(project, folder, "ls-tree", "-r", "-z", commit).split("\0"))
    committed = {entry[2]: entry[1] for entry in entries if entry}
    if THIS_FILE not in committed:
        raise LadderError(f"{project} is in a git repository whose commit doesn't contain its files.")
    is_changed = any(differs(project, path, digest) for path, digest in committed.items())
    return {"commit": commit, "dirty": is_changed or not committed.keys() >= set(sources(project))}


def differs(project, path, digest):
    """Whether a file of the commit may affect a measurement and isn't as it is there."""
    top = path.partition("/")[0]
    if top in IRRELEVANT:
        return False
    try:
        return object_id(project / path, "sha1" if len(digest) == 40 else "sha256") != digest
    except (FileNotFoundError, NotADirectoryError):
        return top in RELEVANT
    except OSError:
        return True


def object_id(path, algorithm):
    """The digest by which git names the content of a file, or the target of a link; "" for anything else."""
    kind = path.lstat().st_mode
    if not (stat.S_ISLNK(kind) or stat.S_ISREG(kind)):
        return ""
    content = os.fsencode(path.readlink()) if stat.S_ISLNK(kind) else path.read_bytes()
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def sources(project):
    """The paths, from the project's folder, of the files under `src` and of links to folders."""
    for folder, folders, names in os.walk(project / "src"):
        folders[:] = [name for name in folders if not is_ignored(name)]
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in [*links, *names]:
            if not is_ignored(name):
                yield Path(folder, name).relative_to(project).as_posix()


def is_ignored(name):
    return any(fnmatch(name, pattern) for pattern in IGNORED)


def for_jobs():
    """The source's revision, and the variable that passes it to jobs, {name: value}.

    Unchanged sources may be changed before a job begins: it uses the passed revision while no file has changed, and
    queries git itself otherwise. Changed ones stay changed.
    """
    state = state_of(Path(__file__).resolve().parents[3])  # before git is queried, so that no change is missed
    revision = current()
    unchanged = {"LADDER_UNCHANGED": f"{revision['commit']} {state}"}
    return revision, {"LADDER_COMMIT": format(revision)} if revision["dirty"] else unchanged


def state_of(project):
    """A digest of the paths, sizes and times of the files that a job depends on; "" if one disappears meanwhile."""
    tops = [Path(project, name) for name in RELEVANT]
    paths = [top for top in tops if top.is_file()]
    for folder, folders, names in (step for top in tops for step in os.walk(top)):
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


def run(project, folder, *command):
    """The output of git in the project's folder, through files in `folder`. Raises LadderError."""
    out, err = Path(folder, "out"), Path(folder, "err")  # not pipes, which a child of git may keep open
    try:
        with out.open("wb") as stdout, err.open("wb") as stderr:
            done = subprocess.run(
                ["git", "-C", project, *command],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                timeout=PATIENCE,
            )
    except subprocess.TimeoutExpired:
        raise LadderError(f"`git {command[0]}` takes more than {PATIENCE} s in {project}.") from None
    except OSError as error:
        raise LadderError(f"git can't be run ({error.strerror}); is it installed?") from None
    if done.returncode:
        raise LadderError(reason(err.read_text(encoding="utf-8", errors="replace"), project))
    return os.fsdecode(out.read_bytes())


def environment():
    """The caller's environment without the variables that git reads, except those of its configuration."""
    inherited = {name: value for name, value in os.environ.items() if is_inherited(name)}
    return inherited | {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


def is_inherited(name):
    """Whether git may inherit a variable: the environment may set `safe.directory`, too."""
    return name.startswith("GIT_CONFIG_") or not name.startswith("GIT_")


def reason(complaint, project):
    """The meaning of git's complaint about a project, and what to do."""
    if "safe.directory" in complaint:
        return f"{project} belongs to another user: `git config --global --add safe.directory {project}` trusts it."
    if "not a git repository" in complaint:
        return f"{project} is not in a git repository."
    if "Needed a single revision" in complaint:
        return f"the git repository of {project} has no commit, or has lost it."
    return f"git says {(complaint.strip().splitlines() or ['nothing'])[-1]!r} in {project}."


@functools.cache
def warn_once(sentence):
    """Print a sentence on stderr, once."""
    print(f"ladder: {sentence}", file=sys.stderr)


def combine(before, after):
    """The revision of a process that started at one revision and ended at another: changed if they differ."""
    return before | {"dirty": before != after or before["dirty"]}


def format(revision):
    """The commit of a revision, with `-dirty` appended if it was changed since; an unknown one has no suffix."""
    if revision["commit"] == UNKNOWN["commit"]:
        return UNKNOWN["commit"]
    return revision["commit"] + (DIRTY if revision["dirty"] else "")


def parse(text):
    """The revision, {commit, dirty}, of a text by `format`."""
    commit = text.removesuffix(DIRTY)
    return {"commit": commit, "dirty": text.endswith(DIRTY) or commit == UNKNOWN["commit"]}
