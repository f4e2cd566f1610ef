"""Put the page together: its data, the scripts that draw them, and the templates beside this module."""

import base64
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from ladder.report import machines_table, validation_table, verdicts
from ladder.report.figures import formats
from ladder.site import (
    cases,
    checks,
    compact,
    curves,
    explanations,
    findings,
    missing,
    rooflines,
    sides,
    sources,
    templates,
)
from ladder.site.ladders import ladders
from ladder.statistics import claims

# In the order in which they are read: later ones use functions of earlier ones.
SCRIPTS = (
    "data",
    "format",
    "tables",
    "charts",
    "choice",
    "verdicts",
    "explorer",
    "case",
    "compare",
    "roofline",
    "learning",
    "router",
)


def page(study, documents=(), pictures=()):
    """The HTML of a study; `documents` are links {title: address}, `pictures` are [(title, caption, PNG file)]."""
    contents = data(study)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates.FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "time": formats.time,
        "ratio": findings.ratio_text,
        "claimed": findings.claimed_text,
        "number": format_number,
    }
    return environment.get_template("page.html").render(
        contents,
        systems=systems(contents["ladders"]),
        documents=dict(documents),
        pictures=[(title, caption, data_url(path)) for title, caption, path in pictures],
        style=Markup(templates.read("style.css")),
        library=Markup(library()),
        script=Markup("\n".join(templates.read(f"{name}.js") for name in SCRIPTS)),
        data=Markup(compact.text(browser_data(contents))),
    )


def data(study):
    """All that the page shows of a study, {name: rows} of this package's modules."""
    case_rows = cases.rows(study)
    index = cases.index_of(case_rows)
    check_rows, every_ladder = checks.rows(study, index), ladders(study, index)
    claim_rows = verdicts.rows(study).to_dict("records")
    every_side = sides.sides(case_rows)
    return {
        "findings": findings.sentences(claim_rows, every_ladder, check_rows),
        "ladders": every_ladder,
        "claims": explanations.rows(claim_rows, index),
        "rules": claims.RULES,
        "groups": verdicts.GROUPS,
        "verdict_order": claims.VERDICTS,
        "machines": machines_table.descriptions(study),
        "validation": validation_table.nearest_comparisons(study).to_dict("records"),
        "missing": missing.rows(study),
        "cases": case_rows,
        "checks": check_rows,
        "curves": curves.rows(study, index),
        "sides": every_side,
        "pairs": sides.pairs(every_side),
        "roofs": rooflines.rows(study),
        "sources": sources.rows(study),
    }


def systems(every_ladder):
    """The ladders by their system, [{title, ladders}]."""
    by_title = {}
    for ladder in every_ladder:
        by_title.setdefault(ladder.title, []).append(ladder)
    return [{"title": title, "ladders": ladders_of_title} for title, ladders_of_title in by_title.items()]


def browser_data(contents):
    """The part of `data` that the browser draws from, compact."""
    columns = {"cases": cases.COLUMNS, "checks": checks.COLUMNS, "curves": curves.COLUMNS}
    columns |= {"pairs": sides.COLUMNS, "roofs": rooflines.COLUMNS, "sources": sources.COLUMNS}
    tables = {name: compact.table(contents[name], names) for name, names in columns.items()}
    return tables | {"sides": [side.name for side in contents["sides"]]}


def library():
    """The scripts of Vega, Vega-Lite and Vega-Embed."""
    import vl_convert  # here, because planning doesn't need it, and it loads slowly

    return vl_convert.javascript_bundle().replace("</script", "<\\/script")


def data_url(path):
    """A PNG file as the address of an image."""
    return "data:image/png;base64," + base64.b64encode(Path(path).read_bytes()).decode()


def format_number(value, words="–"):
    """A number with three digits in a table; `words` where it is missing."""
    return words if value is None or pd.isna(value) else f"{float(f'{value:.3g}'):g}"
