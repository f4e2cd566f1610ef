"""The paper's chapters: what the folder `paper/` of each workload brings to the numbers, the tables and the text.

| file | what the paper takes from it |
| --- | --- |
| `__init__.py` | literals, read as text: ORDER and TITLE of the chapter, TABLES, the names of its tables |
| `numbers.py` | `numbers(study)`, {key: value}; every key begins with the workload's name and a slash |
| `tables.py` | `tables(study)`, {name: LaTeX}; the names are those of TABLES |
| `verdicts.py` | `verdicts(study)`, {group: claims}; the groups are `earlier` and `rungs` (`report/verdict_table.py`) |
| `text.tex`, `appendix.tex` | the chapter in the paper, and what stands in the supplement |
| `references.bib` | works that only this chapter cites |

Every file may be missing. Chapters stand in the paper by ORDER, then by name. A table `square` of gemm is the file
`gemm_square.tex`. Nothing else lists a chapter or any part of one.
"""

import importlib
import re
from dataclasses import dataclass
from pathlib import Path

from ladder.catalogue import literals, workloads
from ladder.errors import LadderError
from ladder.report import latex

# Behind all chapters that say where they stand.
LAST = 1000
TEXTS = ("text.tex", "appendix.tex", "references.bib")


@dataclass(frozen=True)
class Chapter:
    """One workload's part of the paper: its folder, and the literals that planning reads."""

    workload: str
    folder: Path
    order: int
    title: str
    tables: tuple[str, ...]

    def module(self, name):
        """The imported module `numbers`, `tables` or `verdicts` of the chapter, or None."""
        if not (self.folder / f"{name}.py").is_file():
            return None
        workloads.load(self.workload)
        found = importlib.import_module(f"ladder.workloads.{self.workload}.paper.{name}")
        if not callable(getattr(found, name, None)):
            raise LadderError(f"{self.folder}/{name}.py has no function `{name}`: write {name}(study).")
        return found

    def text(self, name):
        """The text of one of the chapter's files; empty where there is none."""
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""


def chapters():
    """All chapters in the order of the paper."""
    found = []
    for workload in workloads.names():
        folder = next((one for one in map(paper_of, workloads.folders(workload)) if one.is_dir()), None)
        if folder:
            stated = literals.read(folder / "__init__.py")
            order, title = stated.get("ORDER", LAST), stated.get("TITLE", workload)
            tables = stated.get("TABLES", ())
            require(isinstance(order, int), folder, "ORDER", "a whole number")
            require(isinstance(title, str), folder, "TITLE", "a text")
            names = isinstance(tables, tuple | list) and all(isinstance(name, str) for name in tables)
            require(names, folder, "TABLES", 'a tuple of names, as in ("square",)')
            found.append(Chapter(workload, folder, order, title, tuple(tables)))
    return sorted(found, key=lambda chapter: (chapter.order, chapter.workload))


def require(is_right, folder, literal, kind):
    """Refuse a literal of a chapter that isn't what planning reads."""
    if not is_right:
        raise LadderError(f"{literal} in {folder}/__init__.py must be {kind}.")


def paper_of(folder):
    """The folder of the chapter in a workload's folder."""
    return folder / "paper"


def files(*names):
    """The paths of the chapters' files of these names."""
    return [path for chapter in chapters() for name in names if (path := chapter.folder / name).is_file()]


def table_names():
    """The names of all chapters' tables, as their files have them."""
    return [f"{chapter.workload}_{name}" for chapter in chapters() for name in chapter.tables]


def numbers(study):
    """The values of every chapter, {owner: {key: value}}; None stands for a missing measurement.

    Raises LadderError when a key doesn't begin with its workload's name.
    """
    found = {}
    for chapter in chapters():
        if module := chapter.module("numbers"):
            owner = f"{chapter.folder}/numbers.py"
            found[owner] = module.numbers(study)
            if strange := [key for key in found[owner] if not key.startswith(f"{chapter.workload}/")]:
                raise LadderError(
                    f"{owner} gives the number {strange[0]!r}: its keys must begin with '{chapter.workload}/'."
                )
    return found


def merged(parts):
    """One {key: value} of {owner: {key: value}}. Raises LadderError when two owners give the same key."""
    values, owners = {}, {}
    for owner, part in parts.items():
        for key, value in part.items():
            if key in values:
                raise LadderError(f"{owners[key]} and {owner} give the number {key!r}: rename one of them.")
            values[key], owners[key] = value, owner
    return values


def tables(study):
    """The LaTeX of all chapters' tables by the names of their files. Raises LadderError for others than TABLES says."""
    found = {}
    for chapter in chapters():
        module = chapter.module("tables")
        given = module.tables(study) if module else {}
        if set(given) != set(chapter.tables):
            raise LadderError(
                f"{chapter.folder}/__init__.py says TABLES = {chapter.tables}, "
                f"but tables.py gives {', '.join(given) or 'none'}: name the same ones."
            )
        found |= {f"{chapter.workload}_{name}": text for name, text in given.items()}
    return found


def verdicts(study):
    """The claims of every chapter that has some, [(chapter, group, claim)], in the order of the paper."""
    having = ((chapter, chapter.module("verdicts")) for chapter in chapters())
    return [
        (chapter, group, claim)
        for chapter, module in having
        if module
        for group, claims in module.verdicts(study).items()
        for claim in claims
    ]


def texts():
    """What the typesetting reads of chapters, {path: text}: their texts, and `chapters.tex`, which brings them in."""
    every = chapters()
    require_distinct_works(every)
    found = {f"chapters/{one.workload}/{name}": one.text(name) for one in every for name in TEXTS if one.text(name)}
    having = {name: [one.workload for one in every if one.text(name)] for name in TEXTS}
    bodies = {
        "chaptertexts": "".join(
            f"\\section{{{latex.escape(one.title)}}}\n\\label{{section:{one.workload}}}\n"
            f"\\input{{chapters/{one.workload}/text}}\n"
            for one in every
            if one.text("text.tex")
        ),
        "chapterappendices": "".join(f"\\input{{chapters/{name}/appendix}}\n" for name in having["appendix.tex"]),
        "chapterreferences": "".join(f",chapters/{name}/references" for name in having["references.bib"]),
    }
    return found | {"chapters.tex": "".join(f"\\newcommand\\{name}{{%\n{body}}}\n" for name, body in bodies.items())}


def origins():
    """The files that the typesetting copies, {path of the copy: path}."""
    return {f"chapters/{one.workload}/{name}": one.folder / name for one in chapters() for name in TEXTS}


def require_distinct_works(every):
    """Refuse one key for works in the bibliographies of two chapters, of which BibTeX would lose one."""
    owners = {}
    for chapter in every:
        for key in re.findall(r"(?m)^@\w+\{\s*([^,\s]+)", chapter.text("references.bib")):
            owner = owners.setdefault(key, chapter)
            if owner is not chapter:
                raise LadderError(
                    f"The work {key!r} is in {owner.folder}/references.bib and in {chapter.folder}/references.bib: "
                    "keep it in one of them, from where all chapters can cite it."
                )
