# The plan of the study: the cases of this machine or cluster, and the objects that the rules ask for their inputs.
from ladder.workflow import interruption

if workflow.is_main_process:
    interruption.handle()

import json
import os
from pathlib import Path

from ladder.catalogue import datasets, published, sources, workloads
from ladder.store import TABLES
from ladder.workflow import builds, commands, data, embedding, figures, invocation, measurement, page, paper, study_plan
from ladder.workflow.builds import Builds
from ladder.workflow.ceilings import Ceilings
from ladder.workflow.claims import Claims
from ladder.workflow.figures import Figures
from ladder.workflow.measurement import Measurement
from ladder.workflow.page import Page
from ladder.workflow.paper import Paper
from ladder.workflow.resources import BlockResources, JobResources
from ladder.workflow.run import Run, announce_jobs, replace_lock, tidy_up
from ladder.workflow.sensitivity import Sensitivity
from ladder.workflow.stamps import Stamps

MERGED_CONFIG = embedding.merged_config(config, workflow, ROOT)
STUDY = study_plan.read(MERGED_CONFIG, workflow, ROOT)
CONFIG = STUDY.config
IS_ON_CLUSTER = bool(STUDY.site)
RUN = Run(STUDY, workflow)
if workflow.is_main_process:
    tidy_up()
    replace_lock(workflow, IS_ON_CLUSTER)
    announce_jobs(RUN.announce)

commands.set_variables(STUDY, workflow)
# The rules run in the environment of Snakemake itself, unless a software deployment method is set.
ENVIRONMENT = "../envs/ladder.yaml"
COMMANDS = commands.Commands(IS_ON_CLUSTER, bool(workflow.deployment_settings.deployment_method))
ladder, on_node = COMMANDS.ladder, COMMANDS.on_node


container: STUDY.image


CEILINGS = Ceilings(STUDY)
STAMPS = Stamps(STUDY)
BUILDS = Builds(STUDY)
MEASUREMENT = Measurement(STUDY, CEILINGS, BUILDS)
RESOURCES = JobResources(STUDY)
FIGURES = Figures(STUDY, CEILINGS)
SENSITIVITY = Sensitivity(STUDY)
# Paths are relative to the working directory, which `--directory` may change; the paper stays in the project.
PAPER = Paper(STUDY, CEILINGS, os.path.relpath(ROOT / "paper"))
PAGE = Page(FIGURES)
