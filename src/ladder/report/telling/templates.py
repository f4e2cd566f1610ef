"""Texts as Jinja templates: `<<time("openmp")>>` prints a value, and a block vanishes with a measurement it lacks.

`<% measured %> ... <% otherwise %> ... <% endmeasured %>` is such a block. A value in it that was not measured removes
what stands before `<% otherwise %>`, which may be missing, and the other part stands there instead; blocks nest.
A value behind `measured` must be measured too, and isn't printed. Outside of all blocks the words
for a missing measurement stand in the value's place. A line with a tag alone leaves no line behind.

A name that is unknown, a wrong argument or a mistake in the syntax is a LadderError with the template's line.
"""

import difflib
import functools
import re
import traceback
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension

from ladder.errors import LadderError
from ladder.report.latex import Missing
from ladder.report.telling.chapter_study import NotMeasured, nearest, required

DELIMITERS = {
    "block_start_string": "<%",
    "block_end_string": "%>",
    "variable_start_string": "<<",
    "variable_end_string": ">>",
    "comment_start_string": "<#",
    "comment_end_string": "#>",
}
# A tag alone on a line: its line's end goes into a comment, so that all lines keep their numbers.
ALONE = re.compile(r"(?m)^[ \t]*(<%(?:(?!%>).)*%>)[ \t]*\n")


class Measured(Extension):
    """The block `measured`."""

    tags = frozenset({"measured"})

    def preprocess(self, source, name, filename=None):
        """Take the lines away on which a tag stands alone."""
        return ALONE.sub(r"\1<#\n#>", source)

    def parse(self, parser):
        """A call of `render` with a macro of one argument: whether to print what was measured."""
        line = next(parser.stream).lineno
        has_value = parser.stream.current.type != "block_end"
        needed = [nodes.ExprStmt(parser.parse_expression()).set_lineno(line)] if has_value else []
        body, other = needed + parser.parse_statements(("name:otherwise", "name:endmeasured")), []
        if next(parser.stream).value == "otherwise":
            other = parser.parse_statements(("name:endmeasured",), drop_needle=True)
        choice = nodes.If(nodes.Name("is_measured", "load"), body, [], other)
        arguments = [nodes.Name("is_measured", "param")]
        return nodes.CallBlock(self.call_method("render"), arguments, [], [choice]).set_lineno(line)

    def render(self, caller):
        """What was measured, or the other part."""
        self.environment.depth += 1
        try:
            return caller(True)
        except NotMeasured:
            pass
        finally:
            self.environment.depth -= 1
        return caller(False)


def environment(functions):
    """The environment of templates that may call these functions, {name: function}."""
    created = jinja2.Environment(
        **DELIMITERS, undefined=jinja2.StrictUndefined, extensions=[Measured], keep_trailing_newline=True
    )
    created.depth = 0
    created.globals = {name: printable(created, function) for name, function in functions.items()}
    return created


class Names:
    """What a template asks for as attributes, by name."""

    def __init__(self, environment, members):
        self._environment, self._members = environment, members

    def __getattr__(self, name):
        return printable(self._environment, nearest("name", name, self._members))


def printable(environment, function):
    """A function that returns words in place of a value that wasn't measured, outside of all blocks.

    Of a module or a namespace these are its members; what else isn't a function stays as it is.
    """
    if isinstance(function, ModuleType | SimpleNamespace):
        return Names(environment, vars(function))
    if not callable(function):
        return function

    @functools.wraps(function)
    def call(*arguments, **options):
        if missing := [value for value in (*arguments, *options.values()) if isinstance(value, Missing)]:
            return missing[0]
        try:
            return required(function(*arguments, **options))
        except NotMeasured as missing:
            if environment.depth:
                raise
            return Missing(missing.words)

    return call


def render(path, functions):
    """The text of a template. Raises LadderError with its line for whatever is wrong in it."""
    path, known = Path(path), environment(functions)
    try:
        text = path.read_text(encoding="utf-8")
        code = known.compile(text, name=str(path), filename=str(path))
        return jinja2.Template.from_code(known, code, known.globals).render()
    except jinja2.TemplateSyntaxError as error:
        raise LadderError(f"{path}:{error.lineno}: {sentence(error.message)}") from None
    except (LadderError, jinja2.UndefinedError, TypeError) as error:
        calls = reversed(traceback.extract_tb(error.__traceback__))
        line = next(call.lineno for call in calls if call.filename == str(path))
        raise LadderError(f"{path}:{line}: {explained(error, functions)}") from None


def explained(error, functions):
    """An error as a sentence, with the nearest name that a template knows."""
    unknown = re.match(r"'(\w+)' is undefined", str(error))
    near = difflib.get_close_matches(unknown[1], functions, 1, 0) if unknown else []
    text = f"there is no {unknown[1]!r} for texts to ask for" if unknown else str(error)
    return sentence(text) if not near else f"{text}: did you mean {near[0]!r}?"


def sentence(text):
    """Words that end."""
    return text if text.endswith((".", "?")) else f"{text}."
