"""The captions of the figures, one for each, for the paper."""

from ladder.report import figures, latex


def text():
    """The definitions that `paper/ladder.tex` reads, {path: text}: each figure's CAPTION as LaTeX."""
    captions = {
        name: figures.constants(name).get("CAPTION") or figures.constants(name)["TITLE"] for name in figures.names()
    }
    lines = (f"\\definecaption{{{name}}}{{{latex.prose(caption)}}}\n" for name, caption in captions.items())
    return {"captions.tex": "".join(lines)}
