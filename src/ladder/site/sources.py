"""Where samples are stored and what measured them: a row for each campaign, and each machine outside of campaigns."""

from ladder.records import campaigns
from ladder.store import PUBLISHED_SUFFIX, data_package

COLUMNS = ("name", "file", "cpu", "gpus", "when")
SAMPLES = "samples.csv.gz"


def rows(study):
    """[{COLUMNS}]; `file` is None for a machine whose cases have records, and `gpus` without a GPU.

    `name` is that of a campaign or a machine, and `when` says when it was measured.
    """
    campaign_rows = [campaign_row(name, publication) for name, publication in study.campaigns.items()]
    machines = [name for name in study.machines() if name in study.descriptions]
    return [*campaign_rows, *(machine_row(study, name) for name in machines if not has_only_campaigns(study, name))]


def has_only_campaigns(study, name):
    """Whether a machine is published without a table of its own."""
    return name.endswith(PUBLISHED_SUFFIX) and name not in study.publication_dates


def campaign_row(name, publication):
    """The row of a campaign; `publication` is its `machine.json`."""
    path = f"{campaigns.PUBLISHED}/{name}/{SAMPLES}"
    return source(name, path, publication["description"], data_package.date_in_words(publication))


def machine_row(study, name):
    """The row of a machine; `file` is its published table, or None if its cases have records in `results/records`."""
    folder = f"{data_package.PUBLISHED_FOLDER}/{name.removesuffix(PUBLISHED_SUFFIX)}"
    path = f"{folder}/{SAMPLES}" if name in study.publication_dates else None
    when = data_package.date_in_words({"published": study.publication_dates.get(name)})
    return source(name, path, study.descriptions[name], when)


def source(name, path, description, when):
    """A row, with the processors of a machine's description in words."""
    cpu, gpus = data_package.processors(description)
    return {"name": name, "file": path, "cpu": cpu, "gpus": gpus, "when": when}
