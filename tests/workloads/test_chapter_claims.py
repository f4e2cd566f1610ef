"""The verdicts of chapters on their claims, as made-up times say, and other ones of other times."""

import pytest

import chapter
from ladder.report import verdict_table
from made_up import chapters as made

# The verdicts of all made-up measurements other than `confirmed`.
STEPS = ("loop_order", "temporaries", "fusion", "associativity")
REFUTED = {
    "mlp": {"tf32"},
    "gemv": {"dynamic", "shared", "long", "pieces"},
    "backprop": {"weight-change", "technique/fusion", "technique/associativity", "flags-alone", "atomic-error"}
    | {"schedule", "simd", "constant", "texture", *(f"bounds/{name}" for name in STEPS)},
    "descent": {"only-init", "slower", "vecsum"},
    "dcgan": {"two-cards", "four-cards", "ceiling"},  # starts of 0.4, 0.7 and 1.3 s; `cuda_tiled` sets the ceiling
}
WEAKER = {"mlp": {"shared", "shared/tn"}, "descent": {"half"}}
UNTESTED = {"gemv": {"nodes"}}  # of which there is one
COUNTS = {"mlp": 21, "gemv": 24, "backprop": 26, "descent": 10, "dcgan": 21}


@pytest.mark.parametrize("workload", REFUTED)
def test_the_claims_are_decided_as_the_times_say(workload):
    verdicts = chapter.verdicts(workload, chapter.whole(workload))
    others = {"refuted": REFUTED, "weaker": WEAKER, "not tested": UNTESTED}
    expected = {key: verdict for verdict, keys in others.items() for key in keys.get(workload, ())}
    assert {key: verdict for key, verdict in verdicts.items() if verdict != "confirmed"} == expected
    assert len(verdicts) == COUNTS[workload]


def of(variant, **tuning):
    """Whether a case is of a variant, or any with None, at a tuning or size."""
    return lambda case: (
        variant in (None, case.variant)
        and all((case.sizes | case.tuning | {"ranks": case.ranks}).get(name) == value for name, value in tuning.items())
    )


OTHERWISE = [
    ("backprop", "loop-order", "weaker", 0.2, of("before")),
    ("backprop", "whole", "refuted", 0.01, of("before")),
    ("backprop", "bounds/fusion", "confirmed", 2.0, of(None, flags="bounds")),
    ("backprop", "peer/pytorch", "refuted", 0.6, of(None, gradients="by_hand")),
    ("backprop", "flags-alone", "confirmed", 0.5, of(None, flags="all")),
    ("backprop", "schedule", "confirmed", 0.5, of(None, schedule="dynamic")),
    ("backprop", "texture", "confirmed", 2.0, of(None, tables="global")),
    ("backprop", "hundredfold", "weaker", 2.0, of("tuned")),
    ("backprop", "floor", "refuted", 3.0, of("cuda_fused")),
    ("backprop", "fused", "weaker", 1.3, of("cuda_fused")),
    ("gemv", "bound", "refuted", 1.2, of("openmp_bound")),
    ("gemv", "travelling", "refuted", 0.4, of(None, mode="ship", ranks=4)),
    ("gemv", "staying", "refuted", 4.0, of(None, mode="resident", ranks=4)),
    ("gemv", "warp", "refuted", 1.5, of("cuda_warp")),
    ("gemv", "equal", "refuted", 1.5, of("cuda_warp")),
    ("gemv", "nccl", "refuted", 5.0, of("nccl_cublas")),
    ("gemv", "graph", "refuted", 1.25, of(None, graph="on")),
    ("gemv", "cards/4", "weaker", 1.5, of("nccl_cublas", ranks=4)),
    ("descent", "slower", "confirmed", 1.5, of(None, block=512)),
    ("descent", "half", "confirmed", 0.9, of("cuda_symmetric")),
    ("descent", "one-launch", "refuted", 3.0, of("cuda_persistent")),
    ("descent", "recomputed", "refuted", 1.5, of(None, recompute=50)),
    ("descent", "conjugate", "refuted", 9.0, of(None, algorithm="cg")),
    *(("dcgan", key, "refuted", 3.0, of("home")) for key in ("peer/home", "home/float32", "home/tf32", "home/float16")),
    ("mlp", "transfers", "refuted", 0.1, of(None, product="cublas")),
    ("mlp", "levels-off", "refuted", 0.5, of("host", threads=12)),
    ("mlp", "worse", "refuted", 0.5, of("host", threads=24)),
]


@pytest.mark.parametrize(("workload", "key", "verdict", "factor", "is_changed"), OTHERWISE)
def test_other_times_decide_otherwise(workload, key, verdict, factor, is_changed):
    study = made.study(workload, factor=lambda case: factor if is_changed(case) else 1.0)
    assert chapter.verdicts(workload, study, key) == {key: verdict}


@pytest.mark.parametrize(
    ("workload", "variants", "untested"),
    [
        ("backprop", ("tuned",), {"hundredfold", "peer/numpy_loop", "peer/pytorch"}),
        ("backprop", ("cuda_kernels",), {"shared", "constant", "texture", "emulated"}),
        ("descent", ("cuda_symmetric",), {"half"}),
        ("gemv", ("openmp_bound",), {"bound", "memory", "nodes"}),
        ("mlp", ("cuda_columns", "numpy_loop"), {"columns", "peer/numpy_loop"}),
        ("dcgan", ("mpi_home",), {"ranks"}),
    ],
)
def test_without_a_variant_its_claims_alone_are_not_tested(workload, variants, untested):
    answers = chapter.answers(workload, made.study(workload, drop=lambda case: case.variant in variants))
    missing = {key: claim for key, claim in answers.items() if claim.answer.verdict == "not tested"}
    assert set(missing) == untested
    assert all(verdict_table.cause(claim).startswith("needs ") for claim in missing.values())
