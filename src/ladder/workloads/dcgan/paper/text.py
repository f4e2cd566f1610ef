"""Functions of this chapter's text in addition to those of every chapter."""

import contextlib

from ladder.report import ratios
from ladder.report.telling import amortisation
from ladder.report.telling.chapter_study import NotMeasured, require_measured
from ladder.store.study import median_time, values
from ladder.workloads.dcgan import cost, layout
from ladder.workloads.dcgan.paper import earlier, lines, tables

PICTURE_SIDE, FILTER_SIDE, WIDTHS = layout.PICTURE_SIDE, layout.FILTER_SIDE, layout.widths(layout.CHANNELS)
FLOPS = cost(lines.FULL_SIZE | {"seed": 1}).flops / lines.IMAGES  # of a picture
WITH_ZEROS = 2 * layout.LATENT * layout.BASE_SIDE**2 * layout.CHANNELS  # FLOPs of a picture with inserted zeros
WITH_ZEROS += 2 * sum((2 * h * FILTER_SIDE) ** 2 * c * k for h, c, k in layout.layers(layout.CHANNELS))


def im2col_time_over(study, method):
    """The time of all layers but the last by im2col products, zeros included, over that by another method."""
    rows = [[tables.method_rows(study, name, h) for h in tables.HEIGHTS[:-1]] for name in (tables.IM2COL, method)]
    im2col, other = (sum(require_measured(median_time(layer)) for layer in layers) for layers in rows)
    return ratios.short(im2col / other)


def largest_gpu_count(study):
    """The largest number of GPUs, if above two."""
    count = max(values(study.frame("several GPUs"), "gpus"), default=0)
    return require_measured(count if count > 2 else None)


def efficiency_on_gpus(study, line, source, count, weak=False):
    """The parallel efficiency on `count` GPUs for all pictures or, in weak scaling, for as many on each GPU."""
    sides = (lines.gpu_run(line, source, number, (number if weak else 1) * lines.IMAGES) for number in (1, count))
    return ratios.efficiency(study.ratio(*sides), 1 if weak else count)


def pay_off(study, line, count, with_start=False):
    """The measured number of pictures from which `count` GPUs are faster than half as many, as a predicate."""
    points = []
    for size in earlier.IMAGE_COUNTS:
        sides = [lines.gpu_run(line, "ranks", number, size) for number in (count, count // 2)]
        with contextlib.suppress(NotMeasured):
            points.append((size, study.ratio(*(map(lines.cold_start, sides) if with_start else sides))))
    return amortisation.crossing_text(
        points,
        "pay off from {} pictures on",
        "pay off at every measured number of pictures, from {first} to {last}",
        "pay off at no measured number of pictures, from {first} to {last}",
        "are not significantly faster at any measured number of pictures, from {first} to {last}",
    )
