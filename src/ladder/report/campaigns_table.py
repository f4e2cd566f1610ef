"""The tables of the campaigns: which commit, host and GPUs each is of, and the software that it was measured with."""

from ladder.build.libraries import FLAGS
from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, escape

DIGEST_DIGITS = 7  # of a commit, and of the digests of a host and its GPUs
PROGRAMS = ("gcc", "CUDA runtime", "CUDA driver", "cuBLAS", "cuDNN", "NCCL", "BLAS of NumPy", "MPI")
# The factors of the parts of a version that libraries give as one number, such as 13010 for CUDA 13.1.
VERSION_FACTORS = {"CUDA runtime": (1000, 10), "CUDA driver": (1000, 10)} | dict.fromkeys(
    ("cuBLAS", "cuDNN", "NCCL"), (10000, 100, 1)
)
LIBRARIES = ("numpy", "scipy", "numba", "torch", "cupy-cuda13x")
ENTRIES = ("System", "Python", "GPU driver", *PROGRAMS, *LIBRARIES)


def campaigns(study):
    """A row for each campaign: when, of which commit, on which host and GPUs, and their clocks under load."""
    head = ["Campaign", "Machine", "Began", "Commit", "CPU", "Cores", "Host", "GPU", "GPUs", "Clock under load (MHz)"]
    rows = []
    for number, publication in enumerate(study.campaigns.values(), 1):
        note, description = publication["campaign"], publication["description"]
        gpus = description["gpus"]
        rows.append(
            [
                str(number),
                code(publication["machine"]),
                note["began"].replace("T", " ")[:16],
                code(note["commit"][:DIGEST_DIGITS]),
                escape(description["cpu"]["Model name"]),
                str(description["cores"]),
                code(note["host"][:DIGEST_DIGITS]),
                escape(gpus[0]["name"]) if gpus else NONE,
                ", ".join(code(gpu[:DIGEST_DIGITS]) for gpu in note["gpus"]) or NONE,
                median_and_range(publication.get("conditions", {}).get("clock")),
            ]
        )
    columns = r"r>{\raggedright}p{0.12\linewidth}ll>{\raggedright}p{0.16\linewidth}rll>{\raggedright}p{0.12\linewidth}l"
    return latex.table(columns, head, rows, "No campaign is published.")


def environments(study):
    """What campaigns were measured with: compilers, libraries, the driver and Python's packages.

    Campaigns with the same software share a column.
    """
    columns = {}
    for number, publication in enumerate(study.campaigns.values(), 1):
        columns.setdefault(software(publication), []).append(number)
    if not columns:
        return latex.table("l", ["Software"], [], "No campaign is published.")
    rows = [[name, *values] for name, *values in zip(ENTRIES, *columns, strict=True) if {*values} != {NONE}]
    column = r">{\raggedright\arraybackslash}p{" + f"{0.8 / len(columns):.2f}" + r"\linewidth}"
    head = ["Campaigns", *map(ranges, columns.values())]
    return latex.table("l" + column * len(columns), head, [[*map(escape, row)] for row in rows])


def software(publication):
    """The versions of ENTRIES that a campaign was measured with."""
    description, versions = publication["description"], publication["campaign"].get("software", {})
    driver = next((gpu["driver"] for gpu in description["gpus"]), NONE)
    programs = [version(name, versions) for name in PROGRAMS]
    libraries = [description["libraries"].get(name, NONE) for name in LIBRARIES]
    return description["system"], description["python"], driver, *programs, *libraries


def ranges(numbers):
    """Ascending integers as text, with a dash for each run of three or more."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}--{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def version(name, versions):
    """The version of a program, with dots."""
    number = versions.get(name, NONE)
    if name not in VERSION_FACTORS or not number.isdigit():
        return number
    parts, rest = [], int(number)
    for factor in VERSION_FACTORS[name]:
        part, rest = divmod(rest, factor)
        parts.append(str(part))
    return ".".join(parts)


def flags():
    """The flags of the C compiler by the names that tunings have."""
    return ", ".join(f"{code(name)} ({code(' '.join(flags)) if flags else 'no flag'})" for name, flags in FLAGS.items())


def median_and_range(values):
    """The median and the range of some values, [lowest, median, highest]; NONE without them."""
    return NONE if not values else f"{values[1]:.0f} ({values[0]:.0f}--{values[2]:.0f})"
