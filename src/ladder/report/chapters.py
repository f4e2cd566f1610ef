"""The paper's chapters: what the folder `paper/` of each workload brings to the numbers, the tables and the text.

| file | what the paper takes from it |
| --- | --- |
| `__init__.py` | literals, read as text: ORDER and TITLE of the chapter, TABLES, the names of its tables |
| `lines.py`, `claims.py` | data: machines, sources, the lines of the ladder, claims (`report/telling/lines.py`) |
| `model.py` | `predict(machine, row)`: the minimum time of a case, in the ladder's unit; `floor` of a waterfall |
| `text.tex`, `appendix.tex` | templates of the chapter in the paper, and of what stands in the supplement (`texts`) |
| `text.py` | further functions and constants for these templates (`report/telling/functions.py`) |
| `earlier.py` | what an earlier study reported |
| `tables.py` | a function for each name in TABLES, which returns LaTeX; without `lines.py`, of the whole study |
| `references.bib` | works that only this chapter cites |

Every file may be missing. Chapters stand in the paper by ORDER, then by name. A table `square` of gemm is the file
`gemm_square.tex`. Nothing else lists a chapter or any part of one.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from ladder.catalogue import literals, workloads
from ladder.errors import LadderError
from ladder.report import latex

# Behind all chapters that say where they stand.
LAST = 1000
TEMPLATES = ("text.tex", "appendix.tex")
TEXTS = (*TEMPLATES, "references.bib")
LINES = "lines.py"
# The tables that are made of data, and the file that has these; no ladder of lines whose UNIT is None.
MADE = {"ladder": LINES, "verdicts": "claims.py"}
# The modules that are found by their names, so that no walk along imports finds them.
DATA = ("lines", "model", "claims", "earlier", "text")


@dataclass(frozen=True)
class Chapter:
    """One workload's part of the paper: its folder, and the literals that planning reads."""

    workload: str
    folder: Path
    order: int
    title: str
    tables: tuple[str, ...]

    @property
    def has_lines(self):
        """Whether its lines and claims are data, so that its functions get a ChapterStudy."""
        return (self.folder / LINES).is_file()

    def study(self, study):
        """The study as the chapter's functions get it."""
        from ladder.report.telling import chapter_study  # planning needs no pandas

        return chapter_study.of_chapter(self.workload, study) if self.has_lines else study

    def table(self, name, study):
        """The LaTeX of a table. Raises LadderError where neither data nor a function of `tables.py` has its name."""
        from ladder.report import verdict_table
        from ladder.report.telling import chapter_study, claims, ladder  # planning needs no pandas

        study = self.study(study)
        if (self.folder / MADE.get(name, "")).is_file():
            return ladder.table(study) if name == "ladder" else verdict_table.table(*claims.verdicts(study).values())
        function = getattr(chapter_study.module(self.workload, "tables"), name, None)
        if not callable(function):
            raise LadderError(
                f"{self.folder}/__init__.py says TABLES = {self.tables}, "
                f"but tables.py has no function `{name}`: write {name}(study)."
            )
        return function(study)

    def text(self, name):
        """The text of one of the chapter's files; empty where there is none."""
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""


def chapters():
    """All chapters in the order of the paper."""
    read = []
    for workload in workloads.names():
        folder = next((path for path in map(paper_of, workloads.folders(workload)) if path.is_dir()), None)
        if folder:
            constants = literals.read(folder / "__init__.py")
            order, title = constants.get("ORDER", LAST), constants.get("TITLE", workload)
            tables = constants.get("TABLES", ())
            require(isinstance(order, int), folder, "ORDER", "a whole number")
            require(isinstance(title, str), folder, "TITLE", "a text")
            names = isinstance(tables, tuple | list) and all(isinstance(name, str) for name in tables)
            require(names, folder, "TABLES", 'a tuple of names, as in ("square",)')
            made = [name for name, file in MADE.items() if (folder / file).is_file()]
            if literals.read(folder / LINES).get("UNIT", "") is None:
                made.remove("ladder")
            read.append(Chapter(workload, folder, order, title, (*made, *tables)))
    return sorted(read, key=lambda chapter: (chapter.order, chapter.workload))


def require(is_right, folder, literal, kind):
    """Refuse a literal of a chapter that isn't what planning reads."""
    if not is_right:
        raise LadderError(f"{literal} in {folder}/__init__.py must be {kind}.")


def paper_of(folder):
    """The folder of the chapter in a workload's folder."""
    return folder / "paper"


def data_modules(workload, folder, names=DATA[:2]):
    """The names of a chapter's modules of data, by default those that figures depend on too; none without lines."""
    names = names if (folder / LINES).is_file() else ()
    return [f"ladder.workloads.{workload}.paper.{name}" for name in names if (folder / f"{name}.py").is_file()]


def files(*names):
    """The paths of the chapters' files of these names."""
    return [path for chapter in chapters() for name in names if (path := chapter.folder / name).is_file()]


def table_names():
    """The names of all chapters' tables, as their files have them."""
    return [f"{chapter.workload}_{name}" for chapter in chapters() for name in chapter.tables]


def tables(study):
    """The LaTeX of all chapters' tables by the names of their files."""
    every = [(chapter, name) for chapter in chapters() for name in chapter.tables]
    return {f"{chapter.workload}_{name}": chapter.table(name, study) for chapter, name in every}


def verdicts(study):
    """The claims of every chapter that has some, [(chapter, group, claim)], in the order of the paper."""
    from ladder.report.telling import claims  # planning needs no pandas

    return [
        (chapter, group, claim)
        for chapter in chapters()
        if chapter.has_lines
        for group, answered in claims.verdicts(chapter.study(study)).items()
        for claim in answered
    ]


def texts():
    """What the typesetting reads of chapters, {path: text}: their texts, and `chapters.tex`, which brings them in.

    Texts are those of the templates; `report/texts.py` renders them.
    """
    every = chapters()
    require_distinct_works(every)
    contents = {
        f"chapters/{chapter.workload}/{name}": chapter.text(name)
        for chapter in every
        for name in TEXTS
        if chapter.text(name)
    }
    having = {name: [chapter.workload for chapter in every if chapter.text(name)] for name in TEXTS}
    bodies = {
        "chaptertexts": "".join(
            f"\\section{{{latex.escape(chapter.title)}}}\n\\label{{section:{chapter.workload}}}\n"
            f"\\input{{chapters/{chapter.workload}/text}}\n"
            for chapter in every
            if chapter.text("text.tex")
        ),
        "chapterappendices": "".join(f"\\input{{chapters/{name}/appendix}}\n" for name in having["appendix.tex"]),
        "chapterreferences": "".join(f",chapters/{name}/references" for name in having["references.bib"]),
    }
    return contents | {"chapters.tex": "".join(f"\\newcommand\\{name}{{%\n{body}}}\n" for name, body in bodies.items())}


def origins():
    """The files that the typesetting copies, {path of the copy: path}."""
    return {f"chapters/{chapter.workload}/{name}": chapter.folder / name for chapter in chapters() for name in TEXTS}


def templates():
    """The templates of all chapters, {path of the rendered text: path}."""
    return {
        f"chapters/{chapter.workload}/{name}": chapter.folder / name
        for chapter in chapters()
        for name in TEMPLATES
        if (chapter.folder / name).is_file()
    }


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
