"""Write a description of this machine: its CPUs, GPUs, memory and software (JSON)."""

from ladder.machine import description
from ladder.verbs.arguments import write_json


def add_arguments(parser):
    parser.add_argument("--out", required=True)


def run(options):
    write_json(options.out, description.describe())
