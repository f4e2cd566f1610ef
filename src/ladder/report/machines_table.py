"""The tables of the machines and of what ran on them."""

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, escape


def machines(study):
    """What the machines are."""
    head = ["Machine", "CPU", "Cores", "Memory", "L2", "L3", "Vectors"]
    rows = []
    for name, about in described(study):
        cpu = about["cpu"]
        caches = [escape(cpu.get(f"{level} cache", NONE).split(" (")[0]) for level in ("L2", "L3")]
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
    return latex.table(r">{\raggedright}p{0.24\linewidth}>{\raggedright}p{0.2\linewidth}rrrrl", head, rows)


def software(study):
    """What ran on them."""
    libraries = ["numpy", "scipy", "numba", "llvmlite", "torch"]
    rows = [
        [code(name), escape(about["system"].split("-")[0]), escape(about["python"])]
        + [escape(about["libraries"].get(library, NONE)) for library in libraries]
        for name, about in described(study)
    ]
    head = ["Machine", "System", "Python", "NumPy", "SciPy", "Numba", "llvmlite", "PyTorch"]
    return latex.table(r">{\raggedright}p{0.24\linewidth}lllllll", head, rows)


def described(study):
    """The machines with measurements, and their descriptions."""
    return [(name, study.descriptions[name]) for name in study.machines() if name in study.descriptions]
