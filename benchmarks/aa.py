"""Does a comparison of a case with itself tell no difference, and does one with a planted slowdown find it?

    python benchmarks/aa.py [--device host|cuda] [--same 100] [--planted 10]

To end within ten minutes on two idle cores, a comparison of equals always takes 6 pairs of processes; on a GPU it takes
2, and 30 comparisons about three minutes. Slowdowns are looked for as the verb `compare` does, with 10 to 30 pairs, on
a GPU from 4 on, until changes of their size would show. Exits with 1 when fewer than 95 % of the comparisons of equals
come out "equal" or "undecided".
"""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

os.environ["LADDER_VARIANTS"] = str(Path(__file__).parents[1] / "tests/variants")

from ladder.errors import LadderError
from ladder.harness.comparison import compare_cases, parse_key
from ladder.statistics.verdicts import EQUAL, UNDECIDED

PERCENT = 5
SMALL = "form=nn,m=256,n=256,k=256,dtype=float64,source=random,seed=1,cache=warm"
LARGE = "form=nn,m=1024,n=1024,k=1024,dtype=float32,source=random,seed=1,cache=warm"
# A case and its slower double, by device.
CASES = {
    "host": (f"gemm/blas/{SMALL},threads=1", f"gemm/slower_blas/{SMALL},percent={PERCENT},threads=1"),
    "cuda": (f"gemm/cuda_shared/{LARGE},block=16", f"gemm/slower_cuda/{LARGE},percent={PERCENT}"),
}
# Comparisons of equals and of slowdowns, pairs of processes of the former, and fewest pairs of the latter.
USUAL = {
    "host": {"same": 100, "planted": 10, "pairs": 6, "fewest": 10},
    "cuda": {"same": 30, "planted": 3, "pairs": 2, "fewest": 4},
}
# Fifty samples last 35 ms, little beside the start of a process, and see more of a busy machine than ten do.
SAMPLES = 50
REQUIRED = 0.95


def outcome(verdict):
    """What became of a planted slowdown."""
    if verdict.outcome == "slower":
        return "found"
    if verdict.outcome == "faster":
        return "called faster"
    return "undecidable" if verdict.detectable > PERCENT / 100 else "missed though detectable"


def verdicts(a, b, count, **rule):
    """The verdicts of so many comparisons, each printed as it comes; `rule` says when one ends."""
    for i in range(1, count + 1):
        found = compare_cases(a, b, samples=SAMPLES, **rule)
        verdict = found.verdict
        print(
            f"{i:4} {verdict.outcome:10} {verdict.ratio:.4f} [{verdict.low:.4f}, {verdict.high:.4f}], "
            f"{found.pairs} pairs, changes below {100 * verdict.detectable:.1f} % can't be seen",
            flush=True,
        )
        yield verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=CASES, default="host", help="what the cases run on (default: host)")
    parser.add_argument("--same", type=int, help="comparisons of a case with itself")
    parser.add_argument("--planted", type=int, help=f"comparisons with one that is {PERCENT} % slower")
    parser.add_argument("--pairs", type=int, help="pairs of processes of each comparison of equals")
    options = parser.parse_args()
    plain, slower = map(parse_key, CASES[options.device])
    given = {name: value for name, value in vars(options).items() if name != "device" and value is not None}
    try:
        judge(plain, slower, **(USUAL[options.device] | given))
    except LadderError as error:
        sys.exit(f"aa: {error}")


def judge(plain, slower, same, planted, pairs, fewest):
    """Compare so many times, say what became of it, and exit with 1 when too many equals were told apart."""
    began = time.monotonic()
    print(f"The same case twice: {plain.key}")
    same = list(verdicts(plain, plain, same, pairs=pairs, max_pairs=pairs))
    print(f"A slowdown of {PERCENT} % planted: {slower.key}")
    planted = list(verdicts(slower, plain, planted, pairs=fewest, detect=PERCENT / 100))

    quiet = sum(verdict.outcome in (EQUAL, UNDECIDED) for verdict in same)
    for what, found in (("equals", same), ("slowdowns", planted)):
        if found:
            detectable = median(verdict.detectable for verdict in found)
            print(f"{what}: in the middle comparison, changes below {100 * detectable:.1f} % could not be seen")
    print(f"equals: {quiet} of {len(same)} came out equal or undecided (required: {REQUIRED:.0%})")
    print(f"slowdowns: {dict(Counter(map(outcome, planted)))}")
    print(f"{time.monotonic() - began:.0f} s in all")
    sys.exit(quiet < REQUIRED * len(same))


if __name__ == "__main__":
    main()
