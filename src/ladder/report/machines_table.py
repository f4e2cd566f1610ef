"""The tables of the machines and of their software."""

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, escape


def machines(study):
    """The hardware of the machines, as LaTeX."""
    head = ["Machine", "CPU", "Cores", "Memory", "L1", "L2", "L3", "Vectors"]
    rows = []
    for name, description in descriptions(study):
        cpu = description["cpu"]
        caches = [escape(cpu.get(f"{level} cache", NONE).split(" (")[0]) for level in ("L1d", "L2", "L3")]
        vectors = escape(cpu["Vector units"])
        rows.append(
            [
                code(name),
                escape(cpu["Model name"]),
                str(description["cores"]),
                latex.memory(description["memory"]),
                *caches,
                vectors,
            ]
        )
    return latex.table(r">{\raggedright}p{0.24\linewidth}>{\raggedright}p{0.2\linewidth}rrrrrl", head, rows)


def software(study):
    """The software of the machines, as LaTeX."""
    libraries = ["numpy", "scipy", "numba", "llvmlite", "torch"]
    rows = [
        [code(name), escape(description["system"].split("-")[0]), escape(description["python"])]
        + [escape(description["libraries"].get(library, NONE)) for library in libraries]
        for name, description in descriptions(study)
    ]
    head = ["Machine", "System", "Python", "NumPy", "SciPy", "Numba", "llvmlite", "PyTorch"]
    return latex.table(r">{\raggedright}p{0.24\linewidth}lllllll", head, rows)


def descriptions(study):
    """[(name, description)] of the machines with measurements."""
    return [(name, study.descriptions[name]) for name in study.machines() if name in study.descriptions]
