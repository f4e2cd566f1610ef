"""What is claimed of the generator, by the earlier study and by our rungs, and what the measurements say to it."""

from ladder.report import ratios, study
from ladder.report.latex import code, digits
from ladder.report.verdict_table import Claim
from ladder.statistics.claims import decide, quotient
from ladder.workloads.dcgan.paper import earlier, model, query, rungs, tables


@study.once
def verdicts(found):
    """The claims of the earlier study and those of our rungs, with their answers."""
    host, card = query.chosen(found)
    two, four = (query.with_cards(found, count) for count in (2, 4))
    return {"earlier": of_the_earlier_study(card, two, four), "rungs": of_the_rungs(host, card, two)}


def of_the_earlier_study(card, two, four):
    """What the earlier study reports."""
    return [
        card_parity(card),
        two_layers(card),
        three_layers(card),
        in_registers(with_products(card.found)),
        batching(card),
        hidden(card),
        pinned(card),
        one_card(two),
        more_cards(two, 2, earlier.TWO_UP_TO),
        more_cards(four, 4, query.IMAGES),
    ]


def of_the_rungs(host, card, several):
    """What our rungs claim."""
    return [
        host_parity(host),
        host_peer(host),
        near_ceiling(card),
        *(against_peers(card, *one) for one in PEERS),
        *(all_hidden(card, math, words) for math, words in PRECISIONS.items()),
        shared_out(several),
        by_ranks(several),
    ]


PEERS = (("home", "peer-home", "float32", 1 / 0.6), ("home-brought-tf32", "peer-home-tf32", "TF32", 1 / 0.65))
PEERS += (("home-brought", "peer-home-float16", "half precision", 1 / 0.75),)
PRECISIONS = {"float32": "float32", "tf32": "TF32", "float16": "half"}
PRODUCTS = ("cuda_shared", "cuda_columns", "cuda_tiled")
HOME = {"float32": "home", "tf32": "home-brought-tf32", "float16": "home-brought"}


def times(value):
    """A ratio without its interval."""
    return ratios.times(digits(value, 2))


def rows_of(found, key):
    """The rows of a line of the ladder."""
    return tables.one_case(rungs.line(key).rows(found.ladder))


def of_lines(found, one, other):
    """The time of a picture by one line over that by another."""
    return ratios.of(rows_of(found, one), rows_of(found, other))


def card_parity(card):
    now = of_lines(card, "naive", "card-parity")
    text = "Loops at the right parity, card"
    return Claim("parity", text, "both rungs", None, decide(now, earlier.PARITY_GAIN))


def splits(card, one, other):
    """The time of a picture with so many layers as gathered products over that with others."""
    return ratios.of(*(tables.one_case(rungs.split(first).rows(card.splits)) for first in (one, other)))


def three_layers(card):
    now, implicit = splits(card, 4, 3), of_lines(card, "four", "three")
    cause = f"implicit {ratios.latex(implicit)}" if implicit else None
    return Claim("split", "A split of 3 + 1 over 4 + 0", "both splits", cause, decide(now, 1))


def two_layers(card):
    now = splits(card, 2, 3)
    cause = "a third product"
    return Claim("two", "A split of 3 + 1 over 2 + 2", "both splits", cause, decide(now, 1))


def with_products(found):
    """The study about the first machine with a product of one operand in a register."""
    return found.first_with(query.PRODUCTS, variant="cuda_columns")


def in_registers(found):
    rows = found.samples(query.PRODUCTS, **query.SQUARE)
    shared, columns, tiled = (study.where(rows, variant=name) for name in PRODUCTS)
    over_columns, both = (ratios.of_best(study.fastest(shared), study.by_case(one)) for one in (columns, tiled))
    cause = f"{code('cuda_tiled')} {ratios.latex(both)}" if both else None
    text = "One operand in a register over none"
    return Claim("registers", text, "both products", cause, decide(over_columns, 1))


def batching(card):
    one, many = (tables.one_case(rungs.batches(batch).rows(card.ladder)) for batch in (1, earlier.BATCH))
    text = f"Batches of {earlier.BATCH} images over one"
    return Claim("batch", text, "both batches", "a product fills the card", decide(ratios.of(one, many), 1))


def ways(card, one, other, math="float16"):
    """The time by one way home over that by another, each (memory, copies)."""
    return ratios.of(*(tables.one_case(rungs.home(*way, math).rows(card.ladder)) for way in (one, other)))


def hidden(card):
    now = ways(card, ("pinned", "after"), ("pinned", "hidden"))
    single = ways(card, ("pinned", "after"), ("pinned", "hidden"), "float32")
    cause = f"in float32 {ratios.latex(single)}" if single else None
    return Claim("hidden", "Hidden copies, half precision", "both forms", cause, decide(now, 1))


def pinned(card):
    now = ways(card, ("pageable", "hidden"), ("pinned", "hidden"))
    staged = ways(card, ("staged", "hidden"), ("pinned", "hidden"))
    cause = f"staged {ratios.latex(staged)}" if staged else None
    text = "Pinned over pageable, half precision"
    return Claim("pinned", text, "both memories", cause, decide(now, 1))


def begun(several, one, other, images):
    """The time of a process's start and first call on so many cards over that on others."""
    rows = [study.where(rungs.on_cards(count).rows(several.several), images=images) for count in (one, other)]
    times = [query.starts(own) for own in rows]
    return quotient(*times, study.cases(*rows)) if all(times) else None


def one_card(several):
    now = begun(several, 2, 1, earlier.ONE_UP_TO)
    text = f"One card to {earlier.ONE_UP_TO} pictures, with start"
    return Claim("one-card", text, "both, with their starts", "cards start in turn", decide(now, 1))


def more_cards(several, count, images):
    """`count` cards over half as many; the earlier study had so many in each of two nodes."""
    now = begun(several, count // 2, count, images)
    calls = called(several, count // 2, count, images)
    fewer, more = (earlier.CALLS[2 * each][images] for each in (count // 2, count))
    cause = f"then {times(fewer / more)}, call alone {ratios.latex(calls)}" if calls else None
    word = {2: "Two", 4: "Four"}[count]
    text = f"{word} cards at {images}, with start"
    return Claim(f"{word.lower()}-cards", text, "both, with their starts", cause, decide(now, 1))


def called(several, one, other, images, line=rungs.on_cards):
    """The time of a call on so many cards over that on others."""
    return ratios.of(*(study.where(line(count).rows(several.several), images=images) for count in (one, other)))


def shared_out(several):
    now, half = called(several, 1, 2, query.IMAGES), called(several, 1, 2, query.IMAGES, rungs.half_on_cards)
    cause = f"half precision {ratios.latex(half)}" if half else None
    text = f"Two cards over one, {query.IMAGES} pictures"
    return Claim("cards", text, "both numbers of cards", cause, decide(now, 1.8))


def by_ranks(several):
    rows = (rungs.on_cards(2).rows(several.several), rungs.on_ranks(2).rows(several.several))
    now = ratios.of(*(study.where(one, images=query.IMAGES) for one in rows))
    two = called(several, 1, 2, query.IMAGES, rungs.on_ranks)
    cause = f"over one rank {ratios.latex(two)}" if two else None
    text = "Ranks over threads, two cards"
    return Claim("ranks", text, "both on two cards", cause, decide(now, 1, 1, 0.05))


def host_parity(host):
    now = of_lines(host, "loops", "parity")
    text = f"{code('parity')} over {code('loops')}, one thread"
    return Claim("host-parity", text, "both rungs", "vectors, no branch", decide(now, 3))


def host_peer(host):
    now = of_lines(host, "pytorch", "tuned")
    text = f"{code('tuned')} over PyTorch, all threads"
    return Claim("host-peer", text, "both", "exact products", decide(now, 1))


def near_ceiling(card):
    rows = rows_of(card, "window")
    least = model.floor(rows.iloc[0], model.rate_of_study(card.found, rows.iloc[0])) if len(rows) else None
    now = ratios.over(rows, least)
    text = "Near the ceiling, float32"
    cause = "projection and tanh too"
    return Claim("ceiling", text, "the rung and ceilings", cause, decide(now, 0, 1 / 0.85))


def against_peers(card, one, other, words, claimed):
    now = of_lines(card, other, one)
    text = f"{code('home')} over PyTorch, {words}"
    cause = "exact and fused"
    return Claim(f"peer/{one}", text, "both", cause, decide(now, claimed))


def all_hidden(card, math, words):
    """The time of a call home over that of its kernels or of its link, whichever takes longer."""
    kernels = tables.one_case(rungs.at_once(math).rows(card.ladder))
    link = study.where(study.own_phases(kernels, card.phases), phase="to host")
    share = ratios.of(link, kernels)
    longer = max(link, kernels, key=study.middle) if share else link
    now = ratios.of(rows_of(card, HOME[math]), longer)
    cause = f"link over kernels {times(share.value)}" if share else None
    text = f"{code('home')} over kernels or link, {words}"
    return Claim(f"home/{math}", text, "the call, kernels and link", cause, decide(now, 1, 1, 0.05))
