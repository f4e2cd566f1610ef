"""What the chapter asks of a study: whose measurements, which cases, and the time of a picture."""

from dataclasses import dataclass
from functools import cached_property

from ladder.report import collect, study
from ladder.workloads.dcgan import layout

HOST, CARD, HOME = "dcgan_host", "dcgan_gpu", "dcgan_home"
LADDER = (HOST, CARD, HOME)
SPLITS, SCREEN = "dcgan_splits", "dcgan_home_uint8"
CARDS, RANKS, WEAK = "dcgan_cards", "dcgan_ranks", "dcgan_weak"
HALF, PAGEABLE, GRAPH = "dcgan_cards_half", "dcgan_cards_pageable", "dcgan_cards_graph"
LAYERS = ("tconv_gpu_large", "tconv_gpu_pictures")
# Where products of matrices are compared, far beyond the caches.
PRODUCTS, SQUARE = "gemm_gpu_float32", {"form": "nn", "m": 4096, "n": 4096, "k": 4096, "dtype": "float32"}
# Of the claims: the network of the earlier study; on a card, as many images as there at most.
SIZE = {"channels": 512, "weights": "random", "pictures": "float32", "dtype": "float32"}
IMAGES = 5248
SCREEN_SIZE = SIZE | {"pictures": "uint8", "images": IMAGES}
PARTS = ("projection", "layer 1", "layer 2", "layer 3", "layer 4", "epilogues")
NEAR = 1.2  # times a call, or the other way: what phases may add up to and still be its parts


@dataclass(frozen=True)
class Machine:
    """The study about one machine, with the frames that the chapter asks for, each made once."""

    found: study.Study

    @cached_property
    def ladder(self):
        """The timed calls of the full network, with the seconds of a picture."""
        rows = collect.concatenated([self.found.samples(one, **SIZE) for one in LADDER])
        return of_pictures(of_most(rows))

    @cached_property
    def screen(self):
        """The same of pictures for a screen."""
        return of_pictures(self.found.samples(SCREEN, **SCREEN_SIZE))

    @cached_property
    def phases(self):
        """Their phases, with the seconds of a picture."""
        return of_pictures(of_most(collect.concatenated([self.found.rows("samples", one, **SIZE) for one in LADDER])))

    @cached_property
    def splits(self):
        """The timed calls of the earlier study's splits, with the seconds of a picture."""
        return of_pictures(self.found.samples(SPLITS, **SIZE))

    @cached_property
    def layers(self):
        """The timed calls of the full network's layers, one by one, of the most images."""
        rows = collect.concatenated([self.found.samples(one, dtype="float32") for one in LAYERS])
        parts = [study.where(rows, h=h, c=c, k=k) for h, c, k in layout.layers(SIZE["channels"])]
        return of_most(collect.concatenated(parts))

    @cached_property
    def several(self):
        """The timed calls on one and more cards, with the seconds of a call."""
        experiments = CARDS, RANKS, WEAK, HALF, PAGEABLE, GRAPH
        return collect.concatenated([self.found.samples(one, **SIZE) for one in experiments])


def chosen(found):
    """The host and the card of the chapter: those of one machine if any has both at full size.

    Else each is of the first machine that has it. Toy sizes decide nothing: without the full size it is about none.
    """
    there = [Machine(found.of(name)) for name in found.machines()]
    hosts = [one for one in there if len(one.found.samples(HOST, **SIZE))]
    cards = [one for one in there if len(one.found.samples(CARD, **SIZE, images=IMAGES))]
    return study.host_and_card(hosts, cards, Machine(found.of(None)))


def shown(tables):
    """The names of the machines that figures show of the tables of experiments: host and card of the chapter.

    Without the full size it is the first machine with anything.
    """
    found = study.Study(tables, None)
    names = (one.found.subject for one in chosen(found))
    return list(dict.fromkeys(filter(None, names))) or found.machines()[:1]


def with_cards(found, count):
    """The first machine on which so many cards have drawn."""
    return Machine(found.first_with(CARDS, **SIZE, gpus=count))


def with_most_cards(found):
    """The first of the machines on which most cards have drawn by threads, and their number; 0 where none have."""
    there = [found.of(name) for name in found.machines()]
    counts = [max(study.values(one.samples(CARDS, **SIZE), "gpus"), default=0) for one in there]
    most = max(counts, default=0)
    return Machine(there[counts.index(most)] if most else found.of(None)), int(most)


def with_layers(found):
    """The first machine on which the full network's layers were measured one by one."""
    return Machine(found.first_with(*LAYERS, c=SIZE["channels"]))


def with_screen(found):
    """The first machine on which pictures for a screen were drawn."""
    return Machine(found.first_with(SCREEN, **SCREEN_SIZE))


def of_most(rows):
    """The rows of the most images on each device, so that sizes never mix."""
    if rows.empty:
        return rows
    on_host = rows["device"] == "host"
    parts = [part[part["images"] == part["images"].max()] for part in (rows[on_host], rows[~on_host]) if len(part)]
    return collect.concatenated(parts)


def of_pictures(rows):
    """Timed calls with the seconds of one of their pictures."""
    return rows.assign(seconds=rows["seconds"] / rows["images"]) if len(rows) else rows


def starts(rows):
    """Seconds of the cold start of each process, as lists; none where they weren't kept."""
    rows = study.one_case(rows)
    known = rows.dropna(subset="cold_start") if "cold_start" in rows else study.NO_ROWS
    return [[one] for one in known.groupby("process")["cold_start"].first()] if len(known) else []


def parts(rows, phases):
    """The median seconds of each part of a case's time, {part: seconds}; none where they don't add up to the call."""
    if rows.empty or phases.empty:
        return {}
    own = study.where(phases, variant=rows["variant"].iloc[0], case=rows["case"].iloc[0])
    own = own[own["phase"].isin(PARTS)]
    times = own.groupby(["process", "sample", "phase"])["seconds"].sum().groupby("phase").median()
    times = {part: times[part] for part in PARTS if part in times}
    return times if times and 1 / NEAR < sum(times.values()) / study.middle(rows) < NEAR else {}


def traces_of(traces, lines):
    """The first process's rows of each line on every machine that has some, {machine and title: rows}."""
    found = {}
    for name in study.ordered(set(traces["machine"])) if len(traces) else ():
        own = study.where(traces, machine=name, process=0)
        for title, line in lines.items():
            if len(rows := line.rows(own)):
                found[f"{name}: {title}"] = study.where(rows, case=min(rows["case"]))
    return found
