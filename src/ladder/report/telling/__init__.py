"""The data of chapters (lines, sources, claims), and the queries and functions of their text, tables and figures.

| module | holds |
| --- | --- |
| `lines` | `Line`, `Source`, `Needs`, `Claim`: the types of data in a chapter's `lines.py` and `claims.py` |
| `chapter_study` | queries in a chapter's terms: its machines, the rows, phases and predicted time of a line |
| `claims` | the verdicts on a chapter's claims |
| `ladder` | the table of a ladder and its waterfall |
| `functions` | the functions that a text may call: `time`, `speedup`, `share` ... |
| `templates` | texts as Jinja templates, whose blocks vanish if a measurement is missing |
| `amortisation` | break-even points: the size from which a case is faster, the calls that pay for its preparation |
| `scaling`, `phase_bars` | figures of several chapters |
"""
