"""The tables of the machines and of what ran on them."""

from ladder.report import latex
from ladder.report.cells import NONE
from ladder.report.latex import code, escape


def machines(found):
    """What the machines are."""
    head = ["Machine", "CPU", "Cores", "Memory", "L2", "L3", "Vectors"]
    rows = []
    for name, about in described(found):
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


def software(found):
    """What ran on them."""
    libraries = ["numpy", "scipy", "numba", "llvmlite", "torch"]
    rows = [
        [code(name), escape(about["system"].split("-")[0]), escape(about["python"])]
        + [escape(about["libraries"].get(library, NONE)) for library in libraries]
        for name, about in described(found)
    ]
    head = ["Machine", "System", "Python", "NumPy", "SciPy", "Numba", "llvmlite", "PyTorch"]
    return latex.table(r">{\raggedright}p{0.24\linewidth}lllllll", head, rows)


def described(found):
    """The machines with measurements, and their descriptions."""
    return [(name, found.descriptions[name]) for name in found.machines() if name in found.descriptions]


def named(host, card):
    """Where a chapter's numbers were measured, from a Study each: `apart` is the card's machine if not the host's."""
    cards = card.descriptions.get(card.subject, {}).get("gpus") or [{}]
    name = cards[0].get("name")
    return {
        "host": code(host.subject) if host.subject else None,
        "apart": code(card.subject) if card.subject and card.subject != host.subject else None,
        "gpu": escape(name) if name else None,
    }
