"""Texts as Jinja templates: `<<time("openmp")>>` prints a value; a block with a value that wasn't measured vanishes.

A block is `<% measured %> A <% otherwise %> B <% endmeasured %>`: it prints A or, if a value in A was not measured, B;
`<% otherwise %> B` is optional, and blocks nest. In `<% measured VALUE %>` the value must be measured too, and isn't
printed. Outside of all blocks, words replace a value that wasn't measured. A line with only a tag leaves no empty line.

An unknown name, a wrong argument and a syntax error are a LadderError with the template's line.
"""

import functools
import re
import traceback
from pathlib import Path
from types import SimpleNamespace

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension

from ladder.catalogue import code_errors
from ladder.errors import LadderError, did_you_mean
from ladder.report import chapter_code, chapters
from ladder.report.latex import Missing
from ladder.report.telling.chapter_study import NotMeasured, look_up, require_measured

DELIMITERS = ("<%", "%>", "<<", ">>", "<#", "#>")  # of blocks, of values, and of comments
UNKNOWN = re.compile(r"'(\w+)' is undefined")  # Jinja's message on an unknown name
# A line with only a tag: the end of the line is moved into a comment, so that all lines keep their numbers.
LONE_TAG = re.compile(r"(?m)^[ \t]*(<%(?:(?!%>).)*%>)[ \t]*\n")


class MeasuredBlock(Extension):
    """The block `measured`."""

    tags = {"measured"}  # noqa: RUF012, Jinja declares a mutable set

    def preprocess(self, source, name, filename=None):
        """Remove the ends of lines with only a tag."""
        return LONE_TAG.sub(r"\1<#\n#>", source)

    def parse(self, parser):
        """A call of `render` with a macro of the argument `is_measured`, whether to print the first part."""
        line = next(parser.stream).lineno
        has_value = parser.stream.current.type != "block_end"
        value = [nodes.ExprStmt(parser.parse_expression()).set_lineno(line)] if has_value else []
        body, other = value + parser.parse_statements(("name:otherwise", "name:endmeasured")), []
        if next(parser.stream).value == "otherwise":
            other = parser.parse_statements(("name:endmeasured",), drop_needle=True)
        choice = nodes.If(nodes.Name("is_measured", "load"), body, [], other)
        arguments = [nodes.Name("is_measured", "param")]
        return nodes.CallBlock(self.call_method("render"), arguments, [], [choice]).set_lineno(line)

    def render(self, caller):
        """The text of the first part or, if it raises NotMeasured, of the other part; in a trial, the texts of both."""
        if self.environment.is_trial:
            return caller(True) + caller(False)
        self.environment.depth += 1
        try:
            return caller(True)
        except NotMeasured:
            pass
        finally:
            self.environment.depth -= 1
        return caller(False)


def environment(functions, is_trial=False):
    """The Jinja environment of templates that may call {name: function}; in a trial, blocks print words, too."""
    environment = jinja2.Environment(
        *DELIMITERS, undefined=jinja2.StrictUndefined, extensions=[MeasuredBlock], keep_trailing_newline=True
    )
    environment.depth, environment.is_trial = 0, is_trial  # the depth of nested blocks
    environment.globals = {name: wrap_for_templates(environment, function) for name, function in functions.items()}
    return environment


class Namespace:
    """The members of a module or a chapter as attributes, for templates; an unknown name is a LadderError."""

    def __init__(self, environment, members):
        self._environment, self._members = environment, members

    def __getattr__(self, name):
        return wrap_for_templates(self._environment, look_up("name", name, self._members))


def wrap_for_templates(environment, function):
    """A function that, outside of all blocks, returns words in place of a value that wasn't measured.

    A namespace becomes a Namespace of such functions; any other value stays as it is.
    """
    if isinstance(function, SimpleNamespace):
        return Namespace(environment, vars(function))
    if not callable(function):
        return function

    @functools.wraps(function)
    def call(*arguments, **options):
        if missing := [value for value in (*arguments, *options.values()) if isinstance(value, Missing)]:
            return missing[0]
        try:
            return require_measured(function(*arguments, **options))
        except NotMeasured as missing:
            if environment.depth and not environment.is_trial:
                raise
            return Missing(missing.words)

    return call


def render(path, functions, is_trial=False):
    """The text of a template. Raises LadderError with the line of a mistake in it."""
    path, jinja = Path(path), environment(functions, is_trial)
    try:
        text = path.read_text(encoding="utf-8")
        code = jinja.compile(text, name=str(path), filename=str(path))
        return jinja2.Template.from_code(jinja, code, jinja.globals).render()
    except jinja2.TemplateSyntaxError as error:
        raise LadderError(f"{path}:{error.lineno}: {explain(error.message, functions)}") from None
    except (LadderError, jinja2.UndefinedError, *code_errors.MISTAKES) as error:
        if is_trial and not isinstance(error, LadderError) and not UNKNOWN.match(str(error)):
            raise  # words that replace values may be unfit for what the template does with them
        calls = reversed(traceback.extract_tb(error.__traceback__))
        line = next(call.lineno for call in calls if call.filename == str(path))
        message = chapter_code.message(error, [chapter.folder for chapter in chapters.chapters()])
        raise LadderError(f"{path}:{line}: {explain(message, functions)}") from error


def explain(message, functions):
    """A message as a sentence; for an unknown name with the nearest name that a template may use."""
    if unknown := UNKNOWN.match(message):
        return f"there is no {unknown[1]!r} for texts to ask for.{did_you_mean(unknown[1], functions)}"
    return message if message.endswith((".", "?")) else f"{message}."
