"""Values as LaTeX: escaped text, quantities for siunitx with sensible digits, lists, and tables for booktabs."""

from pathlib import Path

from ladder.quantities import digits
from ladder.store import PUBLISHED_SUFFIX

SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
TIMES = [(1.0, r"\second"), (1e-3, r"\milli\second"), (1e-6, r"\micro\second"), (1e-9, r"\nano\second")]
RATES = [(1e12, r"\tera"), (1e9, r"\giga"), (1e6, r"\mega"), (1e3, r"\kilo"), (1.0, "")]
JOULES = [(1e3, r"\kilo\joule"), (1.0, r"\joule"), (1e-3, r"\milli\joule")]
RATE_UNITS = {"flops": r"\flops", "bandwidth": r"\bytes"}


class Missing(str):
    """Words that replace a value without a measurement in a sentence."""


def escape(text):
    """Text as LaTeX prints it."""
    return "".join(SPECIAL.get(character, character) for character in str(text))


def code(text):
    """A name in typewriter type, with line breaks allowed at its separators; a published machine's has a mark."""
    mark = r"\published{}" if str(text).endswith(PUBLISHED_SUFFIX) else ""
    text = str(text).removesuffix(PUBLISHED_SUFFIX)
    latex = f"\\texttt{{{escape(text)}}}{mark}"
    for separator in (",", "/", "-", r"\_"):
        latex = latex.replace(separator, separator + r"\allowbreak{}")
    return latex


def prose(text):
    """Plain text with code in `backticks` as LaTeX."""
    parts = " ".join(text.split()).split("`")  # text and code alternate
    return "".join(code(part) if number % 2 else escape(part) for number, part in enumerate(parts))


def number(value, digit_count=3):
    """A number with `digit_count` significant digits, with an exponent below 1e-3 and from 1e5."""
    if value and not 1e-3 <= abs(value) < 1e5:
        mantissa, exponent = f"{value:.{digit_count - 1}e}".split("e")
        return f"\\num{{{mantissa}e{int(exponent)}}}"
    return f"\\num{{{digits(value, digit_count)}}}"


def num(value):
    """An integer, or a number as text, without rounding."""
    return f"\\num{{{value}}}"


def percent(share, digit_count=3):
    """A share as a percentage."""
    return f"\\qty{{{digits(100 * share, digit_count)}}}{{\\percent}}"


def pick_scale(value, scales):
    """The first of the scales [(scale, unit)], from large to small, in which a value is at least 1; else the last."""
    return next(((scale, unit) for scale, unit in scales if abs(value) >= scale), scales[-1])


def seconds(value, digit_count=3):
    """A time in s, ms, µs or ns, whichever gives a number of at least 1."""
    scale, unit = pick_scale(value, TIMES)
    return f"\\qty{{{digits(value / scale, digit_count)}}}{{{unit}}}"


def joules(value, digit_count=3):
    """An energy in kJ, J or mJ."""
    scale, unit = pick_scale(value, JOULES)
    return f"\\qty{{{digits(value / scale, digit_count)}}}{{{unit}}}"


def rate(value, kind, digit_count=3):
    """FLOP/s (`flops`) or B/s (`bandwidth`) with a decimal prefix."""
    scale, prefix = pick_scale(value, RATES)
    return f"\\qty{{{digits(value / scale, digit_count)}}}{{{prefix}{RATE_UNITS[kind]}}}"


def memory(size):
    """A size in bytes as GiB."""
    return f"\\qty{{{digits(size / 2**30)}}}{{\\gibi\\byte}}"


def enumeration(items):
    """Items as words: 1, 2 and 4."""
    items = [str(item) for item in items]
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def table(columns, head, rows, empty="There is no measurement for this table."):
    """A tabular of LaTeX cells, or the sentence `empty` if there are no rows; a None in `rows` becomes a rule."""
    if not rows:
        return f"\\emph{{{empty}}}\n"
    lines = [" & ".join(row) + r" \\" if row else r"\midrule" for row in rows]
    body = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(head) + r" \\", r"\midrule"]
    return "\n".join([*body, *lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def group_head(first, groups):
    """The head of a table: the titles of its first columns, and columns in groups, {title of the group: titles}."""
    above, rules, column = " &" * (len(first) - 1), "", len(first) + 1
    for title, titles in groups.items():
        above += rf" & \multicolumn{{{len(titles)}}}{{c}}{{{title}}}"
        rules += rf"\cmidrule(lr){{{column}-{column + len(titles) - 1}}}"
        column += len(titles)
    titles = [*first[1:], *(title for titles in groups.values() for title in titles)]
    return [rf"{above} \\{rules}" + f"\n{first[0]}", *titles]


def long_table(columns, head, rows, empty="There is no measurement for this table."):
    """A table like that of `table`, over several pages with a head on each; the paper defines its caption."""
    if not rows:
        return table(columns, head, rows, empty)
    titles = [r"\toprule", " & ".join(head) + r" \\", r"\midrule"]
    body = [f"\\begin{{longtable}}{{{columns}}}", r"\longcaption", *titles, r"\endfirsthead", *titles, r"\endhead"]
    lines = [" & ".join(row) + r" \\" if row else r"\midrule" for row in rows]
    return "\n".join([*body, *lines, r"\bottomrule", r"\end{longtable}"]) + "\n"


def write(path, text):
    """Write generated LaTeX with a comment at the top that says so."""
    from ladder.records.files import write_atomically

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "% Generated by the workflow: changes are lost.\n" + text)
