"""The claims about the generator, of the earlier study and our own."""

from ladder.report.telling.claims import floor_claim
from ladder.report.telling.lines import Cause, Claim, equals, select
from ladder.store.study import median_time
from ladder.workloads.dcgan.paper import earlier
from ladder.workloads.dcgan.paper.lines import cold_start, gpu_run

UPSAMPLING = 4  # a stride of two along both axes inserts three zeros for each pixel


def best_gpu_count_claim(images):
    """The claim that the study's best number of GPUs in a node for so many images beats another, in cold calls."""
    slower, faster = (2, 1) if images <= earlier.ONE_GPU_MAX else (1, 2) if images <= earlier.TWO_GPUS_MAX else (2, 4)
    sides = [gpu_run("ranks-then", "ranks", count, images) for count in (slower, faster)]
    words = f"{images} pictures, cold: {faster} over {slower} GPUs"
    cause = Cause("steady:", *sides)
    return Claim(f"gpus/{images}", words, *map(cold_start, sides), needs="equal starts", cause=cause, place="3")


def hidden_claim(math, line, kernels, words):
    """The claim that a call takes no longer than its kernels or its copies, whichever are slower."""
    link = select(kernels).phase("to host")

    def ratio(study):
        return study.ratio(line, max(kernels, link, key=lambda side: median_time(study.rows(side))))

    text, cause = f"`home` as fast as its slower part, {words}", Cause("time link/kernels", link, kernels)
    return Claim(f"home/{math}", text, max=1, needs="the call, kernels and link", cause=cause, ratio=ratio)


def study_call(memory, copies):
    """A call by the kernels of the earlier study."""
    return select("staged", "staged", memory=memory, copies=copies)


def our_call(memory, copies):
    """A call by our kernels."""
    return select("copied", "gpu", memory=memory, copies=copies)


SPLIT_2, SPLIT_3, SPLIT_4 = (select("split", split=first) for first in (2, 3, 4))  # the first layers are products
LAST_LAYER = SPLIT_4.phase("layer 4"), SPLIT_3.phase("layer 4")
ONE_IMAGE, PAGEABLE, PINNED = select("columns", batch=1), our_call("pageable", "after"), our_call("pinned", "after")
EARLIER_HIDDEN, EARLIER_UNSTAGED = study_call("staged", "hidden"), study_call("pinned", "hidden")
OUR_HIDDEN, OUR_UNSTAGED = our_call("staged", "hidden"), our_call("pinned", "hidden")
LAST_LAYER_CAUSE = Cause("the last layer", *LAST_LAYER)
COPIES_CAUSE = Cause("copies after each batch:", study_call("staged", "after"), EARLIER_HIDDEN)
KERNELS_CAUSE = Cause("kernels faster:", "columns", "implicit")
STEADY_CALLS, TWO_THREADS = [gpu_run("ranks", "ranks", count) for count in (1, 2)], gpu_run("host-threads", "ranks", 2)
COPY, OUR_COPY = "The host's copy out of the buffer costs nothing", "The host's copy costs nothing, our kernels"
NEEDS_BATCHES, NEEDS_SPLITS, NEEDS_MEMORIES = ({"needs": f"both {name}"} for name in ("batches", "splits", "memories"))
EARLIER_CLAIMS = [
    Claim("parity", "Loops at the right parity", "naive", "gpu-parity", **equals(earlier.PARITY_GAIN), place="2.2.1"),
    Claim("registers", "Products with an operand in a register", "tiles", "columns", place="2.3.2"),
    Claim("batch", f"Batches of {earlier.BATCH} images over one", ONE_IMAGE, "columns", **NEEDS_BATCHES, place="2.3.3"),
    Claim("two", "3 + 1 over 2 + 2, 16 images", SPLIT_2, SPLIT_3, **NEEDS_SPLITS, place="2.4"),
    Claim("four", "3 + 1 over 4 + 0, 16 images", SPLIT_4, SPLIT_3, cause=LAST_LAYER_CAUSE, **NEEDS_SPLITS, place="2.4"),
    Claim("last", "Last layer: direct over a product", *LAST_LAYER, **NEEDS_SPLITS, place="2.4"),
    Claim("pinned", "Pinned over pageable memory", PAGEABLE, PINNED, **NEEDS_MEMORIES, place="2.5.1"),
    Claim("hidden", COPY, EARLIER_HIDDEN, EARLIER_UNSTAGED, cause=COPIES_CAUSE, max=1, **NEEDS_MEMORIES, place="2.5.2"),
    *map(best_gpu_count_claim, earlier.IMAGE_COUNTS),
]
OUR_CLAIMS = [
    # The branch skips the zeros, but every tap executes it; one tap in UPSAMPLING meets a pixel.
    Claim("host-parity", "`parity` over `loops`, one thread", "loops", "parity", UPSAMPLING, cause="vectors too"),
    Claim("host-peer", "`tuned` over PyTorch, all threads", "pytorch", "tuned", needs="both"),
    Claim("host-peer/compiled", "`tuned` over PyTorch, compiled", "pytorch-compiled", "tuned", needs="both"),
    # One element in UPSAMPLING of the im2col matrix is a pixel.
    Claim("implicit", "Implicit products over im2col", "columns", "implicit", UPSAMPLING, cause="no zeros"),
    floor_claim("ceiling", "`window` at the model's time", "window", needs="the rung"),
    Claim("half", "Tensor cores over `window`", "window", "tma"),
    hidden_claim("float32", "home", "window", "float32"),
    hidden_claim("float16", "home-tma", "tma", "half"),
    Claim("staged", OUR_COPY, OUR_HIDDEN, OUR_UNSTAGED, cause=KERNELS_CAUSE, max=1, **NEEDS_MEMORIES),
    # Each GPU draws half of the pictures.
    Claim("gpus", "Two GPUs over one, our kernels, steady", *STEADY_CALLS, 2, 2, needs="two GPUs"),
    Claim("ranks", "Threads as fast as ranks, two GPUs", STEADY_CALLS[1], TWO_THREADS, max=1, needs="both on two GPUs"),
    Claim("peer/home", "`home` over PyTorch, float32", "peer-home", "home-graph", needs="both"),
    Claim("peer/home-tma-tf32", "`home` over PyTorch, TF32", "peer-home-tf32", "home-tma-tf32", needs="both"),
]
CLAIMS = {"earlier": EARLIER_CLAIMS, "own": OUR_CLAIMS}
