"""The paper's chapters: the folder `paper/` of each workload, with text, tables and the data behind them.

| file | content |
| --- | --- |
| `__init__.py` | literals, read as text: ORDER, TITLE, TABLES, CATEGORY, LOOKS and METHOD (docs/contracts.md) |
| `lines.py`, `claims.py` | data: machines, sources, the lines of the ladder, claims (`report/telling/lines.py`) |
| `model.py` | `predict(machine, row)`: a case's predicted seconds per UNIT of work; `floor`, the minimum of these |
| `text.tex`, `appendix.tex` | templates of the chapter in the paper and of its part in the supplement (`texts`) |
| `text.py` | further functions and constants for these templates (`report/telling/functions.py`) |
| `earlier.py` | the results that an earlier study reported |
| `tables.py` | for each name in TABLES a function that returns LaTeX; its argument is the result of `Chapter.study` |
| `references.bib` | works that only this chapter cites |

Every file is optional. The paper sorts chapters by ORDER, then by name. The table `square` of gemm is written to
`gemm_square.tex`. No other file lists chapters or their parts.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from ladder.catalogue import literals, locations, workloads
from ladder.errors import LadderError
from ladder.report import chapter_code, latex

# The ORDER of a chapter without one: after all others.
DEFAULT_ORDER = 1000
TEMPLATE_FILES = ("text.tex", "appendix.tex")
TEXT_FILES = (*TEMPLATE_FILES, "references.bib")
LINES_FILE = "lines.py"
PEER_PREFIX = "peer: "  # how the RUNGS of a workload mark a peer
# The tables that are generated from data, and the file with the data; no ladder if UNIT in `lines.py` is None.
DATA_TABLES = {"ladder": LINES_FILE, "verdicts": "claims.py"}
# The modules that are imported by name, which a walk along import statements doesn't find.
DATA_MODULES = ("lines", "model", "claims", "earlier", "text")


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
        """Whether the chapter has lines; then its functions get a ChapterStudy instead of a Study."""
        return (self.folder / LINES_FILE).is_file()

    def study(self, study):
        """The argument of the chapter's functions: its ChapterStudy, or the study if it has no lines."""
        from ladder.report.telling import chapter_study  # here, because planning doesn't need pandas

        return chapter_study.study_of_chapter(self.workload, study) if self.has_lines else study

    def table(self, name, study):
        """The LaTeX of a table. Raises LadderError if it has no data, and `tables.py` has no function of its name."""
        with chapter_code.explain_mistakes(
            f"The table `{name}` of the chapter {self.workload}", self.folder / "tables.py"
        ):
            return self.table_of(name, self.study(study))

    def table_of(self, name, study):
        """As `table`, for the result of `self.study(study)`; mistakes in the chapter's code keep their types."""
        from ladder.report import verdict_table
        from ladder.report.telling import chapter_study, claims, ladder  # here, because planning doesn't need pandas

        if (self.folder / DATA_TABLES.get(name, "")).is_file():
            return ladder.table(study) if name == "ladder" else verdict_table.table(*claims.verdicts(study).values())
        function = getattr(chapter_study.chapter_module(self.workload, "tables"), name, None)
        if not callable(function):
            raise LadderError(
                f"{self.folder}/__init__.py says TABLES = {self.tables}, "
                f"but tables.py has no function `{name}`: write {name}(study)."
            )
        return function(study)

    def text(self, name):
        """The text of one of the chapter's files; "" without the file."""
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""


def chapters():
    """All chapters in the order of the paper."""
    all_chapters = []
    for workload in workloads.names():
        folder = next((path for path in map(paper_of, locations.folders(workload)) if path.is_dir()), None)
        if folder:
            constants = literals.read(folder / "__init__.py")
            order = constants.get("ORDER", DEFAULT_ORDER)
            title = constants.get("TITLE", workload)
            own_tables = constants.get("TABLES", ())
            require(isinstance(order, int), folder, "ORDER", "a whole number")
            require(isinstance(title, str), folder, "TITLE", "a string")
            require(literals.is_string_sequence(own_tables), folder, "TABLES", literals.NAMES_FORM)
            data_tables = [name for name, file in DATA_TABLES.items() if (folder / file).is_file()]
            if literals.read(folder / LINES_FILE).get("UNIT", "") is None:
                data_tables.remove("ladder")
            all_chapters.append(Chapter(workload, folder, order, title, (*data_tables, *own_tables)))
    return sorted(all_chapters, key=lambda chapter: (chapter.order, chapter.workload))


def require(is_valid, folder, literal, form):
    """Raise LadderError for an invalid literal of a chapter; `form` says what it must be."""
    if not is_valid:
        line = literals.line_of(folder / "__init__.py", literal, None)
        raise LadderError(f"`{literal}` in {line} must be {form}. See docs/contracts.md.")


def paper_of(folder):
    """The folder of the chapter in a workload's folder."""
    return folder / "paper"


def data_modules(workload, folder, names=DATA_MODULES[:2]):
    """The names of a chapter's modules of data, by default those that its figures import; none without lines."""
    names = names if (folder / LINES_FILE).is_file() else ()
    return [f"ladder.workloads.{workload}.paper.{name}" for name in names if (folder / f"{name}.py").is_file()]


def files(*names):
    """The paths of all chapters' files with these names."""
    return [path for chapter in chapters() for name in names if (path := chapter.folder / name).is_file()]


def table_names():
    """The names of the files of all chapters' tables, without suffix."""
    return [f"{chapter.workload}_{name}" for chapter in chapters() for name in chapter.tables]


def tables(study):
    """{name of the file: LaTeX} of all chapters' tables."""
    pairs = [(chapter, name) for chapter in chapters() for name in chapter.tables]
    return {f"{chapter.workload}_{name}": chapter.table(name, study) for chapter, name in pairs}


def verdicts(study, on_own_machines=False):
    """All chapters' claims with their answers, [(chapter, group, AnsweredClaim)], in the order of the paper.

    With `on_own_machines` they rest on the chapters' machines, even where others have campaigns of more processes.
    """
    from ladder.report import evidence  # here, because planning doesn't need pandas
    from ladder.report.telling import claims

    verdicts_of_claims = []
    for chapter in filter(lambda chapter: chapter.has_lines, chapters()):
        with chapter_code.explain_mistakes(
            f"The test of the claims of the chapter {chapter.workload}", chapter.folder / LINES_FILE
        ):
            campaigns_of = evidence.of_own_campaigns if on_own_machines else evidence.of_campaigns
            groups = claims.verdicts(chapter.study(study), campaigns_of)
        verdicts_of_claims += [(chapter, group, claim) for group, answers in groups.items() for claim in answers]
    return verdicts_of_claims


def texts():
    """The LaTeX files of chapters, {path: text}: their texts, and `chapters.tex`, with macros that input them.

    Templates aren't rendered here; `report/texts.py` renders them.
    """
    all_chapters = chapters()
    require_distinct_works(all_chapters)
    contents = {
        f"chapters/{chapter.workload}/{name}": chapter.text(name)
        for chapter in all_chapters
        for name in TEXT_FILES
        if chapter.text(name)
    }
    workloads_with = {name: [chapter.workload for chapter in all_chapters if chapter.text(name)] for name in TEXT_FILES}
    bodies = {
        "chaptertexts": "".join(
            f"\\section{{{latex.escape(chapter.title)}}}\n\\label{{section:{chapter.workload}}}\n"
            f"\\input{{chapters/{chapter.workload}/text}}\n"
            for chapter in all_chapters
            if chapter.text("text.tex")
        ),
        "chapterappendices": "".join(
            f"\\input{{chapters/{name}/appendix}}\n" for name in workloads_with["appendix.tex"]
        ),
        "chapterreferences": "".join(f",chapters/{name}/references" for name in workloads_with["references.bib"]),
    }
    return contents | {"chapters.tex": "".join(f"\\newcommand\\{name}{{%\n{body}}}\n" for name, body in bodies.items())}


def origins():
    """The sources of the chapters' texts, {path in the folder of the typesetting: path of the source}."""
    return {
        f"chapters/{chapter.workload}/{name}": chapter.folder / name for chapter in chapters() for name in TEXT_FILES
    }


def templates():
    """The templates of all chapters, {path of the rendered text: path}."""
    return {
        f"chapters/{chapter.workload}/{name}": chapter.folder / name
        for chapter in chapters()
        for name in TEMPLATE_FILES
        if (chapter.folder / name).is_file()
    }


def require_distinct_works(all_chapters):
    """Raise LadderError if two chapters' bibliographies have the same key: BibTeX would ignore one of the works."""
    owners = {}
    for chapter in all_chapters:
        for key in re.findall(r"(?m)^@\w+\{\s*([^,\s]+)", chapter.text("references.bib")):
            owner = owners.setdefault(key, chapter)
            if owner is not chapter:
                raise LadderError(
                    f"The work {key!r} is in {owner.folder}/references.bib and in {chapter.folder}/references.bib: "
                    "keep it in one of them; all chapters can cite it."
                )
