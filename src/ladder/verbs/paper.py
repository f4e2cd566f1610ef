"""Typeset the paper, or its supplement, as PDF."""

from pathlib import Path

from ladder.report import captions, chapters, typesetting


def add_arguments(parser):
    parser.add_argument("source", help="the main LaTeX file")
    parser.add_argument("inputs", nargs="*", help="generated files: tables, figures")
    parser.add_argument("--texts", help="folder of the rendered texts")
    parser.add_argument("--out", required=True)


def run(options):
    texts, folder = chapters.texts() | captions.text(), Path(options.out).with_suffix("")
    origins, sources = chapters.origins(), Path(options.source).parent
    for path in Path(options.texts).rglob("*.tex") if options.texts else ():
        name, text = str(path.relative_to(options.texts)), path.read_text(encoding="utf-8")
        if texts.get(name) != text and not has_text(sources / name, text):
            origins[name] = path  # LaTeX's messages have line numbers of the rendered text, so they name that file
        texts[name] = text
    typesetting.build(options.source, options.inputs, folder, options.out, texts, origins)


def has_text(path, text):
    """Whether a file exists and has this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text
