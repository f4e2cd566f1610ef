"""Check, from their source, that tables and figures of a chapter read only attributes that the study has."""

import ast
import inspect
from pathlib import Path

from ladder.catalogue import contracts, literals, syntax
from ladder.errors import LadderError, did_you_mean
from ladder.report.telling.chapter_study import ChapterStudy


def require(chapter):
    """Refuse an attribute that ChapterStudy lacks in `draw` or a table's function. Raises LadderError."""
    known = attributes_of(ChapterStudy)
    for path in sorted(filter(Path.is_file, chapter.folder.glob("*.py"))):
        names = chapter.tables if path.stem == "tables" else ("draw",)
        for function in literals.statements(path):
            if isinstance(function, syntax.FUNCTIONS) and function.name in names and function.args.args:
                require_known_attributes(path, function, known)


def require_known_attributes(path, function, known):
    """Refuse an unknown attribute of a function's first argument, the study, unless the function reassigns it."""
    study = function.args.args[0].arg
    if study in syntax.assigned_names(function.body):
        return
    for node in contracts.walk_all(function.body):
        is_of_study = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == study
        if is_of_study and node.attr not in known:
            raise LadderError(
                f"Line {node.lineno} of {path} uses {study}.{node.attr}, which the study of a chapter lacks."
                f"{did_you_mean(node.attr, known)}"
            )


def attributes_of(study_class):
    """The names of a class's attributes, also of those that its methods assign to `self`."""
    trees = [ast.parse(inspect.getsource(base)) for base in study_class.__mro__[:-1]]
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    assigned = {node.attr for node in nodes if isinstance(node.ctx, ast.Store)}
    return {name for name in {*dir(study_class), *assigned} if not name.startswith("__")}
