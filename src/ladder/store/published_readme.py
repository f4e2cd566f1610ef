"""`README.md` of published measurements, made from their data package and the descriptions of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ladder.catalogue import workloads
from ladder.store import columns
from ladder.store.data_package import ROWS

if TYPE_CHECKING:
    from ladder.store.columns import Column

TEXT = """\
# Published measurements

Times of kernels with their checks, measured by `ladder`. This file and `datapackage.json`, a
[Frictionless Data Package](https://datapackage.org) with the fields of every file, are written by `ladder package`,
as part of `ladder publish` and `ladder publish_campaign`.

Questions need no code: from a clone, `ladder show gemv --machine nvidia-h200` ranks the variants of a system, and
`ladder compare --stored A B` says which of two cases is faster ([docs/results.md](../../docs/results.md)).

## Folders

A folder of a machine holds what was measured on it over time, by several commits. A folder below `campaigns/` is one
campaign: one commit, one host, one set of GPUs, cases in turns. Ratios are taken within a campaign; between cases of a
machine's folder that were measured at different times they support no verdict. If campaigns measured a case, use only
these. For cases on GPUs, the paper pools campaigns on machines with the same models of GPU and CPU, under the name
of the machine with the most campaigns. Campaigns started together on a host ran side by side, each on a GPU and
cores of its own.

A campaign's name is its machine, the time in UTC at which it began, and a suffix, which only keeps names apart: six
hexadecimal digits of the commit, or of a digest of machine, commit, host and GPUs. The commit is in the table below, in
`machine.json`, and in the column `commit`.

Verdicts and ratios have 99 % intervals, and so have times in `ladder show`. Medians have 95 % intervals in the paper,
in the page of results and in `ladder run`.

{folders}

The number of cases of each system:

{systems}

`artefacts/` holds files that a rule could make, such as a trained network.

## Files of a folder

{files}

`machine.json` describes the machine. The folder of a machine with GPUs, but not that of a campaign, may also have
`cards.json`, the times of generating images by the number of GPUs, and `tests-gpu.json`, the outcome of the tests on
its GPUs. A table is CSV, compressed by gzip, and always has a header.

## Rows and keys

`workload`, `variant` and `case` identify a case; `workload/variant/case` is its key, which `ladder compare` takes. A
case may belong to several experiments, and its rows are then repeated for each: select one experiment, or drop
duplicates. Within a file these columns identify a row:

{keys}

The headline time of a case is the median over processes of the median of each process's `total` samples:

```python
import pandas

samples = pandas.read_csv("results/published/nvidia-h200/samples.csv.gz", low_memory=False)
gemv = samples.query("experiment == 'gemv_gpu' and phase == 'total'")
case = ["variant", "case"]
print(gemv.groupby([*case, "process"])["seconds"].median().groupby(case).median().sort_values())
```

## Columns

A table has all columns of the harness, which are empty if nothing recorded them, such as `gpu` in early publications,
and those sizes and tunings that have a value in some row. A row has only the sizes and tunings of its system; other
cells are empty.

{harness_columns}

Sizes, tunings, results and points of curves of several systems:

{shared_columns}

Those of one system, which take precedence:

{system_columns}
"""


def render(package: Mapping[str, Any]) -> str:
    """The text of the file for a data package."""
    return TEXT.format(
        folders=folders(package),
        systems=systems(package),
        files=table(["file", "a row is"], [[f"`{name}.csv.gz`", title] for name, title in ROWS.items()]),
        keys=table(["file", "key"], [[f"`{name}`", code(key)] for name, key in columns.KEYS.items()]),
        harness_columns=table(["column", "files", "unit", "meaning"], harness_rows()),
        shared_columns=meanings_table(columns.as_columns(columns.SHARED_MEANINGS)),
        system_columns=table(["system", "column", "unit", "meaning"], system_rows(package)),
    )


def folders(package: Mapping[str, Any]) -> str:
    """A row for each folder: when, on which processors, how much, and by which commits."""
    head = ["folder", "began or published", "CPU cores", "GPUs", "samples", "commit"]
    rows = []
    for folder in package["folders"]:
        commits = folder["commits"]
        rows.append(
            [
                f"`{folder['path']}`",
                (folder["began"] or folder["published"] or "")[:10],
                folder["cores"],
                folder["gpus"] or "–",
                f"{folder['samples']:,}".replace(",", " "),
                f"`{commits[0][:7]}`" if len(commits) == 1 else f"{len(commits)} commits",
            ]
        )
    return table(head, rows)


def systems(package: Mapping[str, Any]) -> str:
    """A row for each folder with the number of cases of each system."""
    names = sorted({name for folder in package["folders"] for name in folder["systems"]})
    rows = [
        [f"`{folder['path']}`", *(str(folder["systems"].get(name, "–")) for name in names)]
        for folder in package["folders"]
    ]
    return table(["folder", *names], rows)


def harness_rows() -> Iterator[list[str]]:
    """A row for each column of the harness, with the files that have it."""
    yield from ([f"`{name}`", "all", "", column.meaning] for name, column in columns.CASE.items())
    for file, described_columns in columns.TABLES.items():
        for name, column in described_columns.items():
            files = ", ".join(other for other, names in columns.TABLES.items() if names.get(name) is column)
            if files.startswith(file):
                yield [f"`{name}`", files, column.unit or "", column.meaning]


def system_rows(package: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for each column that a system of the package describes itself."""
    for name in sorted({name for folder in package["folders"] for name in folder["systems"]} & {*workloads.names()}):
        for column, (meaning, _, unit) in columns.of_workload(name).items():
            yield [name, f"`{column}`", unit or "", meaning]


def meanings_table(entries: Mapping[str, Column]) -> str:
    """A table of columns without units."""
    return table(["column", "meaning"], [[f"`{name}`", column.meaning] for name, column in entries.items()])


def code(names: tuple[str, ...]) -> str:
    """Names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def table(head: Sequence[str], rows: Iterable[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])
