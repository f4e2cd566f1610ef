"""An A/A test of the comparison of cases: equal cases must not differ, and a slowed copy should be detected.

    python benchmarks/aa.py [--device host|cuda] [--same 100] [--planted 10]

A comparison of equal cases takes a fixed number of pairs of processes: 6 on the host, so that 100 comparisons end
within ten minutes on two idle cores; 2 on a GPU, where 30 comparisons take about three minutes. A comparison with a
slowed copy takes pairs as the verb `compare` does, until it would detect the slowdown: 10 to 30, on a GPU from 4 on.
Exits with 1 if fewer than 95 % of the comparisons of equal cases come out "equal" or "undecided".
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

SLOWDOWN_PERCENT = 5
SMALL_SIZES = "form=nn,m=256,n=256,k=256,dtype=float64,source=random,seed=1,cache=warm"
LARGE_SIZES = "form=nn,m=1024,n=1024,k=1024,dtype=float32,source=random,seed=1,cache=warm"
# A case and its slowed copy, by device.
CASES = {
    "host": (
        f"gemm/blas/{SMALL_SIZES},threads=1",
        f"gemm/slower_blas/{SMALL_SIZES},percent={SLOWDOWN_PERCENT},threads=1",
    ),
    "cuda": (f"gemm/cuda_shared/{LARGE_SIZES},block=16", f"gemm/slower_cuda/{LARGE_SIZES},percent={SLOWDOWN_PERCENT}"),
}
# The numbers of comparisons of equal cases (`same`) and of slowdowns (`planted`); of each comparison, the pairs of
# processes of equal cases, and the minimum of pairs of slowdowns.
DEFAULTS = {
    "host": {"same": 100, "planted": 10, "pairs": 6, "min_pairs": 10},
    "cuda": {"same": 30, "planted": 3, "pairs": 2, "min_pairs": 4},
}
# Fifty samples take 35 ms, little compared with the start of a process, and cover more of a machine's noise than ten.
SAMPLES = 50  # of a process
REQUIRED_SHARE = 0.95  # of the comparisons of equal cases


def detection(verdict):
    """Whether a planted slowdown was found, in words."""
    if verdict.outcome == "slower":
        return "found"
    if verdict.outcome == "faster":
        return "called faster"
    return "undecidable" if verdict.detectable > SLOWDOWN_PERCENT / 100 else "missed though detectable"


def compare_repeatedly(a, b, count, **options):
    """Yield the verdicts of `count` comparisons and print each; `options` are arguments of `compare_cases`."""
    for i in range(1, count + 1):
        comparison = compare_cases(a, b, samples=SAMPLES, **options)
        verdict = comparison.verdict
        print(
            f"{i:4} {verdict.outcome:10} {verdict.ratio:.4f} [{verdict.low:.4f}, {verdict.high:.4f}], "
            f"{comparison.pair_count} pairs, detects changes from {100 * verdict.detectable:.1f} %",
            flush=True,
        )
        yield verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=CASES, default="host", help="what the cases run on (default: host)")
    parser.add_argument("--same", type=int, help="comparisons of a case with itself")
    parser.add_argument("--planted", type=int, help=f"comparisons with a copy that is {SLOWDOWN_PERCENT} % slower")
    parser.add_argument("--pairs", type=int, help="pairs of processes of each comparison of equals")
    options = parser.parse_args()
    plain, slower = map(parse_key, CASES[options.device])
    arguments = {name: value for name, value in vars(options).items() if name != "device" and value is not None}
    try:
        judge(plain, slower, **(DEFAULTS[options.device] | arguments))
    except LadderError as error:
        sys.exit(f"aa: {error}")


def judge(plain, slower, same, planted, pairs, min_pairs):
    """Run the comparisons, print a summary, and exit with 1 if too many equal cases came out different."""
    start = time.monotonic()
    print(f"The same case twice: {plain.key}")
    equal_verdicts = list(compare_repeatedly(plain, plain, same, min_pairs=pairs, max_pairs=pairs))
    print(f"A slowdown of {SLOWDOWN_PERCENT} % planted: {slower.key}")
    detect = SLOWDOWN_PERCENT / 100
    slowed_verdicts = list(compare_repeatedly(slower, plain, planted, min_pairs=min_pairs, detect=detect))

    correct_count = sum(verdict.outcome in (EQUAL, UNDECIDED) for verdict in equal_verdicts)
    for name, results in (("equal cases", equal_verdicts), ("slowdowns", slowed_verdicts)):
        if results:
            detectable = median(verdict.detectable for verdict in results)
            print(f"{name}: the median comparison detects changes from {100 * detectable:.1f} %")
    print(
        f"equal cases: {correct_count} of {len(equal_verdicts)} came out equal or undecided "
        f"(required: {REQUIRED_SHARE:.0%})"
    )
    print(f"slowdowns: {dict(Counter(map(detection, slowed_verdicts)))}")
    print(f"{time.monotonic() - start:.0f} s in all")
    sys.exit(correct_count < REQUIRED_SHARE * len(equal_verdicts))


if __name__ == "__main__":
    main()
