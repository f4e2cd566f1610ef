"""Cases from the words of a command line: defaults, sweeps, and words that are refused."""

import pytest

from conftest import TESTS
from ladder.errors import LadderError
from ladder.harness.case_arguments import cases_of, labels

SIZES = ["m=17", "n=5", "k=9"]
SLUG = "form=nn,m=17,n=5,k=9,dtype=float64,source=random,seed=1,cache=cold"


def keys(*words, sweep=()):
    """The keys of the requested cases."""
    return [case.key for case in cases_of(words, sweep)]


def test_missing_sizes_tunings_and_the_cache_protocol_get_their_defaults():
    assert keys("gemm/tiled", "gemm/blas", *SIZES) == [f"gemm/{name}/{SLUG},threads=1" for name in ("tiled", "blas")]


def test_pairs_override_defaults_and_go_to_the_variants_that_take_them():
    cases = cases_of(["gemm/blas", "gemm/cuda_naive", *SIZES, "dtype=float32", "cache=warm", "threads=2", "block=8"])
    assert [case.tuning for case in cases] == [{"threads": 2}, {"block": 8}]
    assert {(case.sizes["dtype"], case.cache) for case in cases} == {("float32", "warm")}


def test_environment_variables_go_to_every_case():
    assert keys("gemm/blas", *SIZES, "OPENBLAS_CORETYPE=Haswell")[0].endswith("threads=1,OPENBLAS_CORETYPE=Haswell")


def test_whole_keys_and_variants_can_be_mixed_and_none_is_repeated():
    key = f"gemm/blas/{SLUG},threads=2"
    assert keys(key, key) == [key]
    assert keys(key, "gemm/blas", *SIZES) == [key, f"gemm/blas/{SLUG},threads=1"]


def test_a_sweep_is_the_product_of_its_values_for_the_variants_that_take_them():
    words = ["gemm/cuda_tiled", "gemm/cublas", *SIZES]
    cases = cases_of(words, ["bm=32,64", "bn=32,64,128"])
    assert len(cases) == 2 * 3 + 1
    assert [case.tuning for case in cases[:2]] == [{"bm": 32, "bn": 32}, {"bm": 32, "bn": 64}]
    assert cases[-1].variant == "cublas"


def test_labels_have_only_what_distinguishes_the_cases():
    one_variant = cases_of(["gemm/cuda_tiled", *SIZES, "bk=8"], ["bm=32,64"])
    assert list(labels(one_variant).values()) == ["gemm/cuda_tiled bm=32", "gemm/cuda_tiled bm=64"]
    assert list(labels(cases_of(["gemm/tiled", "gemm/blas", *SIZES])).values()) == ["gemm/tiled", "gemm/blas"]
    cases = [*cases_of([f"gemm/blas/{SLUG},threads=1"]), *cases_of(["gemm/blas", *SIZES[:2], "k=8"])]
    assert list(labels(cases).values()) == [case.key for case in cases]  # they differ in sizes


@pytest.mark.parametrize(
    ("words", "sweep", "sentence"),
    [
        (["m=1"], [], "No variant is named: write workload/variant"),
        (["gemm"], [], "'gemm' is neither a variant, .*: write gemm/variant, for example gemm/openmp"),
        (["gemm/blas", "m="], [], "'m=' is neither a variant"),
        (["gem/blas"], [], "no workload 'gem': .* Did you mean 'gemv' or 'gemm'"),
        (["gemm/tield"], [], "no variant 'tield' of gemm: .* Did you mean 'tiled'"),
        (["gemm/blas", "thread=1"], [], "'thread' is neither a size of gemm .* Did you mean 'threads'"),
        (["gemm/blas", "m=1", "m=2"], [], "m has two values, 1 and 2"),
        (["gemm/blas", "threads=1,2"], [], "threads=1,2 has several values: try them with --sweep threads=1,2"),
        (["gemm/blas", "m=1", "n=1"], [], "gemm needs a value for its size 'k'"),
        (["gemm/blas", "m=x", "n=1", "k=1"], [], "m='x' of gemm must be"),
        (["gemm/blas", "m=1,2"], [], "m=1,2 has several values: only tunings are swept, so run once for each"),
        (["gemm/blas", "dtype=flaot32"], [], "dtype='flaot32' of gemm must be one of float64, float32"),
        (
            ["gemm/blas", *SIZES],
            ["m=1,2"],
            "m is a size of gemm, and only tunings are swept .threads.. Run .* with m=1",
        ),
        (["gemm/blas", *SIZES], ["block=1,2"], "--sweep block: no variant has this tuning; the tunings are threads"),
        (["gemm/blas", *SIZES], ["rows"], "--sweep rows has no values: write --sweep rows=8,16,32"),
        (["gemm/blas", *SIZES], ["rows="], "--sweep rows= has no values: write --sweep rows=8,16,32"),
        (["gemm/blas", *SIZES], ["thraeds=1"], "--sweep thraeds: .* Did you mean 'threads'"),
        (["gemm/blas", *SIZES], ["threads=1,,2"], "threads='' is neither a number nor a word"),
        (["gemm/blas", "M=17", "n=5", "k=9"], [], "M would be an environment variable. Did you mean 'm'"),
        (["gemm/blas", *SIZES, "Threads=2"], [], "'Threads' is neither .* Did you mean 'threads'"),
        (["gemm/blas", "m=17x", "n=5", "k=9"], [], "m='17x' is neither a number nor a word, which begins with a let"),
        (["gemm/blas", *SIZES, "threads=2x"], [], "threads='2x' is neither a number nor a word"),
        (["gemm/cuda_naive", *SIZES], ["block=3,x"], "block='x' of gemm/cuda_naive must be a whole number"),
        (["gemm/blas", *SIZES], ["threads=1,0"], "threads=0 of gemm/blas must be a whole number of at least 1"),
        (["gemm/blas", "gemv/blas"], [], "Only variants of one workload can be ranked"),
        ([f"gemm/blas/{SLUG},threads=1", "m=2"], [], "A whole key has all sizes and tunings already"),
    ],
)
def test_wrong_words_are_refused(words, sweep, sentence):
    with pytest.raises(LadderError, match=sentence):
        cases_of(words, sweep)


def test_only_counts_among_the_required_tunings_get_a_default(monkeypatch):
    """`percent` gets none: the case is made without it, and refused as every incomplete case is."""
    monkeypatch.setenv("LADDER_VARIANTS", str(TESTS / "variants"))
    assert "percent" not in cases_of(["gemm/slower_blas", *SIZES])[0].tuning
