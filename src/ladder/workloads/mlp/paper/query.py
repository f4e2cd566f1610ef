"""What the chapter asks of a study: whose measurements, and which cases."""

from dataclasses import dataclass, field
from functools import cached_property

from ladder.report import ratios, study
from ladder.report.study import Study
from ladder.workloads.mlp.paper import earlier

THREADS, CARD, PEERS = "mlp_threads", "mlp_gpu", "mlp_peers"
PRODUCTS, SQUARE, SINGLE, LOOPS = "gemm_threads", "gemm_gpu_float64", "gemm_gpu_float32", "gemm_square"
BY_ROWS = "gemm_gpu_training_float64"
DTYPES = dict.fromkeys((THREADS, CARD, PEERS, PRODUCTS, SQUARE, BY_ROWS, LOOPS), "float64") | {SINGLE: "float32"}
# Of the claims: the network of the earlier study, the forward product of its larger layer, and one that fills a card.
NETWORK = {"layers": "784-300-10", "batch": 100}
LARGE = {"form": "nn", "m": 4096, "n": 4096, "k": 4096}
FORMS = ("nn", "tn", "nt")  # of the large product, that of most claims first
LARGER_BATCH = 1000  # images, beside the network's
SIZES = {
    THREADS: NETWORK | {"images": 2000},
    CARD: NETWORK | {"images": 60000},
    PEERS: NETWORK | {"images": 6000},
    PRODUCTS: {"form": "nn", "m": 1000, "n": 300, "k": 784},
    SQUARE: LARGE,
    SINGLE: LARGE,
    BY_ROWS: {"form": "nn", "n": 300, "k": 784},
    LOOPS: {"form": "nn", "m": 512, "n": 512, "k": 512},
}
KINDS = ("forward", "gradient", "delta")  # the first words of the phases of products
COPIES = ("to device", "to host")  # phases that are no part of an epoch
NEAR = 1.2  # times a call, or the other way: what phases may add up to and still be its parts


@dataclass(frozen=True)
class Machine:
    """The study about one machine: its cases of some sizes, by experiment those of the claims."""

    found: Study
    sizes: dict = field(default_factory=lambda: SIZES)

    def rows(self, experiment, **conditions):
        """The rows of samples of an experiment, timed calls and phases; `conditions` may name other sizes."""
        sizes = self.sizes[experiment] | {"dtype": DTYPES[experiment]}
        return self.found.rows("samples", experiment, **(sizes | conditions))

    def samples(self, experiment, **conditions):
        """The timed calls of an experiment."""
        return study.where(self.rows(experiment, **conditions), phase="total")

    @cached_property
    def training(self):
        """The trainings on the host's threads."""
        return self.samples(THREADS, device="host")

    @cached_property
    def card(self):
        """The trainings on the card."""
        return self.samples(CARD, device="cuda")

    @cached_property
    def several(self):
        """As many threads as the earlier study was best on or, where that wasn't measured, the most."""
        counts = study.values(self.training, "threads")
        return earlier.BEST if earlier.BEST in counts else max(counts, default=None)


def chosen(found):
    """The host and the card of the chapter, by `study.host_and_card`.

    Toy sizes decide nothing: without the full size it is about none.
    """
    there = [Machine(found.of(name)) for name in found.machines()]
    hosts, cards = [one for one in there if len(one.training)], [one for one in there if len(one.card)]
    return study.host_and_card(hosts, cards, Machine(found.of(None)))


def widest(found):
    """The machine that has trained on most threads."""
    there = [Machine(found.of(name)) for name in found.machines()]
    return max(there, key=lambda one: max(study.values(one.training, "threads"), default=0), default=None)


def shown(tables):
    """What figures show of the tables of experiments: host and card of the chapter.

    Without the full sizes they are those of the first machine with anything, at its largest sizes.
    """
    found = Study({name: one for name, one in tables.items() if len(one["samples"])}, None)
    host, card = chosen(found)
    if host.found.subject or card.found.subject or not found.machines():
        return host, card
    first = found.of(found.machines()[0])
    return (Machine(first, largest(first)),) * 2


def largest(found):
    """The sizes of the largest case of every experiment."""
    sizes = dict(SIZES)
    for experiment, named in SIZES.items():
        form = {"form": "nn"} if "form" in named else {}
        rows = study.one_size(found.samples(experiment, dtype=DTYPES[experiment], **form))
        sizes[experiment] = {name: rows[name].iloc[0] for name in named} if len(rows) else named
    return sizes


def of_batches(rows):
    """Timed epochs with the seconds of one of their batches."""
    return rows.assign(seconds=rows["seconds"] / batches(rows)) if len(rows) else rows


def batches(rows):
    """How many batches an epoch of one case or another has."""
    return -(-rows["images"] // rows["batch"])


def phases(machine, rows):
    """The rows of a case's phases, among them the copies to the card and back."""
    if rows.empty:
        return rows
    first = rows.iloc[0]
    own = machine.rows(first["experiment"], variant=first["variant"], case=first["case"])
    return own[own["phase"] != "total"]


def operations(machine, rows):
    """The median seconds of each operation of an epoch, {operation: seconds}; none where they don't add up to it."""
    own = phases(machine, rows)
    own = own[~own["phase"].isin(COPIES)] if len(own) else own
    if own.empty:
        return {}
    times = own.groupby("phase")["seconds"].median().to_dict()
    return times if 1 / NEAR < sum(times.values()) / study.middle(rows) < NEAR else {}


def products_over_the_rest(machine, rows):
    """The time of the products of a case over that of its other operations, as a ratio; None without a division."""
    if not operations(machine, rows):
        return None
    own = phases(machine, rows)
    own = own[~own["phase"].isin(COPIES)]
    inside = own["phase"].str.split(" ").str[0].isin(KINDS)
    return ratios.of_parts(own[inside], own[~inside])


def copied(machine, rows):
    """A case's rows, to each call the copies to the card and back of its process added; none where there are none."""
    own = phases(machine, rows)
    own = own[own["phase"].isin(COPIES)] if len(own) else own
    if own.empty:
        return study.NO_ROWS
    times = own.groupby(["process", "phase"])["seconds"].median().groupby("process").sum()
    return rows.assign(seconds=rows["seconds"] + rows["process"].map(times))
