"""The paper: LaTeX run by latexmk, its errors as one sentence, and the same bytes from the same inputs."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import MappingProxyType

from ladder.errors import LadderError
from ladder.machine import processes

PACKAGES = "latexmk texlive-latex-recommended texlive-fonts-recommended texlive-science lmodern"
# No clock and no path may reach the PDF: its inputs alone decide its bytes.
EPOCH = "1700000000"
NONE = MappingProxyType({})
PLAIN = re.compile(r"/[\w./+-]*")  # a path without signs that mean something in a list of TeX's


def build(source, inputs, folder, out, texts=NONE, origins=NONE):
    """Typeset `source` in `folder` and copy the PDF to `out`. Raises LadderError with LaTeX's first complaint.

    The generated `inputs` are copied there first, so that no stale one is seen: results/tex/plan.tex is read as
    `tex/plan`. `texts`, {path in the folder: text}, are written there; a complaint about one of them names the file
    that it comes from, where `origins`, {path in the folder: path}, has it.
    """
    source, folder, out = Path(source), Path(folder), Path(out)
    if not source.is_file():
        raise LadderError(f"There is no {source} to typeset.")
    if shutil.which("latexmk") is None:
        raise LadderError(f"The paper needs LaTeX: latexmk isn't installed. On Debian: apt-get install {PACKAGES}.")
    shutil.rmtree(folder, ignore_errors=True)  # what a failed run leaves can fail the next one
    for path in map(Path, inputs):
        copy = folder / path.parent.name / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    origins = bring(source, folder) | origins
    done, messages, log = run_latex(source.name, folder)
    if done.returncode:
        fault = complaint(messages) or complaint(done.stdout + done.stderr)
        fault = fault or f"latexmk ended with status {done.returncode}"
        raise LadderError(f"LaTeX stopped: {named(fault, origins)}. All of it: {log}.")
    if undefined := re.search(r"(?:Reference|Citation) [`'\"](\S+?)' .*undefined", messages):
        raise LadderError(
            f"The paper refers to {undefined[1]!r}, which is defined nowhere: mend {source.parent} or a chapter's text."
        )
    part = out.with_name(f".{out.name}.part")
    shutil.copyfile(folder / source.with_suffix(".pdf").name, part)
    part.replace(out)


def bring(source, folder):
    """Bring what lies beside the source to the folder, {name: path}: files as copies, folders as links.

    LaTeX reads them by their names alone, so that no sign in the project's path can mean anything to it. Nothing
    replaces what is there, and what an earlier run made of the source stays behind.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for path in sorted(source.parent.iterdir()):
        copy = folder / path.name
        if copy.exists() or folder.resolve().is_relative_to(path.resolve()):
            continue
        if path.is_dir():
            copy.symlink_to(path.resolve())
        elif path == source or path.stem != source.stem:
            shutil.copyfile(path, copy)
            files[path.name] = path
    return files


def run_latex(name, folder):
    """Run latexmk on a file of the folder: the finished process, the messages of LaTeX's log, and the log's path."""
    command = ["latexmk", "-norc", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-file-line-error", name]
    done = processes.run(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    log = (folder / name).with_suffix(".log")
    messages = log.read_text(encoding="utf-8", errors="replace") if log.exists() else done.stdout + done.stderr
    return done, messages, log


def environment():
    """The environment of LaTeX: what finds its programs, and nothing else of the caller's, such as paths and limits.

    A home that isn't there keeps its own packages from taking the place of the system's; they are searched last.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
    packages = os.environ.get("TEXMFHOME") or f"{os.environ.get('HOME', '')}/texmf"
    inputs = f".::{packages}/tex//" if PLAIN.fullmatch(packages) else ".:"
    fixed = {"HOME": "/nonexistent", "LC_ALL": "C", "TZ": "UTC", "TEXINPUTS": inputs}
    # Long lines, so that a complaint isn't broken in the log.
    fixed |= {"max_print_line": "1000", "error_line": "254", "half_error_line": "238"}
    return kept | fixed | {"SOURCE_DATE_EPOCH": EPOCH, "FORCE_SOURCE_DATE": "1"}


def named(message, origins):
    """A complaint that names the file that a copy is of."""
    place = re.match(r"(?:\./)?(\S+?)(:\d+: )", message)
    return f"{origins[place[1]]}{message[place.start(2) :]}" if place and place[1] in origins else message


def complaint(log):
    """The first line in which LaTeX, or latexmk, says what is wrong, and the help that follows it; or an empty text."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if re.match(r"! |\S+\.(tex|bib|bbl|sty):\d+: ", line):
            context = next((later for later in lines[number + 1 : number + 8] if re.match(r"l\.\d+ ", later)), "")
            missing = re.search(r"File `(\S+\.sty)' not found", line)
            advice = f" (install it with: apt-get install {PACKAGES})" if missing else ""
            return f"{line.removeprefix('! ').strip().rstrip('.')}{advice}{f' [{context.strip()}]' if context else ''}"
    return next((line.strip() for line in lines if "rror" in line), "")
