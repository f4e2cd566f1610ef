"""The revision of the source: its commit, and whether the code that measures was changed since.

Git is queried for the files of this project alone, and only if they belong to the commit: an archive unpacked inside
another repository has an unknown commit. The work tree is compared with the commit itself, through a temporary index:
the repository's own may be locked, corrupt, or configured to ignore files. Neither a caller's `GIT_*` variables, which
a hook sets, nor the user's settings have an effect.

The source is changed if any file differs from the commit that may affect a measurement: not the project's output in
`results`, published or not, nor its documents, its paper and its tests. So it is if any file under `src` is not in the
commit, ignored or not: a new variant measures without being added. Whatever can't be determined counts as changed, so
that an unknown commit is never clean.
"""

import functools
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ladder.errors import LadderError
from ladder.records.files import shortened

DIRTY = "-dirty"
UNKNOWN = {"commit": "unknown", "dirty": True}
PATIENCE = 10  # seconds for one command of git
COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")  # by SHA-1 or by SHA-256
# Paths from the project's folder.
HERE = "src/ladder/machine/revision.py"
OTHERS = tuple(f":(exclude){name}" for name in ("results", "docs", "paper", "tests"))  # `results` may be a link
MEASURING = ("Snakefile", "config", "profiles", "pyproject.toml", "src", "workflow")  # what a job depends on
CACHES = ("__pycache__/", "*.egg-info/", ".*", "*~")  # files under `src` that no measurement reads
# With these, git could trust another program or an index that a file is unchanged, or run a hook.
SETTINGS = ("core.fsmonitor=false", "core.ignoreStat=false", "core.splitIndex=false", "core.hooksPath=/dev/null")


def current():
    """The source's commit and whether it was changed since: {commit, dirty}.

    LADDER_COMMIT sets it for a copy of the sources without their history. An unknown one is reported on stderr, once.
    """
    project = Path(__file__).resolve().parents[3]
    if commit := os.environ.get("LADDER_COMMIT", "").strip():
        return parse(commit)
    commit, _, state = os.environ.get("LADDER_UNCHANGED", "").partition(" ")
    if state and state == state_of(project):
        return {"commit": commit, "dirty": False}
    try:
        with tempfile.TemporaryDirectory(prefix="ladder-git-") as folder:
            return revision_of(project, folder)
    except (LadderError, OSError) as error:
        warn_once(f"The commit of the sources is unknown: {error} LADDER_COMMIT=<commit> in the environment names it.")
        return UNKNOWN


def revision_of(project, folder):
    """The revision of the project in a folder. Raises LadderError, with the reason, if its commit is unknown."""
    git = functools.partial(run, project, folder)
    commit = git("rev-parse", "--verify", "HEAD^{commit}").strip()
    if not COMMIT.fullmatch(commit):
        raise LadderError(f"git prints {shortened(commit)!r} in {project} instead of a commit; is it git?")
    try:
        git("read-tree", commit)
        if not git("ls-files", "--", HERE):
            raise LadderError(f"{project} is in a git repository whose commit doesn't contain its files.")
        changed = git("status", "--porcelain", "-z", "--untracked-files=no", "--", ".", *OTHERS)
        excluded = [f"--exclude={pattern}" for pattern in CACHES]
        added = git("ls-files", "--others", "-z", *excluded, "--", "src")
    except GitError as error:
        warn_once(f"Whether the sources were changed since their commit is unknown, so they count as changed: {error}")
        return {"commit": commit, "dirty": True}
    return {"commit": commit, "dirty": bool(changed or added)}


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
    tops = [Path(project, name) for name in MEASURING]
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


class GitError(LadderError):
    """Why git gave no answer."""


def run(project, folder, *command):
    """The output of git in the project's folder, with an index in another one. Raises GitError."""
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    out, err = Path(folder, "out"), Path(folder, "err")  # not pipes, which a child of git may keep open
    try:
        with out.open("wb") as stdout, err.open("wb") as stderr:
            done = subprocess.run(
                ["git", "-C", project, *settings, *command],
                env=environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                timeout=PATIENCE,
            )
    except subprocess.TimeoutExpired:
        raise GitError(f"`git {command[0]}` takes more than {PATIENCE} s in {project}.") from None
    except OSError as error:
        raise GitError(f"git can't be run ({error.strerror}); is it installed?") from None
    if done.returncode:
        raise GitError(reason(err.read_text(encoding="utf-8", errors="replace"), project))
    return out.read_text(encoding="utf-8", errors="replace")


def environment(folder):
    """The caller's environment without the variables that git reads, except those of its configuration."""
    inherited = {name: value for name, value in os.environ.items() if is_inherited(name)}
    index = {"GIT_INDEX_FILE": str(Path(folder, "index")), "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    return inherited | index | {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


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
