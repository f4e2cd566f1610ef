"""Write the plan of an experiment (JSON)."""

from ladder.errors import LadderError
from ladder.planning import configuration, places, plan
from ladder.verbs.arguments import parse_object, write_json


def add_arguments(parser):
    parser.add_argument("config", help="a configuration of that experiment alone, as JSON")
    parser.add_argument("places", help="where cases run, by their kind, as JSON")
    parser.add_argument("--out", required=True)


def run(options):
    config = configuration.checked(parse_object(options.config, "The configuration"))
    if len(config["experiments"]) != 1:
        raise LadderError(f"A plan is of one experiment, but the configuration has {len(config['experiments'])}.")
    (experiment,) = config["experiments"]
    planned = plan.plan(config, places.from_json(parse_object(options.places, "The places")))
    if not config["measure"]:
        planned = plan.measured(planned)
    write_json(options.out, plan.document(planned, experiment))
