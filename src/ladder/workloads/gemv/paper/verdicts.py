"""What is claimed of matrix-vector products, by the earlier study and by our rungs, and what the measurements say."""

from ladder.report import ratios, study
from ladder.report.latex import code, digits, percent
from ladder.report.verdict_table import Claim
from ladder.statistics.claims import decide
from ladder.workloads.gemv.paper import model, query, rungs

FAR = 2  # times as long, for "far longer"
NEAR = 1.1  # times as long as the bandwidth allows, for "near"
EQUAL = 0.05  # the margin of a claim of equality
CARDS = {2: 1.8, 4: 3.6}  # what so many are claimed to gain over one
NUMERALS = {2: "Two", 4: "Four"}


@study.once
def verdicts(found):
    """The claims of the earlier study and those behind our rungs, with their answers."""
    machines = query.chosen(found)
    return {"earlier": of_the_earlier_study(machines), "rungs": of_the_rungs(machines)}


def of_the_earlier_study(machines):
    """What the earlier study reports, and what its techniques are good for."""
    host = machines.host
    return [
        over("openmp", "Threads speed up a product", machines, "serial", "openmp"),
        over("dynamic", f"A {code('dynamic')} schedule over {code('openmp')}", machines, "openmp", "dynamic"),
        bound(machines),
        longer(host),
        travelling(host),
        staying(host),
        hybrid(machines),
        nodes(host),
        over("coalesced", f"{code('cuda_coalesced')} over {code('cuda_naive')}", machines, "naive", "coalesced"),
        over("shared", f"{code('cuda_shared')} over {code('cuda_naive')}", machines, "naive", "shared"),
        over("cublas", f"{code('cublas')} over {code('cuda_coalesced')}", machines, "coalesced", "cublas"),
        cards_over_ranks(machines),
        over("card", "A card over all threads", machines, "openmp", "cublas"),
    ]


def of_the_rungs(machines):
    """What our rungs claim."""
    card = machines.card
    return [
        near("memory", f"{code('openmp_bound')} near the bandwidth", machines, "spread"),
        near("warp", f"{code('cuda_warp')} near the bandwidth", machines, "warp"),
        equal(machines),
        on_another(card, "small", f"{code('cuda_warp')} over {code('cublas')}, small matrix", query.SMALL),
        on_another(card, "long", f"{code('cuda_warp')} over {code('cublas')}, few long rows", query.LONG),
        over("nccl", f"{code('nccl_cublas')} over {code('mpi_cublas')}, sent", machines, "mpi-ship", "nccl-ship"),
        near("link", f"{code('nccl_cublas')} near the link's rate", machines, "nccl-ship"),
        pieces(machines.cards),
        graphs(machines.widest),
        *(several(machines.widest, count, claimed) for count, claimed in CARDS.items()),
    ]


def times(value):
    """A ratio as text."""
    return ratios.times(digits(value, 2))


def said(what, ratio):
    """An ablation as a cause, or None where it wasn't measured."""
    return f"{what}: {times(ratio.value)}" if ratio else None


def between(machines, slower, faster):
    """The time of a gigabyte by one line of the ladder over that by another."""
    return ratios.of(*(rungs.rows(key, machines) for key in (slower, faster)))


def over(key, text, machines, slower, faster):
    """The claim that one line is faster than another."""
    return Claim(key, text, "both rungs", None, decide(between(machines, slower, faster), 1))


def bound(machines):
    """Where no memory is far, what is measured is binding alone: the rest of the claim isn't tested."""
    host, now, needs = machines.host, between(machines, "openmp", "spread"), "both rungs"
    if binding_alone(machines):
        now, needs = None, "several memory nodes"
    close = rungs.changed("spread", host.threads, binding="close")
    cause = said("spread over close", ratios.of(close, rungs.LINES["spread"].line.rows(host.threads)))
    text = "Threads bound, rows first touched"
    return Claim("bound", text, needs, cause, decide(now, 1))


def binding_alone(machines):
    """What binding gains without first touch, for which no memory is far; None where some is."""
    return between(machines, "openmp", "spread") if machines.host.has_one_memory else None


def of_ranks(machine, key, **tuning):
    """The rows of a line of ranks on the host; none where it has but one rank."""
    rows = rungs.changed(key, machine.ranks, **tuning)
    return rows if len(rows) and (tuning or rows["ranks"].iloc[0] > 1) else study.NO_ROWS


def longer(host):
    rows = of_ranks(host, "ship")
    spent = query.communication(rows, host.phases) if len(rows) else None
    fewest = query.communication(of_ranks(host, "ship", ranks=2), host.phases)
    cause = said("on two ranks", fewest)
    text = "Communication far longer than computation"
    return Claim("communication", text, "the phases", cause, decide(spent, FAR))


def travelling(host):
    now = ratios.of(of_ranks(host, "ship"), of_ranks(host, "ship", ranks=1))
    spent = query.times(of_ranks(host, "ship"), host.phases)
    cause = f"{code('scatter')}: {percent(spent['scatter'] / sum(spent.values()), 2)}" if "scatter" in spent else None
    text = "Ranks lose where the matrix travels"
    return Claim("travelling", text, "one rank and several", cause, decide(now, 1))


def staying(host):
    now = ratios.of(of_ranks(host, "resident", ranks=1), of_ranks(host, "resident"))
    shared = ratios.of(rungs.changed("openmp", host.ranks), of_ranks(host, "resident"))
    text = "Ranks gain where the matrix stays"
    return Claim("staying", text, "one rank and several", said("over all threads", shared), decide(now, 1))


def hybrid(machines):
    cause = said("where the matrix stays", between(machines, "resident", "hybrid"))
    text = f"{code('mpi_openmp')} over {code('mpi')}, sent"
    return Claim("hybrid", text, "both rungs", cause, decide(between(machines, "ship", "hybrid-ship"), 1))


def nodes(host):
    """Ranks of one node are no answer."""
    rows = host.ranks[host.ranks["nodes"] > 1] if "nodes" in host.ranks else study.NO_ROWS
    now = ratios.of(of_ranks(host, "resident", ranks=1), rungs.changed("resident", rows) if len(rows) else rows)
    return Claim("nodes", "Ranks gain by several nodes", "several nodes", None, decide(now, 1))


def cards_over_ranks(machines):
    """Both have the matrix sent to them, and the same one."""
    now = ratios.of(of_ranks(machines.host, "ship"), rungs.changed("mpi-ship", machines.cards.cards))
    cause = said(
        "by NCCL", ratios.of(of_ranks(machines.host, "ship"), rungs.changed("nccl-ship", machines.cards.cards))
    )
    text = "Several cards over ranks of the host, sent"
    return Claim("cards-over-ranks", text, "both", cause, decide(now, 1))


def over_floor(rows, rates):
    """The time of a gigabyte over that which the bandwidth allows, which is known exactly; None without one."""
    least = model.seconds(rows.iloc[0], rates, query.GIGABYTE) if len(rows) else None
    return ratios.over(rows, least)


def near(key, text, machines, line):
    now = over_floor(rungs.rows(line, machines), model.of_study(rungs.of(line, machines).found))
    cause = f"{percent(1 / now.value, 2)} of it" if now else None
    return Claim(key, text, "the rung and ceilings", cause, decide(now, 0, NEAR, 0))


def equal(machines):
    text = f"{code('cuda_warp')} as fast as {code('cublas')}"
    now = between(machines, "cublas", "warp")
    return Claim("equal", text, "both rungs", None, decide(now, 1, 1, EQUAL))


def on_another(card, key, text, sizes):
    calls = card.calls(query.CARD, **sizes)
    now = ratios.of(*(rungs.changed(name, calls) for name in ("cublas", "warp")))
    return Claim(key, text, "both rungs", None, decide(now, 1))


def pieces(machine):
    sent, kept = (
        ratios.of(*(rungs.changed(key, machine.cards, chunks=count, **more) for count in (1, 4)))
        for key, more in (("nccl-ship", {}), ("nccl", {}))
    )
    text = "Sent in four pieces over one"
    cause = said("where it stays", kept)
    return Claim("pieces", text, "both numbers of pieces", cause, decide(sent, 1))


def graphs(machine):
    now = ratios.of(*(rungs.changed(key, machine.large) for key in ("nccl", "graph")))
    text = f"A graph over launches, {machine.most_cards} cards" if machine.most_cards else "A graph over launches"
    return Claim("graph", text, "both", None, decide(now, 1))


def several(machine, count, claimed):
    now, eager = (
        ratios.of(*(rungs.changed(key, machine.large, ranks=ranks) for ranks in (1, count)))
        for key in ("graph", "nccl")
    )
    text = f"{NUMERALS[count]} cards over one, as a graph"
    cause = said("without a graph", eager)
    return Claim(f"cards/{count}", text, f"{count} cards", cause, decide(now, claimed))
