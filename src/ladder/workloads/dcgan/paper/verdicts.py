"""What is claimed of the generator, by the earlier study and by our rungs, and what the measurements say to it."""

from ladder.report import ratios
from ladder.report.latex import code, digits
from ladder.report.verdict_table import Claim
from ladder.statistics.claims import decide, quotient
from ladder.workloads.dcgan.paper import earlier, model, rungs, tables


def claims(host, card):
    """Every claim with its answer: those of the earlier study first."""
    return [*of_the_earlier_study(host, card), *of_the_rungs(host, card)]


def of_the_earlier_study(host, card):
    """What the earlier study reports."""
    return [
        card_parity(card),
        two_layers(card),
        three_layers(card),
        batching(card),
        hidden(card),
        pinned(card),
    ]


def of_the_rungs(host, card):
    """What our rungs claim."""
    return [
        host_parity(host),
        near_ceiling(card),
        *(against_peers(card, *one) for one in PEERS),
        *(all_hidden(card, math, words) for math, words in PRECISIONS.items()),
    ]


PEERS = (("home", "peer-home", "float32", 1 / 0.6), ("home-tf32", "peer-home-tf32", "TF32", 1 / 0.65))
PEERS += (("home-float16", "peer-home-float16", "half precision", 1 / 0.75),)
PRECISIONS = {"window": "float32", "tf32": "TF32", "float16": "half precision"}
HOME = {"window": "home", "tf32": "home-tf32", "float16": "home-float16"}


def then(value):
    """A claimed ratio."""
    return ratios.times(digits(value, 2))


def rows_of(found, key):
    """The rows of a line of the ladder."""
    return tables.one_case(rungs.line(key).rows(found.ladder))


def of_lines(found, one, other):
    """The time of a picture by one line over that by another."""
    return ratios.of(rows_of(found, one), rows_of(found, other))


def card_parity(card):
    now = of_lines(card, "naive", "card-parity")
    text = "Loops at the right parity are faster on a card"
    return Claim("parity", text, then(earlier.PARITY_GAIN), "both rungs", None, decide(now, earlier.PARITY_GAIN))


def three_layers(card):
    now, window = of_lines(card, "four", "three"), of_lines(card, "four", "window")
    cause = f"with a window for the last layer {ratios.latex(window)}" if window else None
    return Claim("split", "3 + 1 is the best split: over 4 + 0", "", "both splits", cause, decide(now, 1))


def two_layers(card):
    now = of_lines(card, "two", "three")
    cause = "the third layer is a product as well"
    return Claim("two", "3 + 1 is better than 2 + 2", "", "both splits", cause, decide(now, 1))


def batching(card):
    one, many = (tables.one_case(rungs.batches(batch).rows(card.ladder)) for batch in (1, earlier.BATCH))
    text = f"Batches of {earlier.BATCH} images are faster than one"
    return Claim("batch", text, "", "both batches", "a product fills the card", decide(ratios.of(one, many), 1))


def ways(card, one, other, math="float16"):
    """The time by one way home over that by another, each (memory, copies)."""
    return ratios.of(*(tables.one_case(rungs.home(*way, math).rows(card.ladder)) for way in (one, other)))


def hidden(card):
    now = ways(card, ("pinned", "after"), ("pinned", "hidden"))
    single = ways(card, ("pinned", "after"), ("pinned", "hidden"), "float32")
    cause = f"in float32 {ratios.latex(single)}" if single else None
    return Claim("hidden", "Hidden copies save time, half precision", "", "both forms", cause, decide(now, 1))


def pinned(card):
    now = ways(card, ("pageable", "hidden"), ("pinned", "hidden"))
    staged = ways(card, ("staged", "hidden"), ("pinned", "hidden"))
    cause = f"through a staging buffer {ratios.latex(staged)}" if staged else None
    text = "Pinned memory is faster than pageable, half precision"
    return Claim("pinned", text, "", "both memories", cause, decide(now, 1))


def host_parity(host):
    now = of_lines(host, "loops", "parity")
    text = f"{code('parity')} over {code('loops')}, one thread"
    return Claim("host-parity", text, then(3), "both rungs", "vectors of channels, no branch", decide(now, 3))


def near_ceiling(card):
    rows = rows_of(card, "window")
    least = model.floor(rows.iloc[0], model.rate_of_study(card.found, rows.iloc[0])) if len(rows) else None
    processes = [list(times["seconds"]) for _, times in rows.groupby("process")] if len(rows) else []
    now = quotient(processes, [[least]] * len(processes)) if least else None
    text = "The generator in float32 near its ceiling"
    cause = "all of it, projection and tanh too"
    return Claim("ceiling", text, then(1 / 0.85), "the rung and ceilings", cause, decide(now, 1, 1 / 0.85))


def against_peers(card, one, other, words, claimed):
    now = of_lines(card, other, one)
    text = f"{code('home')} over PyTorch, {words}"
    cause = "exact products, nothing written between"
    return Claim(f"peer/{one}", text, then(claimed), "both", cause, decide(now, claimed))


def all_hidden(card, key, words):
    now = of_lines(card, HOME[key], key)
    text = f"Copies home cost nothing, {words}"
    cause = "the link is as fast as the kernels" if key == "float16" else None
    return Claim(f"home/{key}", text, then(1), "both", cause, decide(now, 1, 1, 0.05))
