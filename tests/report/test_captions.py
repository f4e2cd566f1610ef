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

NUMBER = r"\d+(?: %)?|\b(?:two|twice|three|four|five|six|ten|sixteen|hundred|fifth|tenth|half)\b"
WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 16: "sixteen", 100: "hundred"}
TIMES = {2: "twice"}
MEDIAN = "95 %"  # by `intervals.summary`
RATIO = f"{100 * quotients.LEVEL:.0f} %"
# Phrases with digits or number words that don't come from the code.
NAMES = ("`O2`", "im2col", "float64", "half precision", "two substitutions", "two products", "of two matrices", "TF32")


def numbers_of_code():
    """{figure: the numbers of its caption in order}, from the code."""
    rungs = [*backprop_lines.LINES.values()]
    at_o2 = [rung for rung in rungs if rung.tuning == {"flags": "O2"}]
    assert rungs[: len(at_o2)] == at_o2, "the first ones"
    assert pytest.approx(1.2) == chapter_study.PHASES_TOLERANCE
    first, *_ = splits.WAYS
    return {
        "backprop_host": [MEDIAN],
        "backprop_variations": [str(backprop_lines.KERNELS["block"]), RATIO],
        "backprop_waterfall": [WORDS[len(at_o2)], TIMES[backprop_model.IMAGE_PASSES], RATIO],
        "dcgan_splits": [WORDS[SPLIT_IMAGES], WORDS[sum(map(int, first.split(" + ")))]],
        "dcgan_waterfall": [RATIO],
        "descent_solution": [MEDIAN],
        "descent_waterfall": [RATIO],
        "gemm_roofline": [MEDIAN],
        "gemv_phases": [MEDIAN, "fifth"],
        "gemv_scaling": [MEDIAN],
        "gemv_waterfall": [WORDS[1 + gemv_model.COPIES], RATIO],
        "mlp_methods": [MEDIAN, "fifth"],
        "mlp_sample_digits": [WORDS[sample_digits.IMAGES_PER_DIGIT]],
        "mlp_threads": [MEDIAN],
        "mlp_waterfall": [RATIO],
    }


def test_the_numbers_of_captions_are_those_of_the_code():
    captions = {}
    for name in figures.names():
        text = " ".join(figures.constants(name)["CAPTION"].split())
        for name_part in NAMES:
            text = text.replace(name_part, "")
        captions |= {name: numbers} if (numbers := re.findall(NUMBER, text)) else {}
    assert captions == numbers_of_code()


def test_the_captions_of_variations_tell_the_base_that_is_varied():
    text = " ".join(figures.constants("backprop_variations")["CAPTION"].split())
    words = {
        "static": "a static schedule",
        "reduction": "a reduction of the error",
        "accumulators": "sums of weight changes (update) per thread",
    }
    words |= {1: "SIMD directives", "shared": "operands in shared memory", "constant": "scalars in constant"}
    words |= {
        "texture": "tables in texture memory",
        "block": "sums of the error per block",
        256: "256 threads per block",
    }
    words |= {"offsets": "of `cuda_flat`, stored offsets"}
    bases = (backprop_lines.SHARED_LOOPS, backprop_lines.KERNELS, backprop_lines.FLAT)
    base = [value for tuning in bases for value in tuning.values()]
    assert {words[value] for value in base} == {word for word in words.values() if word in text}
    places = [text.index(words[value]) for value in base]
    assert sorted(places) == places
