"""What chapters tell with: their lines, sources and claims as data, and the study that text, tables and figures ask.

| module | holds |
| --- | --- |
| `lines` | `Line`, `Source`, `Needs`, `Widest`, `Claim`: what `lines.py` and `claims.py` of a chapter consist of |
| `chapter_study` | the study as a chapter sees it: its machines, the rows, phases and model of a line |
| `claims` | the verdicts on a chapter's claims |
| `ladder` | the table of a ladder and its waterfall |
| `functions` | what a text may ask for: `time`, `speedup`, `share` ... |
| `templates` | texts as Jinja templates, whose blocks vanish where a measurement is missing |
| `amortisation` | from which size on something is faster, and after how many calls something done once has paid |
| `scaling`, `phase_bars` | what figures of several chapters are made of |
"""
