"""The tables of the machines and of their software."""

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, escape


def machines(study):
    """The hardware of the machines, as LaTeX."""
    head = ["Machine", "CPU", "Cores", "Memory", "L1", "L2", "L3", "Vectors"]
    rows = []
    for name, about in descriptions(study):
        cpu = about["cpu"]
        caches = [escape(cpu.get(f"{level} cache", NONE).split(" (")[0]) for level in ("L1d", "L2", "L3")]
        vectors = escape(cpu["Vector units"])
        rows.append(
            [
                code(name),
                escape(cpu["Model name"]),
                str(about["cores"]),
                latex.memory(about["memory"]),
                *caches,
                vectors,
            ]
        )
    return latex.table(r">{\raggedright}p{0.24\linewidth}>{\raggedright}p{0.2\linewidth}rrrrrl", head, rows)


def software(study):
    """The software of the machines, as LaTeX."""
    libraries = ["numpy", "scipy", "numba", "llvmlite", "torch"]
    rows = [
        [code(name), escape(about["system"].split("-")[0]), escape(about["python"])]
        + [escape(about["libraries"].get(library, NONE)) for library in libraries]
        for name, about in descriptions(study)
    ]
    head = ["Machine", "System", "Python", "NumPy", "SciPy", "Numba", "llvmlite", "PyTorch"]
    return latex.table(r">{\raggedright}p{0.24\linewidth}lllllll", head, rows)


def descriptions(study):
    """[(name, description)] of the machines with measurements."""
    return [(name, study.descriptions[name]) for name in study.machines() if name in study.descriptions]
