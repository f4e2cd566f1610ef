"""Measure the overhead of the pipeline: planning 5,000 cases, and each job beyond its measurement.

    python benchmarks/overhead.py [--cases 5000] [--jobs 16]

A job's measurement is the work of its workers after their start: setting up, checking, warming up, sampling. The rest
is overhead: Snakemake, the shell, starting Python four times (`measure` and three workers), imports, writing the
record. The time of a job is the slope from a study of a few cases to a study of `--jobs` more, which excludes costs per
study. Run it while nothing else measures, since jobs wait for the lock of the machine. Exits with 1 if planning takes
longer than 30 s or the overhead of a job exceeds 1.5 s.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SNAKEFILE = Path(__file__).parents[1] / "Snakefile"
FEW_CASES = 4  # of the smaller study
MAX_PLANNING_SECONDS, MAX_OVERHEAD_SECONDS = 30.0, 1.5


def configuration(cases):
    """The configuration of a study of small products."""
    sizes = {"form": "nn", "m": list(range(1, cases + 1)), "n": 64, "k": 64}
    experiment = {
        "question": "What does the pipeline cost?",
        "workload": "gemm",
        "sizes": sizes,
        "cache": "warm",  # emptying a large cache would take longer than everything else
        "variants": {"blas": {"threads": 1}},
    }
    return {"protocol": {"processes": 3, "most_processes": 3}, "experiments": {"small": experiment}}


def run_seconds(folder, cases, *options):
    """Seconds of a run of the pipeline on `cases` cases, in an empty folder."""
    config = folder / "config/config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps(configuration(cases)), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--snakefile", SNAKEFILE, "--directory", folder]
    start = time.monotonic()
    result = subprocess.run([*command, *options, "measurements"], cwd=SNAKEFILE.parent, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if result.returncode:
        sys.exit(f"{result.stdout}{result.stderr}overhead: snakemake ended with status {result.returncode}.")
    return seconds


def record_seconds(folder):
    """Seconds in a study's records: inside the measurements, and from starting workers to ending them."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("results/records/**/*.json")]
    measurement = sum(process["total"] for record in records for process in record["processes"])
    return measurement, sum(record["wall"] for record in records)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000, help="cases to plan")
    parser.add_argument("--jobs", type=int, default=16, help="jobs to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary) / name for name in ("plan", "warm", "few", "many")]
        planning = run_seconds(folders[0], options.cases, "--dry-run")
        print(f"planning {options.cases} cases: {planning:.1f} s (at most {MAX_PLANNING_SECONDS:.0f} s)", flush=True)
        run_seconds(folders[1], 1)  # warms the caches
        few, many = run_seconds(folders[2], FEW_CASES), run_seconds(folders[3], FEW_CASES + options.jobs)
        (measured_few, wall_few), (measured_many, wall_many) = record_seconds(folders[2]), record_seconds(folders[3])
    # Seconds per job: in all, inside the measurement, and from starting its workers to ending them.
    job = (many - few) / options.jobs
    measurement, wall = (measured_many - measured_few) / options.jobs, (wall_many - wall_few) / options.jobs
    print(f"a job: {job:.2f} s")
    print(f"  its measurement, inside three workers:      {measurement:.2f} s")
    print(f"  starting and ending the workers:            {wall - measurement:.2f} s")
    print(f"  Snakemake, starting `measure`, the record:  {job - wall:.2f} s")
    print(f"  overhead, all but the measurement:          {job - measurement:.2f} s (at most {MAX_OVERHEAD_SECONDS} s)")
    sys.exit(planning > MAX_PLANNING_SECONDS or job - measurement > MAX_OVERHEAD_SECONDS)


if __name__ == "__main__":
    main()
