"""Update the parts of the README about measurements: its results, table of ladders and picture (`make readme`).

Results come from `results/published/`, ladders from the workloads. The picture is a figure of the study in fewer
colours; its metadata have a digest of the published rows that it shows. A test fails if one of the parts is outdated.
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

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PUBLISHED = ROOT / "results/published"
FIGURE = "mlp_waterfall"
PICTURE = ROOT / "docs/waterfall.png"
COLOURS = 256
DIGEST = "published rows"  # the key of the digest in the picture's PNG metadata
BACKPROP = "layers=784-56-28-10,images=60000,epochs={},rate=1.6666667e-05,momentum=0.8,scale=0.3,dtype=float32,\
source=mnist,seed=1,cache=cold,{}"
DESCENT = "n=512,kappa=100.0,iterations=100,tolerance=0.0,algorithm=steepest,start=worst,scaling=none,dtype=float32,\
seed=1,cache=warm"
DCGAN = "images=5248,channels=512,weights=random,pictures=float32,dtype=float32,seed=1,cache=warm,{}"


@dataclass(frozen=True)
class Result:
    """A row of the README's results: what was timed on which hardware, and two cases.

    A case is (description, experiment, variant, slug); `machine` is the label of a published machine.
    """

    what: str
    where: str
    machine: str
    before: tuple[str, str, str, str]
    after: tuple[str, str, str, str]


RESULTS = [
    Result(
        "An epoch of back-propagation over MNIST's 60 000 images",
        "one thread of an AMD EPYC",
        "amd-epyc-2c",
        ("C loops along rows, `-O2`", "backprop_ladder", "contiguous", BACKPROP.format(2, "flags=O2")),
        (
            "blocked for caches and registers, native vectors",
            "backprop_ladder",
            "tuned",
            BACKPROP.format(2, "threads=1"),
        ),
    ),
    Result(
        "100 iterations of steepest descent, n = 512",
        "one H200",
        "nvidia-h200",
        ("fused kernels in a CUDA graph", "descent_ladder", "cuda_fused", f"{DESCENT},graph=on"),
        ("one persistent kernel", "descent_ladder", "cuda_persistent", DESCENT),
    ),
    Result(
        "5248 images from a DCGAN's generator, TF32, copied to the host",
        "one H200",
        "nvidia-h200",
        ("PyTorch, compiled", "dcgan_home", "pytorch_home", DCGAN.format("batch=656,compiled=on,math=tf32,turned=on")),
        (
            "our kernels on tensor cores, copies overlapped",
            "dcgan_home",
            "home",
            DCGAN.format(
                "batch=528,batches=tapered,first=cuda_implicit_tma,gpus=1,graph=on,last=cuda_window_mma,"
                "math=tf32,streams=1"
            ),
        ),
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
COLUMNS = {"CPU": ["host"], "GPU": ["cuda"], "several GPUs, or MPI ranks": ["offload", "mpi", "mpi_cuda"]}


def published(machine, experiments):
    """The rows of a published machine's samples in some experiments, as dictionaries of texts."""
    lines = gzip.decompress((PUBLISHED / machine / "samples.csv.gz").read_bytes()).decode().splitlines(keepends=True)
    prefixes = tuple(f"{machine},{name}," for name in experiments)  # of the rows: the first two columns
    return csv.DictReader(io.StringIO("".join([lines[0], *(line for line in lines[1:] if line.startswith(prefixes))])))


def processes(machine, experiment, variant, slug):
    """Seconds of every process of a case, as lists. Raises LookupError if the case isn't published."""
    seconds = {}
    for row in published(machine, [experiment]):
        if (row["variant"], row["case"], row["phase"]) == (variant, slug, "total"):
            seconds.setdefault(row["process"], []).append(float(row["seconds"]))
    if not seconds:
        raise LookupError(f"{variant}/{slug} of {experiment} is not published.")
    return list(seconds.values())


def time(seconds):
    """A time in s, ms or µs, with three digits."""
    scale, unit = next((pair for pair in ((1, "s"), (1e3, "ms")) if seconds * pair[0] >= 1), (1e6, "µs"))
    return f"{seconds * scale:#.3g}".rstrip(".") + f" {unit}"


def results():
    """The table of results."""
    lines = ["| what was timed | before | after | speed-up |", "| --- | --- | --- | --- |"]
    for result in RESULTS:
        sides = result.before, result.after
        before, after = (processes(result.machine, *side[1:]) for side in sides)
        medians = map(quotients.median_time, (before, after))
        cells = [f"{side[0]}: {time(median)}" for side, median in zip(sides, medians, strict=True)]
        ratio = quotients.quotient(before, after)
        gain = f"**{ratio.value:.3g} ×** [{ratio.low:.3g}, {ratio.high:.3g}]"
        lines.append(f"| {result.what}, {result.where} | {' | '.join(cells)} | {gain} |")
    return "\n".join(lines)


def ladders():
    """The table of ladders: the rungs of every system by their device, and its peers."""
    lines = [f"| system | {' | '.join(COLUMNS)} | peers |", "| --- " * (len(COLUMNS) + 2) + "|"]
    for workload, what in SYSTEMS.items():
        variants = {variant: workloads.constants(workload, variant) for variant in workloads.rungs(workload)}
        rungs = {variant: constants["DEVICE"] for variant, constants in variants.items() if not constants.get("PEER")}
        cells = [[name for name, device in rungs.items() if device in devices] for devices in COLUMNS.values()]
        cells.append([name for name in variants if name not in rungs])
        text = " | ".join(", ".join(f"`{name}`" for name in cell) or "–" for cell in cells)
        lines.append(f"| **{workload}**: {what} | {text} |")
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
    """A digest of the published rows that the picture shows, without their empty cells."""
    experiments = figures.constants(FIGURE)["EXPERIMENTS"]
    sha256 = hashlib.sha256()
    for folder in sorted(path.parent for path in PUBLISHED.glob("*/samples.csv.gz")):
        for row in published(folder.name, experiments):
            sha256.update(repr(sorted((key, value) for key, value in row.items() if value)).encode())
    return sha256.hexdigest()[:16]


def draw(source):
    """Write the picture from the figure's PNG."""
    from PIL import Image, PngImagePlugin

    text = PngImagePlugin.PngInfo()
    text.add_text(DIGEST, digest())
    with Image.open(source) as image:
        quantized = image.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
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
