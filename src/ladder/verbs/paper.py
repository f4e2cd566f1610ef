"""Typeset the paper."""

from pathlib import Path

from ladder.report import captions, chapters, typesetting


def add_arguments(parser):
    parser.add_argument("source", help="the LaTeX file to begin with")
    parser.add_argument("inputs", nargs="*", help="generated files: tables, figures")
    parser.add_argument("--texts", help="folder of the rendered texts")
    parser.add_argument("--out", required=True)


def run(options):
    texts, folder = chapters.texts() | captions.text(), Path(options.out).with_suffix("")
    origins, sources = chapters.origins(), Path(options.source).parent
    for path in Path(options.texts).rglob("*.tex") if options.texts else ():
        name, text = str(path.relative_to(options.texts)), path.read_text(encoding="utf-8")
        if texts.get(name) != text and not is_same(sources / name, text):  # LaTeX counts lines of the rendered text
            origins[name] = path
        texts[name] = text
    typesetting.build(options.source, options.inputs, folder, options.out, texts, origins)


def is_same(path, text):
    """Whether a file has this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text
