"""Update the parts of the README about measurements: its results, table of ladders and picture (`make readme`).

Results come from `results/published/`, ladders from the workloads. The picture is a figure of the study in fewer
colours; its metadata have a digest of the published rows of its experiments. A test fails if one of the parts is
outdated.
"""

import argparse
import csv
import gzip
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

from ladder.catalogue import workloads
from ladder.report import figures
from ladder.statistics import quotients
from ladder.statistics.campaigns import campaign_ratio, campaigns_that_count, ratio_over_campaigns
from ladder.store import machine_families

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PUBLISHED = ROOT / "results/published"
FIGURE = "mlp_waterfall"
PICTURE = ROOT / "docs/waterfall.png"
COLOUR_COUNT = 256
DIGEST = "published rows"  # the key of the digest in the picture's PNG metadata
EPOCH_SLUG = "layers=784-56-28-10,images=10000,epochs=1,rate=0.0001,momentum=0.8,scale=0.3,dtype=float32,source=mnist,\
seed=1,cache=cold,{}"
DESCENT_SLUG = (
    "n=512,kappa=100.0,iterations=100,tolerance=0.0,algorithm=steepest,start=worst,scaling=none,dtype=float32,\
seed=1,cache=warm"
)
# The machine and the experiment of the trainings whose accuracy is stated.
ACCURACY_SOURCE = ("amd-epyc-2c", "mlp_accuracy")
NOTES_TEMPLATE = (
    "\nTimes are medians over processes, measured in turns; speed-ups have 99 % intervals. "
    "A network {layers} recognises {accuracy} of MNIST's test images after {epochs} epochs.\n"
    "All results, and verdicts on earlier studies' claims: "
    "[a page](docs/index.html) (clone, then open it), [the paper](docs/paper.pdf)."
)
BATCH_SLUG = (
    "layers=784-1000-1000-1000-10,activation=relu,images=100,batch=100,epochs=1,rate=0.1,dtype=float64,source=mnist,\
seed=1,cache=cold,graph=on,product={}"
)


@dataclass(frozen=True)
class Result:
    """A row of the README's results: what was timed on which hardware, and two cases.

    A case is (description, variant, slug); `machine` is the label of a machine whose campaigns are published.
    """

    work: str
    hardware: str
    machine: str
    experiment: str
    before: tuple[str, str, str]
    after: tuple[str, str, str]


RESULTS = [
    Result(
        "An epoch of back-propagation over 10 000 images of MNIST",
        "one thread of an AMD EPYC with Zen 5 cores",
        "amd-epyc-zen5-2c",
        "backprop_steps",
        ("a program like the study's untuned one, `-O2`", "before", EPOCH_SLUG.format("flags=O2")),
        ("blocked for caches and registers, native vectors", "tuned", EPOCH_SLUG.format("threads=1")),
    ),
    Result(
        "100 iterations of steepest descent, n = 512",
        "one H200",
        "nvidia-h200-x2",
        "descent_ladder",
        ("fused kernels in a CUDA graph", "cuda_fused", f"{DESCENT_SLUG},graph=on"),
        ("one persistent kernel", "cuda_persistent", DESCENT_SLUG),
    ),
    Result(
        "A training batch of 100 images, three hidden layers of 1000 units, float64",
        "one H200",
        "nvidia-h200-x2",
        "mlp_deep",
        ("one thread per element of a product", "cuda", BATCH_SLUG.format("cuda_naive")),
        ("products on tensor cores", "cuda", BATCH_SLUG.format("cuda_mma")),
    ),
]
# The systems of the table of ladders, in the paper's order, with what each computes.
SYSTEMS = {
    "gemm": "matrix products",
    "mlp": "training of a perceptron in batches, on products of `gemm`",
    "gemv": "matrix-vector products",
    "backprop": "back-propagation, one loop at a time",
    "descent": "steepest descent and conjugate gradients",
    "tconv": "transposed convolutions",
    "dcgan": "a generator of images, on layers of `tconv`",
}
COLUMNS = {"CPU": ["host"], "GPU": ["cuda"], "GPU with copies, MPI ranks, several GPUs": ["offload", "mpi", "mpi_cuda"]}


def published_rows(folder, experiments, table="samples"):
    """The rows of a published folder's table in some experiments, as dictionaries of texts."""
    lines = gzip.decompress((folder / f"{table}.csv.gz").read_bytes()).decode().splitlines(keepends=True)
    names = set(experiments)  # the second column
    return csv.DictReader(
        io.StringIO("".join([lines[0], *(line for line in lines[1:] if line.split(",")[1] in names)]))
    )


def processes(folder, experiment, *case):
    """Seconds of every process of a (variant, slug) in a published folder, as lists; none if it isn't published."""
    seconds = {}
    for row in published_rows(folder, [experiment]):
        if (row["variant"], row["case"], row["phase"]) == (*case, "total"):
            seconds.setdefault(row["process"], []).append(float(row["seconds"]))
    return list(seconds.values())


def campaign_folders(machine="*"):
    """The folders of a machine's published campaigns, by default of all machines."""
    return PUBLISHED.glob(f"campaigns/{machine}_*")


def pooled_machines(machine):
    """The machines whose campaigns the paper pools with this one's, for cases on GPUs."""
    families = {name: label for name, (label, _) in machine_families.labels([*campaign_folders()]).items()}
    label = families.get(machine, machine)
    return [label, *(name for name, other in families.items() if other == label)]


def campaigns_of(result):
    """The times of both cases of a result by campaign, [[processes, processes]].

    Of the campaigns with both cases, these are the ones that count. Raises LookupError if none has both.
    """
    folders = sorted(folder for name in pooled_machines(result.machine) for folder in campaign_folders(name))
    times = [
        [processes(folder, result.experiment, *case[1:]) for folder in folders]
        for case in (result.before, result.after)
    ]
    measured = {folder.name: pair for folder, *pair in zip(folders, *times, strict=True) if all(pair)}
    if not measured:
        raise LookupError(f"No published campaign of {result.machine} has both cases of {result.experiment}.")
    counts = {name: min(map(len, pair)) for name, pair in measured.items()}
    return [measured[name] for name in campaigns_that_count(counts)]


def time(seconds):
    """A time in s, ms or µs, with three digits."""
    scale, unit = next((pair for pair in ((1, "s"), (1e3, "ms")) if seconds * pair[0] >= 1), (1e6, "µs"))
    return f"{digits(seconds * scale)} {unit}"


def digits(value):
    """A number with three digits."""
    return f"{value:#.3g}".rstrip(".")


def results():
    """The table of results."""
    lines = ["| what was timed | before | after | speed-up |", "| --- | --- | --- | --- |"]
    for result in RESULTS:
        measured = campaigns_of(result)
        pooled = [[process for campaign in case for process in campaign] for case in zip(*measured, strict=True)]
        medians = [time(quotients.median_time(case)) for case in pooled]
        cases = (result.before, result.after)
        cells = [f"{words}: {median}" for (words, *_), median in zip(cases, medians, strict=True)]
        ratio = ratio_over_campaigns([campaign_ratio(*pair) for pair in measured])
        value, low, high = map(digits, (ratio.value, ratio.low, ratio.high))
        lines.append(f"| {result.work}, {result.hardware} | {' | '.join(cells)} | **{value} ×** [{low}, {high}] |")
    return "\n".join([*lines, notes()])


def notes():
    """What holds for all results, and the lowest accuracy at the end of the trainings of ACCURACY_SOURCE."""
    machine, experiment = ACCURACY_SOURCE
    rows = [row for row in published_rows(PUBLISHED / machine, [experiment], "curves") if row["epoch"] == row["epochs"]]
    lowest = min(rows, key=lambda row: float(row["accuracy"]))
    return NOTES_TEMPLATE.format(**lowest | {"accuracy": f"{100 * float(lowest['accuracy']):.2f} %"})


def ladders():
    """The table of ladders: the rungs of every system by their device, and its peers."""
    lines = [f"| system | {' | '.join(COLUMNS)} | peers |", "| --- " * (len(COLUMNS) + 2) + "|"]
    for workload, problem in SYSTEMS.items():
        variants = {variant: workloads.constants(workload, variant) for variant in workloads.rungs(workload)}
        rungs = {variant: constants["DEVICE"] for variant, constants in variants.items() if not constants.get("PEER")}
        cells = [[name for name, device in rungs.items() if device in devices] for devices in COLUMNS.values()]
        cells.append([name for name in variants if name not in rungs])
        text = " | ".join(", ".join(f"`{name}`" for name in cell) or "–" for cell in cells)
        lines.append(f"| **{workload}**: {problem} | {text} |")
    return "\n".join(lines)


BLOCKS = {"results": results, "ladders": ladders}


def update(text):
    """The README's text with its blocks rebuilt; a block is between `<!-- NAME: ... -->` and `<!-- end -->`."""
    for name, block in BLOCKS.items():
        head, begin, rest = text.partition(f"<!-- {name}: made by `make readme` -->\n")
        _, end, tail = rest.partition("<!-- end -->\n")
        if not (begin and end):
            raise LookupError(f"README.md has no block {name!r}.")
        text = head + begin + block() + "\n" + end + tail
    return text


def digest():
    """A digest of the published rows of the picture's experiments, without their empty cells."""
    experiments = figures.constants(FIGURE)["EXPERIMENTS"]
    sha256 = hashlib.sha256()
    for path in sorted(PUBLISHED.glob("**/samples.csv.gz")):
        for row in published_rows(path.parent, experiments):
            sha256.update(repr(sorted((key, value) for key, value in row.items() if value)).encode())
    return sha256.hexdigest()[:16]


def draw(source):
    """Write the picture from the figure's PNG."""
    from PIL import Image, PngImagePlugin

    text = PngImagePlugin.PngInfo()
    text.add_text(DIGEST, digest())
    with Image.open(source) as image:
        quantized = image.convert("RGB").quantize(COLOUR_COUNT, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        quantized.save(PICTURE, optimize=True, pnginfo=text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figure", nargs="?", help="the PNG of the figure that becomes the picture")
    options = parser.parse_args()
    if options.figure:
        draw(options.figure)
    README.write_text(update(README.read_text()))


if __name__ == "__main__":
    main()
