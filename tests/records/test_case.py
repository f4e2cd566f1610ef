"""Slugs: `Case.slug` and `Case.parse` are exact inverses, and any other text is refused."""

import random

import pytest

from ladder.errors import LadderError
from ladder.records.case import CACHES, Case, from_text, to_text

INTEGERS = [0, 1, -1, 17, -65, 10**17, 2**53 + 1]  # the last one is no float64
REALS = [0.5, 1.0, -0.25, 1e-07, 1.5e-300, -2.5e-05, 0.1 + 0.2, 123456.75, 5e-324]  # the last one is subnormal
# Some of the words resemble numbers.
WORDS = ["nn", "float64", "784-300-10", "8-8", "a.b:c-d", "X1", "inf", "nan", "e5", "cold", "c_openmp"]
VALUES = [*INTEGERS, *REALS, *WORDS]


def is_same(a, b):
    return a == b and type(a) is type(b)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_comes_back_with_its_type(value):
    assert is_same(from_text(to_text(value)), value)


def test_random_cases_come_back_and_slugs_are_one_to_one():
    rng = random.Random(1)
    names = ["m", "n", "k", "rate", "layers", "block", "threads", "x_1", "product"]
    cases_by_slug = {}
    for _ in range(2000):
        case_names = rng.sample(names, rng.randint(1, len(names)))
        size_count = rng.randint(0, len(case_names))
        sizes, tuning = (
            {name: rng.choice(VALUES) for name in part} for part in (case_names[:size_count], case_names[size_count:])
        )
        case = Case("gemm", "blas", sizes, tuning, rng.choice(CACHES))
        parsed = Case.parse("gemm", "blas", case.slug)
        assert (parsed, parsed.slug) == (case, case.slug)
        assert list(parsed.sizes) == list(sizes)
        assert all(is_same(parsed.sizes[name], sizes[name]) for name in sizes)
        assert all(is_same(parsed.tuning[name], tuning[name]) for name in tuning)
        assert cases_by_slug.setdefault(case.slug, case) == case
        assert "/" not in case.slug


def test_random_reals_come_back_or_are_refused():
    rng = random.Random(2)
    for _ in range(2000):
        value = rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 15)
        assert is_same(from_text(to_text(value)), value)
    for value in (1e16, 1e300, float("inf"), float("nan")):
        with pytest.raises(LadderError):
            to_text(value)


def test_the_order_of_tunings_does_not_matter_and_that_of_sizes_does():
    values, reordered = ({"b": 1, "a": 2}, {"a": 2, "b": 1})
    assert Case("gemm", "blas", {}, values).slug == Case("gemm", "blas", {}, reordered).slug == "cache=cold,a=2,b=1"
    assert Case("gemm", "blas", values, {}).slug != Case("gemm", "blas", reordered, {}).slug


def test_a_parsed_case_has_sizes_tuning_cache_and_key():
    case = Case.parse("gemm", "blas", "form=nn,m=17,cache=warm,threads=2")
    assert (case.sizes, case.tuning, case.cache) == ({"form": "nn", "m": 17}, {"threads": 2}, "warm")
    assert case.key == "gemm/blas/form=nn,m=17,cache=warm,threads=2"
    assert case.threads == 2
    assert Case("gemm", "blas", {}, {}).threads == 1


@pytest.mark.parametrize(
    "slug",
    [
        "",
        "m=1",
        "m,cache=cold",
        "=1,cache=cold",
        "m=,cache=cold",
        "M=1,cache=cold",
        "m=1,,cache=cold",
        "m=1,cache=cold,",
        "m=1,cache=tepid",
        "m=1,cache=",
        "m=1,cache=cold,cache=cold",
        "m=1,cache=cold,threads=1,cache=warm",
        "m=1,m=1,cache=cold",
        "m=1,cache=cold,m=1",
        "m=1,cache=cold,b=1,a=1",
        "m=01,cache=cold",
        "m=-0,cache=cold",
        "m=+1,cache=cold",
        "m=1.50,cache=cold",
        "m=1e5,cache=cold",
        "m=1e400,cache=cold",  # infinite as a float64
        "m= 1,cache=cold",
        "m=1 ,cache=cold",
        "m=a b,cache=cold",
        "m=../x,cache=cold",
        "m=a/b,cache=cold",
        "m=1,cache=cold\n",
        "m=\u0661,cache=cold",  # the Arabic digit 1
        "m=1-,cache=cold",
        "m=" + "9" * 5000 + ",cache=cold",  # more digits than Python converts to an integer
    ],
)
def test_a_text_that_is_not_a_slug_is_refused_in_a_sentence(slug):
    with pytest.raises(LadderError) as error:
        Case.parse("gemm", "blas", slug)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(("workload", "variant"), [("gemm", "../x"), ("../x", "blas")])
def test_names_that_lead_out_of_their_folder_are_refused(workload, variant):
    with pytest.raises(LadderError, match="can't name a workload or variant"):
        Case.parse(workload, variant, "m=1,cache=cold")


@pytest.mark.parametrize("value", [True, None, [1], {"a": 1}, "17", "0.5", "", "a b", "a,b", "a=b", "a/b"])
def test_values_that_would_not_come_back_are_refused(value):
    with pytest.raises(LadderError):
        to_text(value)
