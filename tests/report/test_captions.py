"""Every number in a caption agrees with the code that draws the figure."""

import re

import pytest

from ladder.report import figures
from ladder.report.telling import chapter_study
from ladder.statistics import quotients
from ladder.workloads.backprop.paper import lines as backprop_lines
from ladder.workloads.backprop.paper import model as backprop_model
from ladder.workloads.dcgan.paper import splits
from ladder.workloads.dcgan.paper.lines import SPLIT_IMAGES
from ladder.workloads.gemv.paper import model as gemv_model
from ladder.workloads.mlp.paper import sample_digits

NUMBER_PATTERN = r"\d+(?: %)?|\b(?:two|twice|three|four|five|six|ten|sixteen|hundred|fifth|tenth|half)\b"
NUMBER_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 16: "sixteen", 100: "hundred"}
MULTIPLE_WORDS = {2: "twice"}
MEDIAN_LEVEL = "95 %"  # by `intervals.summary`
RATIO_LEVEL = f"{100 * quotients.LEVEL:.0f} %"
# Other phrases with digits or number words that don't come from the code.
OTHER_PHRASES = (
    "`O2`",
    "im2col",
    "float64",
    "half precision",
    "two substitutions",
    "two products",
    "of two matrices",
    "TF32",
)


def numbers_of_code():
    """{figure: the numbers of its caption in order}, from the code."""
    rungs = [*backprop_lines.LINES.values()]
    at_o2 = [rung for rung in rungs if rung.tuning == {"flags": "O2"}]
    assert rungs[: len(at_o2)] == at_o2, "the caption gives the number of the first rungs, which are built with O2"
    assert pytest.approx(1.2) == chapter_study.PHASES_TOLERANCE, "captions say `fifth`"
    first, *_ = splits.CALLS
    return {
        "backprop_host": [MEDIAN_LEVEL],
        "backprop_variations": [str(backprop_lines.KERNELS["block"]), RATIO_LEVEL],
        "backprop_waterfall": [NUMBER_WORDS[len(at_o2)], MULTIPLE_WORDS[backprop_model.IMAGE_PASSES], RATIO_LEVEL],
        "dcgan_splits": [NUMBER_WORDS[SPLIT_IMAGES], NUMBER_WORDS[sum(map(int, first.split(" + ")))]],
        "dcgan_waterfall": [RATIO_LEVEL],
        "descent_solution": [MEDIAN_LEVEL],
        "descent_waterfall": [RATIO_LEVEL],
        "gemm_roofline": [MEDIAN_LEVEL],
        "gemv_phases": [MEDIAN_LEVEL, "fifth"],
        "gemv_scaling": [MEDIAN_LEVEL],
        "gemv_waterfall": [NUMBER_WORDS[1 + gemv_model.COPY_ACCESSES], RATIO_LEVEL],
        "mlp_methods": [MEDIAN_LEVEL, "fifth"],
        "mlp_sample_digits": [NUMBER_WORDS[sample_digits.IMAGES_PER_DIGIT]],
        "mlp_threads": [MEDIAN_LEVEL],
        "mlp_waterfall": [RATIO_LEVEL],
    }


def test_the_numbers_of_captions_are_those_of_the_code():
    captions = {}
    for name in figures.names():
        text = " ".join(figures.constants(name)["CAPTION"].split())
        for phrase in OTHER_PHRASES:
            text = text.replace(phrase, "")
        captions |= {name: numbers} if (numbers := re.findall(NUMBER_PATTERN, text)) else {}
    assert captions == numbers_of_code()


def test_the_caption_of_variations_names_every_value_of_the_base_that_is_varied():
    text = " ".join(figures.constants("backprop_variations")["CAPTION"].split())
    # {a value of a tuning: how the caption names it}
    phrases = {
        "static": "a static schedule",
        "reduction": "a reduction of the error",
        "accumulators": "weight changes summed per thread (`update`)",
    }
    phrases |= {1: "SIMD directives", "shared": "operands in shared memory", "constant": "scalars in constant"}
    phrases |= {
        "texture": "tables in texture memory",
        "block": "sums of the error per block",
        256: "256 threads per block",
    }
    phrases |= {"offsets": "of `cuda_flat`, stored offsets"}
    bases = (backprop_lines.SHARED_LOOPS, backprop_lines.KERNELS, backprop_lines.FLAT)
    base = [value for tuning in bases for value in tuning.values()]
    assert {phrases[value] for value in base} == {phrase for phrase in phrases.values() if phrase in text}
    positions = [text.index(phrases[value]) for value in base]
    assert sorted(positions) == positions
