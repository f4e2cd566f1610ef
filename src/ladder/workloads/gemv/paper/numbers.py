"""The numbers of the chapter, about the machines that it speaks of."""

from ladder.report import machines_table, ratios, study, verdict_table
from ladder.report.latex import code, digits, number, percent, rate, seconds
from ladder.workloads.gemv import cost
from ladder.workloads.gemv.paper import break_even, model, query, rungs, verdicts

AGAINST = (
    ("openmp", "serial"),
    ("spread", "openmp"),
    ("ship", "openmp"),
    ("resident", "openmp"),
    ("hybrid", "openmp"),
    ("shared", "naive"),
    ("coalesced", "naive"),
    ("warp", "coalesced"),
    ("nccl-ship", "mpi-ship"),
)
NAMES = {
    "serial": "one thread",
    "openmp": f"{code('openmp')} on all threads",
    "mpi-ship": code("mpi_cublas"),
}
STRANGE = 10  # times as long, for what a tree of messages to a few times as many ranks doesn't explain


def numbers(found):
    """Every key's value."""
    machines = query.chosen(found)
    parts = {
        "machine": machine(machines),
        "problem": problem(),
        "model": of_the_model(machines),
        "ladder": ladder(machines),
        "others": others(machines.card),
        "scaling": scaling(machines),
        "phases": phases(machines),
        "pays": pays(machines),
        "verdicts": verdict_table.numbers_of_groups(**verdicts.verdicts(found)),
    }
    return {f"gemv/{part}/{key}": value for part, values in parts.items() for key, value in values.items()}


def machine(machines):
    """Where the chapter's numbers were measured."""
    card, cards, widest = (one.found.subject for one in machines[1:])
    return machines_table.named(machines.host.found, machines.card.found) | {
        "card": code(card) if card else None,
        "several": code(cards) if cards and cards != card else None,
        "cards": code(widest) if widest else None,
        "count": f"\\num{{{machines.widest.most_cards}}}" if machines.widest.most_cards else None,
    }


def problem():
    """Work for a byte, and the sizes of the matrices."""
    sizes = {"seed": 1, "dtype": query.DTYPE}
    whole = cost(query.SIZES[query.LARGE] | sizes)
    values = {
        name: f"${one['n']} \\times {one['m']}$"
        for name, one in {
            "threads": query.SIZES[query.THREADS],
            "large": query.SIZES[query.LARGE],
            "larger": query.SIZES[query.LARGER],
            "small": query.SMALL,
            "long": query.LONG,
        }.items()
    }
    return values | {"intensity": number(whole.flops / whole.bytes, 2)}


def of_the_model(machines):
    """The bandwidths that it divides by."""
    host, card = (model.of_study(one.found) for one in (machines.host, machines.card))
    most = max(host.memory, default=None)
    link = model.of_study(machines.cards.found).link
    reads = machines.host.found.samples(model.STREAMS, kernel="read", threads=most) if most else study.NO_ROWS
    return {
        "threads": f"\\num{{{most}}}" if most else None,
        "memory": rate(host.memory[most], "bandwidth", 2) if most else None,
        "reads": rate_of(reads),
        "card": rate(card.card, "bandwidth", 2) if card.card else None,
        "link": rate(link, "bandwidth", 2) if link else None,
        "passes": f"\\num{{{1 + model.COPIES}}}",
    }


def ladder(machines):
    """The time of a gigabyte by each line, the share of the bandwidth, and what one is of another."""
    cases, values = {key: rungs.rows(key, machines) for key in rungs.LINES}, {}
    for key, rows in cases.items():
        middle = study.middle(rows)
        least = (
            model.seconds(rows.iloc[0], model.of_study(rungs.of(key, machines).found), query.GIGABYTE)
            if middle
            else None
        )
        values[f"{key}/time"] = seconds(middle, 2) if middle else None
        values[f"{key}/share"] = percent(least / middle, 2) if least else None
        values[f"{key}/place"] = rungs.place(rows.iloc[0]).replace("×", r"$\times$") if middle else None
    values["spread/alone"] = ratios.prose(verdicts.binding_alone(machines))
    for one, other in AGAINST:
        name = NAMES.get(other, code(rungs.LINES[other].line.variant))
        values[f"{one}/against/{other}"] = ratios.compared(ratios.of(cases[other], cases[one]), name)
    return values


def others(card):
    """What kernels of a card do on few long rows, and the best one on a small matrix."""
    long, small = (card.calls(query.CARD, **sizes) for sizes in (query.LONG, query.SMALL))
    values = {}
    for key in ("coalesced", "warp"):
        values[f"long/{key}/rate"] = rate_of(rungs.changed(key, long))
    pair = (rungs.changed(key, small) for key in ("cublas", "warp"))
    return values | {"small/warp/against/cublas": ratios.compared(ratios.of(*pair), code("cublas"))}


def rate_of(rows):
    """B/s of a case, or None."""
    return rate(rows["bytes"].iloc[0] / study.middle(rows), "bandwidth", 2) if len(rows) else None


def scaling(machines):
    """Parallel efficiencies: of threads and of ranks that keep their rows on the host, of cards that keep theirs."""
    host, large = machines.host, machines.widest.large
    values = efficiency("threads", host.threads, "openmp", "threads") | efficiency(
        "ranks", host.ranks, "resident", "ranks"
    )
    for key in ("graph", "nccl"):
        values |= efficiency(key, large, key, "ranks")
    values |= efficiency("larger", machines.widest.larger, "graph", "ranks")
    return values | {"cards/rate": rate_of(rungs.changed("graph", large))}


def efficiency(name, frame, key, counted):
    """The speed-up of the most threads or ranks over one, what part of their number it is, and that number."""
    several, one = (rungs.changed(key, frame, **{counted: count}) for count in (rungs.MOST, 1))
    most = int(several[counted].iloc[0]) if len(several) else 1
    ratio = ratios.of(one, several) if most > 1 else None
    return {
        f"{name}/speedup": ratios.prose(ratio),
        f"{name}/efficiency": ratios.efficiency(ratio, most),
        f"{name}/most": f"\\num{{{most}}}" if ratio else None,
    }


def phases(machines):
    """The phases of a product on ranks and on cards, where its matrix travels and where it stays."""
    cases = {
        "ranks/ship": (machines.host, rungs.changed("ship", machines.host.ranks)),
        "ranks/resident": (machines.host, rungs.changed("resident", machines.host.ranks)),
        "half/resident": (machines.host, fewer(rungs.LINES["resident"].line, machines.host.ranks)),
        "cards/ship": (machines.cards, rungs.changed("nccl-ship", machines.cards.cards)),
        "cards/resident": (machines.cards, rungs.changed("nccl", machines.cards.cards)),
    }
    values = {"hybrid/over": over(of_the_smallest(machines.host), machines.host.phases)}
    values["broadcast/longer"] = longer(machines.host, cases["half/resident"][1], cases["ranks/resident"][1])
    for name, (one, rows) in cases.items():
        found = query.times(rows, one.phases)
        middle = study.middle(rows)
        values[f"{name}/time"] = seconds(middle, 2) if middle else None
        values[f"{name}/place"] = rungs.place(rows.iloc[0]) if middle else None
        values |= {f"{name}/{phase}": seconds(found[phase], 2) if phase in found else None for phase in query.PHASES}
        sent = query.sending(rows, one.phases) if middle else study.NO_ROWS
        values[f"{name}/sending"] = seconds(study.middle(sent), 2) if len(sent) else None
        values[f"{name}/over"] = over(rows, one.phases)
    return values


def longer(host, fewer, most):
    """How many times as long the broadcast takes on the most ranks as on fewer, if that is out of all proportion."""
    few, many = (study.where(query.of_products(rows, host.phases), phase="broadcast") for rows in (fewer, most))
    found = ratios.of(many, few)
    return ratios.times(digits(found.value, 2)) if found and found.value > STRANGE else None


def over(rows, phases):
    """How many times the call all phases take, where they don't add up to it; else None."""
    share = query.together(rows, phases)
    return None if share is None or query.parts(rows, phases) else ratios.times(digits(share, 2))


def of_the_smallest(host):
    """The hybrid's product of the smallest matrix, which stays."""
    frame = host.found.samples(query.RANKS, dtype=query.DTYPE)
    return rungs.changed("hybrid", study.where(frame, n=min(study.values(frame, "n"), default=None)))


def fewer(line, frame):
    """The rows of a line on the number of ranks below the most."""
    counts = study.values(study.where(frame, variant=line.variant, mode=line.tuning["mode"]), "ranks")
    return (
        rungs.Line(line.variant, line.tuning | {"ranks": counts[-2]}).rows(frame) if len(counts) > 1 else study.NO_ROWS
    )


def pays(machines):
    """After how many products the sending of the matrix has paid, as predicates, and how long it takes."""
    values = {}
    for name, (rows, known, other, what) in break_even.contests(machines, query.SIZES[query.RANKS]).items():
        values[name] = break_even.prose(break_even.after(rows, known, other), what)
    return values
