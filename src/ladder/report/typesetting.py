"""Typeset the paper by latexmk: LaTeX's error becomes one sentence, and the same inputs give the same bytes."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ladder.errors import LadderError
from ladder.machine import processes

PACKAGES = "latexmk texlive-latex-recommended texlive-fonts-recommended texlive-science lmodern"
# The date of the PDF, in seconds since 1970: fixed, so that its bytes depend on its inputs alone.
EPOCH = "1700000000"
EMPTY: Mapping[str, Any] = MappingProxyType({})
PLAIN_PATH = re.compile(r"/[\w./+-]*")  # without characters that have a meaning in TeX's search paths


def build(source, inputs, folder, out, texts=EMPTY, origins=EMPTY):
    """Typeset `source` in `folder` and copy the PDF to `out`. Raises LadderError with LaTeX's first error.

    The folder is emptied first. The generated `inputs` are copied there: LaTeX reads results/tex/plan.tex as
    `tex/plan`. `texts`, {path in the folder: text}, are written there; an error message about one of them names its
    source if that is in `origins`, {path in the folder: path of the source}.
    """
    source, folder, out = Path(source), Path(folder), Path(out)
    if not source.is_file():
        raise LadderError(f"There is no {source} to typeset.")
    if shutil.which("latexmk") is None:
        raise LadderError(f"The paper needs LaTeX: latexmk isn't installed. On Debian: apt-get install {PACKAGES}.")
    shutil.rmtree(folder, ignore_errors=True)  # files of a failed run could make the next one fail
    for path in map(Path, inputs):
        copy = folder / path.parent.name / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    origins = copy_sources(source, folder) | origins
    process, messages, log = run_latex(source.name, folder)
    if process.returncode:
        error = first_error(messages) or first_error(process.stdout + process.stderr)
        error = error or f"latexmk ended with status {process.returncode}"
        raise LadderError(f"LaTeX stopped: {with_origin(error, origins)}. The log is {log}.")
    if undefined := re.search(r"(?:Reference|Citation) [`'\"](\S+?)' .*undefined", messages):
        raise LadderError(
            f"The paper refers to {undefined[1]!r}, which is undefined: mend {source.parent} or a chapter's text."
        )
    temporary = out.with_name(f".{out.name}.part")
    shutil.copyfile(folder / source.with_suffix(".pdf").name, temporary)
    temporary.replace(out)


def copy_sources(source, folder):
    """Copy the source and the files beside it to the folder, and link folders there; returns {name: path} of the files.

    LaTeX then reads them by names without the project's path, whose characters might have a meaning in TeX. Existing
    files aren't replaced, and files beside the source that LaTeX made from it aren't copied.
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
    """Run latexmk on a file of the folder: the finished process, the text of LaTeX's log, and the log's path."""
    command = ["latexmk", "-norc", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "-file-line-error", name]
    process = processes.run(
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
    messages = log.read_text(encoding="utf-8", errors="replace") if log.exists() else process.stdout + process.stderr
    return process, messages, log


def environment():
    """The environment variables of LaTeX: the caller's variables that find programs, and fixed ones.

    HOME doesn't exist, so that a user's packages replace none of the system's; TEXINPUTS has them at its end.
    """
    inherited = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR") if name in os.environ}
    packages = os.environ.get("TEXMFHOME") or f"{os.environ.get('HOME', '')}/texmf"
    inputs = f".::{packages}/tex//" if PLAIN_PATH.fullmatch(packages) else ".:"
    fixed = {"HOME": "/nonexistent", "LC_ALL": "C", "TZ": "UTC", "TEXINPUTS": inputs}
    # Long lines, so that an error message isn't broken in the log.
    fixed |= {"max_print_line": "1000", "error_line": "254", "half_error_line": "238"}
    return inherited | fixed | {"SOURCE_DATE_EPOCH": EPOCH, "FORCE_SOURCE_DATE": "1"}


def with_origin(message, origins):
    """An error message `file:line: ...` with the path of the copied file's source."""
    location = re.match(r"(?:\./)?(\S+?)(:\d+: )", message)
    return f"{origins[location[1]]}{message[location.start(2) :]}" if location and location[1] in origins else message


def first_error(log):
    """The first error of LaTeX or latexmk in a log, with the line of the source that LaTeX quotes; "" without one."""
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if re.match(r"! |\S+\.(tex|bib|bbl|sty):\d+: ", line):
            context = next((later for later in lines[number + 1 : number + 8] if re.match(r"l\.\d+ ", later)), "")
            missing = re.search(r"File `(\S+\.sty)' not found", line)
            advice = f" (install it with: apt-get install {PACKAGES})" if missing else ""
            return f"{line.removeprefix('! ').strip().rstrip('.')}{advice}{f' [{context.strip()}]' if context else ''}"
    return next((line.strip() for line in lines if "rror" in line), "")
