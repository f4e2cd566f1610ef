"""A study of a few experiments on the published machines, for tests of the page of results."""

import functools
from dataclasses import replace
from pathlib import Path

from conftest import ROOT
from ladder.records import documents
from ladder.store import PUBLISHED_SUFFIX, TABLES, collect, roofs, table_files
from ladder.store.published_tables import PublishedTables
from ladder.store.study import Study, campaigns_of, dates_of

EXPERIMENTS = (
    *("gemm_square", "gemv_gpu", "gemv_threads", "descent_ladder", "backprop_steps", "mlp_accuracy"),
    *("ceiling_gpu_bandwidth", "ceiling_bandwidth", "ceiling_arithmetic", "ceiling_gpu_arithmetic"),
)


@functools.cache
def study():
    """The Study of these experiments on the published machines, made once for a process."""
    folders = sorted((ROOT / "results/published/campaigns").iterdir())
    folders += [path for path in sorted((ROOT / "results/published").iterdir()) if (path / "machine.json").exists()]
    published = PublishedTables(folders)
    tables = {
        experiment: {
            name: table_files.with_types(collect.concatenate(published.frames(name, experiment, set())))
            for name in TABLES
        }
        for experiment in EXPERIMENTS
    }
    descriptions = {}
    for folder in folders:
        publication = documents.read(folder / "machine.json", "publication")
        descriptions.setdefault(publication["machine"] + PUBLISHED_SUFFIX, publication["description"])
    results = Study(tables, None, descriptions, None, *campaigns_and_dates(folders))
    ceilings = {name: roofs.of_study(results.for_machine(name)) for name in results.machines()}
    return replace(results.for_machine(results.machines()[0]), roofs=ceilings)


def campaigns_and_dates(folders):
    """What is published of campaigns, and when machines were published."""
    publication_files = [folder / "machine.json" for folder in folders]
    return campaigns_of(publication_files), dates_of(publication_files)


@functools.cache
def page():
    """The HTML of the page of results of this study, made once for a process."""
    from ladder.site import page  # here, because the scripts load slowly

    return page.page(study(), {"paper": "paper.pdf"})


def write_page(folder):
    """Write this page to a folder; returns the path."""
    path = Path(folder, "index.html")
    path.write_text(page(), encoding="utf-8")
    return path
