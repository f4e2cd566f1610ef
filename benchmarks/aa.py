"""Does a comparison of a case with itself say "can't tell", and does one with a planted slowdown find it?

    python benchmarks/aa.py [--same 100] [--planted 10]

To end within ten minutes on two idle cores, a comparison of equals always takes 6 pairs of processes. Slowdowns are
looked for as the verb `compare` does, with 10 to 30 pairs, until changes of their size would show. Exits with 1 when
fewer than 95 % of the comparisons of equals come out "can't tell".
"""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

os.environ["LADDER_VARIANTS"] = str(Path(__file__).parents[1] / "tests/variants")

from ladder.comparison import named, side_by_side

CASE = "form=nn,m=256,n=256,k=256,dtype=float64,source=random,seed=1,cache=warm"
PLAIN = named(f"gemm/blas/{CASE},threads=1")
PERCENT = 5
SLOWER = named(f"gemm/slower_blas/{CASE},percent={PERCENT},threads=1")
# Fifty samples last 35 ms, little beside the start of a process, and see more of a busy machine than ten do.
SAMPLES = 50
REQUIRED = 0.95


def outcome(verdict):
    """What became of a planted slowdown."""
    if verdict.word == "slower":
        return "found"
    if verdict.word == "faster":
        return "called faster"
    return "undecidable" if verdict.detectable > PERCENT / 100 else "missed though decidable"


def verdicts(a, b, count, **rule):
    """The verdicts of so many comparisons, each printed as it comes; `rule` says when one ends."""
    for i in range(1, count + 1):
        found = side_by_side(a, b, samples=SAMPLES, **rule)
        verdict = found.verdict
        print(
            f"{i:4} {verdict.word:10} {verdict.ratio:.4f} [{verdict.low:.4f}, {verdict.high:.4f}], "
            f"{found.pairs} pairs, changes below {100 * verdict.detectable:.1f} % undecidable",
            flush=True,
        )
        yield verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--same", type=int, default=100, help="comparisons of a case with itself")
    parser.add_argument("--planted", type=int, default=10, help=f"comparisons with one that is {PERCENT} % slower")
    parser.add_argument("--pairs", type=int, default=6, help="pairs of processes of each comparison of equals")
    options = parser.parse_args()
    began = time.monotonic()

    print(f"The same case twice: {PLAIN.key}")
    same = list(verdicts(PLAIN, PLAIN, options.same, pairs=options.pairs, most_pairs=options.pairs))
    print(f"A slowdown of {PERCENT} % planted: {SLOWER.key}")
    planted = list(verdicts(SLOWER, PLAIN, options.planted, detect=PERCENT / 100))

    quiet = sum(verdict.word == "can't tell" for verdict in same)
    for what, found in (("equals", same), ("slowdowns", planted)):
        if found:
            detectable = median(verdict.detectable for verdict in found)
            print(f"{what}: in the middle comparison, changes below {100 * detectable:.1f} % were undecidable")
    print(f'equals: {quiet} of {len(same)} came out "can\'t tell" (required: {REQUIRED:.0%})')
    print(f"slowdowns: {dict(Counter(map(outcome, planted)))}")
    print(f"{time.monotonic() - began:.0f} s in all")
    sys.exit(quiet < REQUIRED * len(same))


if __name__ == "__main__":
    main()
