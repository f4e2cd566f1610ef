"""The words that documents and code avoid, with what to say instead.

FILES are globs of the files whose prose is checked; CODE are globs of the Python files whose names are checked, too.
Code in Markdown, commands in LaTeX and names in Python are not prose, so names of files, variants and printed states
may contain any word.
"""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from conftest import ROOT

CODE = ["src/ladder/**/*.py", "workflow/scripts/*.py", "docs/**/*.py"]
FILES = [
    *CODE,
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/**/*.md",
    "config/README.md",
    "config/*.yaml",
    "cluster/*.yaml",
    "profiles/*/*.yaml",
    "Makefile",
    "paper/*.tex",
    "src/ladder/workloads/*/paper/*.tex",
    "Snakefile",
    "workflow/Snakefile",
    "workflow/rules/*.smk",
    "workflow/scripts/*",
    "src/ladder/workloads/**/*.cu",
    "src/ladder/workloads/**/*.cuh",
    "src/ladder/workloads/*/*.c",
    "src/ladder/workloads/*/*.h",
]
# Names that don't say what a thing is: pronouns, participles and adverbs. Keys of configurations may have them.
NAMES_TO_AVOID = {"found", "one", "own", "its", "due", "there", "said", "once", "shown", "stated", "chosen", "asked"}
NAMES_TO_AVOID |= {"some", "given", "taken", "least", "most"}
# {pattern, in which a blank matches any white space: what to say instead}.
REPLACEMENTS = {
    r"cards?": "GPU, GPUs",
    r"left out|leaves? out|leaving out|leaves? (?:it|them) out": "skipped, skips, without",
    r"anew": "rebuild, measure again",
    r"la(?:y|ys|id|ying) over": "override",
    r"way home|on (?:its|their) way home|copies home": "device-to-host copy",
    r"speedups?": "speed-up",
    r"(?:can't|cannot) be told apart": "not significant; a difference of x % would have been detected",
    r"waits? for a (?:GPU|Slurm|machine)": "requires a GPU",
    r"to be had": "available",
    r"names? no case": "is not a case",
    r"how many pictures there shall be": "the number of pictures",
    r"times as fast": "x times faster",
    r"(?:held|hold|holds) against (?!their)": "compared with",
    r"where there (?:is|are) none": "if there is none, without one",
    r"products? that memory bounds": "memory-bound products",
    r"second cache": "L2 cache",
    r"for want of": "if it lacks",
    r"by way of": "through, by",
    r"but for those": "except",
    r"a card each": "a GPU for each",
}
BLANK = re.compile(r"(?<!\\) ")


def pattern_of(*words):
    """The pattern of any of these words, as whole words and in either case."""
    alternatives = "|".join(BLANK.sub(lambda _: r"\s+", pattern) for pattern in words)
    return re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])", re.IGNORECASE)


PATTERNS = {pattern_of(words): advice for words, advice in REPLACEMENTS.items()}
ANY_PATTERN = pattern_of(*REPLACEMENTS)  # most files have none, and one search is faster than many


def mask(pattern, text, flags=0):
    """The text with what a pattern matches replaced by as many lines, so that line numbers stay."""
    return re.sub(pattern, lambda match: "\n" * match[0].count("\n") + "·", text, flags=flags)


def markdown_prose(text):
    """The prose of Markdown: without blocks and spans of code and the targets of links."""
    text = mask(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)
    return mask(r"\]\([^)]*\)", mask(r"`[^`]+`", text))


def comment_prose(text):
    """The prose of a configuration or script: comments after `#`, and questions; without code in backticks."""
    lines = [re.search(r"(?:^|\s)#(.*)|^\s*question:(.*)", line) for line in text.split("\n")]
    return mask(r"`[^`]+`", "\n".join(" ".join(filter(None, match.groups())) if match else "·" for match in lines))


def latex_prose(text):
    """The prose of LaTeX: without a template's code, comments, keys of commands, and the commands themselves."""
    text = mask(r"<<.*?>>|<%.*?%>|<#.*?#>", text, re.DOTALL)
    text = re.sub(r"(?<!\\)%.*", "", text)
    text = mask(r"\\(?:ref|cite|label|input|result|ifmeasured|code|texttt|study\w+)\{[^}]*\}", text)
    return mask(r"\\[a-zA-Z]+", text)


def python_prose(text):
    """The prose of Python: comments, and strings with a blank between words; without code in backticks."""
    lines = ["·"] * (text.count("\n") + 1)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] += token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\w \w", node.value):
            for number, line in enumerate(node.value.split("\n"), node.lineno - 1):
                lines[min(number, len(lines) - 1)] += " " + line
    return mask(r"`[^`]+`", "\n".join(lines))


def c_prose(text):
    """The prose of C and CUDA: comments, without code in backticks."""
    lines = [re.search(r"//(.*)|/\*(.*?)\*/", line) for line in text.split("\n")]
    return mask(r"`[^`]+`", "\n".join(" ".join(filter(None, match.groups())) if match else "·" for match in lines))


PROSE = {".md": markdown_prose, ".yaml": comment_prose, "": comment_prose, ".smk": comment_prose, ".sh": comment_prose}
PROSE |= {".tex": latex_prose, ".py": python_prose} | dict.fromkeys((".cu", ".cuh", ".c", ".h"), c_prose)


def bound_names(text):
    """The names that Python code binds: (line, name) of variables, arguments, functions and classes."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def find_words(text, suffix):
    """The words to avoid in the prose of a file with this suffix: [(line, words, what to say), ...]."""
    prose = PROSE[suffix](text)
    if not ANY_PATTERN.search(prose):
        return []
    matches = ((match, advice) for pattern, advice in PATTERNS.items() for match in pattern.finditer(prose))
    return sorted(
        (prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), advice) for match, advice in matches
    )


def files_of(globs):
    return [str(path.relative_to(ROOT)) for glob in globs for path in sorted(ROOT.glob(glob)) if path.is_file()]


def test_every_glob_has_files():
    assert all(any(ROOT.glob(glob)) for glob in [*FILES, *CODE])


def test_names_to_avoid_are_avoided():
    names = {path: bound_names((ROOT / path).read_text()) for path in files_of(CODE)}
    assert [f"{path}:{line}: {name}" for path in names for line, name in names[path] if name in NAMES_TO_AVOID] == []


def test_bound_names_are_variables_arguments_functions_and_classes():
    text = "class A:\n    def f(self, x, *, y=b.c):\n        self.d = z = [w for w in x]\n"
    assert sorted(bound_names(text)) == [(1, "A"), (2, "f"), (2, "self"), (2, "x"), (2, "y"), (3, "w"), (3, "z")]


def test_words_to_avoid_are_avoided():
    messages = [
        f"{name}:{line}: '{words}': say {advice}"
        for name in files_of(FILES)
        for line, words, advice in find_words((ROOT / name).read_text(), Path(name).suffix)
    ]
    assert not messages, "\n" + "\n".join(messages)


@pytest.mark.parametrize(
    ("suffix", "text", "lines"),
    [
        (".md", "one\ntwo cards, `cards.json`\n```sh\ncard\n```\n[a](cards.md) left\nout", [2, 6]),
        (".md", "discard a wildcard, the two-card case", []),
        (".yaml", "card: 1  # of a card\n  question: Which card?\n  gemv_cards: 2\n# `card`", [1, 2]),
        ("", "test: ## what waits for a GPU\n\tcard", [1]),
        (".tex", "\\result{card/one} of a card % card\n\\ifmeasured{cards}", [1]),
        (
            ".py",
            'card = "card"  # a card\nx = 1\n\ndef f():\n    """Of `card`.\n\n    A card of it.\n    """\n',
            [1, 7],
        ),
        (".py", 'raise E(f"The card {card} is busy.")', [1]),
        (".cu", "int card; // a card\n/* measured anew */\ncard();", [1, 2]),
    ],
)
def test_prose_is_distinguished_from_code(suffix, text, lines):
    assert [line for line, *_ in find_words(text, suffix)] == lines
