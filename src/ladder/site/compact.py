"""Data as compact JSON: numbers with a few digits, and tables by column, whose repeated texts are stored once."""

import json
import math

DIGITS = 6  # significant digits of a number


def number(value, digits=DIGITS):
    """A number with so many significant digits; None where it is missing or infinite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def table(rows, columns):
    """Rows, dictionaries, by column: {column: [value]} or, of texts that repeat, {column: {texts, codes}}."""
    by_column = {name: [row.get(name) for row in rows] for name in columns}
    return {name: encode_texts(values) for name, values in by_column.items()}


def encode_texts(values):
    """A column's texts as {texts, codes}, a code being an index in the texts; other columns unchanged."""
    texts = list(dict.fromkeys(values)) if all(isinstance(value, str) for value in values) else values
    if len(texts) * 2 > len(values):
        return values
    index = {text: code for code, text in enumerate(texts)}
    return {"texts": texts, "codes": [index[value] for value in values]}


def text(document):
    """The JSON of a document for an HTML element `script`, in which no `</` may occur."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("</", "<\\/")
