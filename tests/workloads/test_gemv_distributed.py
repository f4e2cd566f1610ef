"""Products on ranks by phase, and after how many of them the sending has paid."""

import math

import pandas as pd
import pytest

from ladder.workloads.gemv.paper import distributed


def samples(seconds, case="a", **columns):
    """Timed calls of three processes that differ by a thousandth."""
    rows = [
        {
            "variant": "mpi",
            "case": case,
            "process": process,
            "sample": sample,
            "threads": 1,
            "seconds": seconds * (1 + 1e-3 * process),
        }
        for process in range(3)
        for sample in range(4)
    ]
    return pd.DataFrame(rows).assign(**columns)


def phases(**seconds):
    return pd.concat([samples(time, phase=name.replace("_", " ")) for name, time in seconds.items()])


def test_what_is_done_once_is_no_part_of_a_product():
    found = phases(scatter=8.0, broadcast=0.25, compute=2.0, gather=0.5)
    timed, once = distributed.spent(found, "ship")
    assert (list(timed), once) == (["scatter", "broadcast", "compute", "gather"], {})
    timed, once = distributed.spent(found, "resident")
    assert (list(timed), list(once)) == (["broadcast", "compute", "gather"], ["scatter"])
    told = distributed.by_kind(found, "resident")
    assert told == pytest.approx({"communication": 0.75, "computation": 2.0}, rel=2e-3)


def test_what_overlaps_is_neither():
    found = phases(scatter=8.0, broadcast=0.25, compute_and_gather=2.0)
    assert distributed.by_kind(found, "resident") == pytest.approx(
        {"communication": 0.25, "both at once": 2.0}, rel=2e-3
    )
    assert distributed.passes(found, "resident", distributed.COMPUTATION).empty


def test_passes_add_up_the_phases_of_a_kind():
    found = distributed.passes(phases(scatter=8.0, broadcast=0.25, compute=2.0, gather=0.5), "ship", "communication")
    assert len(found) == 3 * 4
    assert found["seconds"].min() == pytest.approx(8.75)


@pytest.mark.parametrize(("other", "products"), [(2.0, 9), (1.1, 81), (100.0, 1), (1.0, None), (0.5, math.inf)])
def test_the_sending_pays_once_the_products_have_saved_as_much(other, products):
    """Sending takes 8.1 s, a product on ranks one; the other's 2 s save one with each."""
    found = distributed.break_even(samples(1.0), phases(scatter=8.09, compute=1.0), samples(other))
    assert found == products


def test_nothing_is_said_of_what_was_not_measured():
    nothing = pd.DataFrame()
    sent, plain = phases(scatter=8.0), samples(1.0)
    assert distributed.break_even(nothing, sent, plain) is None
    assert distributed.break_even(plain, nothing, plain * 2) is None
    assert distributed.break_even(plain, phases(compute=1.0), samples(2.0)) is None
    assert distributed.break_even(plain, sent, nothing) is None


def test_contenders_are_the_fastest_of_their_kind_count_once_and_have_no_twins():
    rows = [
        samples(time, name, device="mpi", ranks=ranks, mode=mode)
        for name, time, ranks, mode in (
            ("one", 1.0, 1, "resident"),
            ("two", 0.6, 2, "resident"),
            ("four", 0.4, 4, "resident"),
            ("sent", 3.0, 2, "ship"),
        )
    ]
    rows += [samples(0.2, "threads", device="host")] * 2
    rows += [samples(0.1, "twin", variant="mpi_openmp", device="mpi", ranks=4, threads=1, mode="resident")]
    found = distributed.contenders(pd.concat(rows))
    assert {name: one["case"].unique().tolist() for name, one in found.items()} == {
        "one": ["one"],
        "shared": ["threads"],
        "ship": ["sent"],
        "resident": ["four"],
    }
    assert {len(one) for one in found.values()} == {12}
    assert list(distributed.contenders(samples(0.2, device="host"))) == ["shared"]
