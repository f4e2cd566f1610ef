"""The captions of all figures, for the paper."""

from ladder.report import figures, latex


def text():
    """The definitions that `paper/preamble.tex` reads, {path: text}: each figure's CAPTION as LaTeX."""
    captions = {name: latex.prose(figures.constants(name)["CAPTION"]) for name in figures.names()}
    lines = (f"\\definecaption{{{name}}}{{{caption}}}\n" for name, caption in captions.items())
    return {"captions.tex": "".join(lines)}
