"""Typeset the paper."""

from pathlib import Path

from ladder.report import captions, chapters, typesetting


def add_arguments(parser):
    parser.add_argument("source", help="the LaTeX file to begin with")
    parser.add_argument("inputs", nargs="*", help="generated files: numbers, tables, figures")
    parser.add_argument("--out", required=True)


def run(options):
    texts, folder = chapters.texts() | captions.text(), Path(options.out).with_suffix("")
    typesetting.build(options.source, options.inputs, folder, options.out, texts, chapters.origins())
