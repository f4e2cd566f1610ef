"""Fuzz tests, each with a seed: a reader of users' files or arguments returns a value or raises LadderError."""

import contextlib
import copy
import json
import os
import random

import numpy as np
import pytest
import yaml

import made_up
from ladder.data import idx
from ladder.errors import LadderError
from ladder.planning import configuration, plan
from ladder.planning.targets import Target
from ladder.records import record
from ladder.records.case import Case
from ladder.store import collect
from ladder.workloads.dcgan import formats

INPUTS_PER_READER = int(os.environ.get("LADDER_FUZZ_INPUTS", 40))
# A valid case, configuration and record, which the tests break.
CASE = Case("gemm", "blas", {"form": "nn", "m": 17, "n": 5, "k": 9, "dtype": "float64"}, {"threads": 2})
EXPERIMENT = {
    "question": "?",
    "workload": "gemm",
    "sizes": [{"form": "nn", "m": [1, 2], "n": 1, "k": 1}],
    "cache": ["cold", "warm"],
    "variants": {"blas": {"threads": [1, 2]}, "openmp": None},
    "protocol": {"cap": 1},
}
CONFIGURATION = {
    "machine": "here",
    "cores": 2,
    "mpi": "auto",
    "published": ["none"],
    "mirrors": ["https://example.org"],
    "variant_folders": ["/tmp"],
    "protocol": {"samples": 3, "target": 0.1, "energy": False},
    "experiments": {"one": EXPERIMENT},
}
PROCESS = {
    "samples": [0.5, 0.25],
    "setup": 0.1,
    "first": 0.5,
    "check": 0.1,
    "total": 1.5,
    "phases": [],
    "checks": [{"name": "product", "error": 0.1, "bound": 1.0}],
    "facts": {},
    "curve": [],
    "threads": {"node": "vm", "cpus": 2, "affinity": [0, 1], "runtimes": {"blas": 1}},
    "state": {},
    "compiled": 0,
}
RECORD = {
    "schema": 1,
    "machine": "0815",  # a name that a reader may take for a number
    "workload": "gemm",
    "variant": "blas",
    "case": CASE.slug,
    "device": "host",
    "cost": {"flops": 1024, "bytes": 1536, "precision": "float64"},
    "protocol": configuration.protocol({}),
    "processes": [PROCESS],
    "converged": False,
    "sources": "9a0011165a802de8",
    "started": "2026-11-27T22:27:23+00:00",
    "wall": 1.7,
    "description": made_up.description(),
    "clocks": {"before": {"lowest": 2445.4, "highest": 2445.4}, "after": {"lowest": 2445.4, "highest": 2445.4}},
    "source": {"commit": "e12e1a3cc3bd624b1b85e27454d2b73a19cecead", "dirty": True},
    "slurm": {},
}
# Texts that YAML may read as something else, that belong to its syntax, or that are unusual as numbers or names.
DIFFICULT_TEXTS = ["0100", "1:30", "1e5", "0815", "nan", ".inf", "~", "on", "2026-11-27", "1_0", "-1", "9" * 5000]
DIFFICULT_TEXTS += ["=", "<<", "!!int x", "&a", "*a", "\t", "\0", "é", "\\ud800", "\ufeff", "²", "１", "x" * 3000]
DIFFICULT_TEXTS += ["[" * 400, "{", "]", ",", ":", "-", "'", '"', "#", "%"]
DIFFICULT_VALUES = [
    None,
    True,
    -1,
    0,
    0.5,
    10**400,
    float("nan"),
    float("inf"),
    [],
    {},
    [[]],
    {"a": 1},
    [None],
    *DIFFICULT_TEXTS,
]


def broken_text(rng, text):
    """A text with some parts removed, doubled, or replaced by difficult ones."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(text))
        end = rng.choice([start, start + 1, start + rng.randint(0, 9), len(text)])
        text = text[:start] + rng.choice(["", *DIFFICULT_TEXTS, text[start:end] * 2]) + text[end:]
    return text


def broken_bytes(rng, text):
    """The same as bytes, perhaps not in UTF-8."""
    raw = bytearray(broken_text(rng, text).encode(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"]), "ignore"))
    if raw and not rng.randint(0, 3):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def broken_value(rng, value):
    """A document with some parts removed or replaced."""
    value = copy.deepcopy(value)
    for _ in range(rng.randint(1, 3)):
        container = value
        while container:
            key = rng.choice(list(container) if isinstance(container, dict) else range(len(container)))
            if isinstance(container[key], dict | list) and container[key] and rng.randint(0, 4):
                container = container[key]
                continue
            if rng.randint(0, 3):
                container[key] = rng.choice(DIFFICULT_VALUES)
            else:
                del container[key]
            break
    return value


# The readers: each breaks a valid input, writes it to `path` unless it is an argument, and reads it.


def read_configuration(rng, path):
    if rng.randint(0, 1):
        path.write_bytes(broken_bytes(rng, yaml.safe_dump(CONFIGURATION)))
    else:
        path.write_text(json.dumps(broken_value(rng, CONFIGURATION)), encoding="utf-8")
    config = configuration.load([path])
    plan.plan(config, {"cpu": Target("here", cores=2)})


def read_argument(rng, path):
    configuration.of_command_line([f"{rng.choice(list(CONFIGURATION))}={broken_text(rng, '{samples: 3}')}"])


def read_slug(rng, path):
    Case.parse("gemm", "blas", broken_text(rng, CASE.slug))


def signed_json(value):
    """A value as JSON; a mapping gets the digest of a record."""
    return json.dumps(value | {"digest": record.digest(value)} if isinstance(value, dict) else value)


def read_record(rng, path):
    if rng.randint(0, 2):
        path.write_text(signed_json(broken_value(rng, RECORD)), encoding="utf-8")
    else:
        path.write_bytes(broken_bytes(rng, signed_json(RECORD)))
    collect.rows_of(record.read(path), {})


def read_idx(rng, path):
    idx.write(path, np.arange(6, dtype=rng.choice(["u1", "f4", "i2"])).reshape(1, 2, 3))
    raw = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 3)):
        raw[rng.randrange(min(len(raw), 20))] = rng.choice([0, 1, 2, 64, 127, 255])
    path.write_bytes(raw[: rng.choice([len(raw), rng.randint(0, len(raw))])])
    idx.read(path)


def read_latents(rng, path):
    path.write_bytes(broken_bytes(rng, "1\n" + " ".join(["0.5"] * 100)))
    formats.read_latents(path)


def test_the_inputs_are_valid_before_they_are_broken(tmp_path):
    (tmp_path / "record").write_text(signed_json(RECORD), encoding="utf-8")
    assert record.read(tmp_path / "record").items() >= RECORD.items()
    (tmp_path / "configuration").write_text(yaml.safe_dump(CONFIGURATION), encoding="utf-8")
    assert configuration.load([tmp_path / "configuration"])["experiments"]["one"] == EXPERIMENT


READERS = (read_configuration, read_argument, read_slug, read_record, read_idx, read_latents)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_a_broken_input_gives_a_value_or_a_ladder_error(tmp_path, read):
    for seed in range(INPUTS_PER_READER):
        try:
            with contextlib.suppress(LadderError):
                read(random.Random(f"{read.__name__} {seed}"), tmp_path / "input")
        except Exception as error:
            raise AssertionError(f"seed {seed} of {read.__name__} ends in {error!r}") from error
