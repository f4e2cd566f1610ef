"""The figures that a run can draw, and the files that each reads."""

from ladder.catalogue import datasets
from ladder.report import figures
from ladder.store import TABLES
from ladder.workflow import data
from ladder.workflow.mistakes import end_run_on_mistake


class Figures:
    """The figures of a StudyPlan and its Ceilings; `names` are those that this run draws, `paths` the modules of all.

    Ends the run at a mistake in a chapter or in a figure's constants.
    """

    @end_run_on_mistake()
    def __init__(self, plan, ceilings):
        self.plan = plan
        self.ceilings = ceilings
        self.constants = {name: figures.constants(name) for name in figures.names()}
        self.paths = {name: path for name, (_, path) in figures.modules().items()}
        inputs = {name: self.extra_inputs_of(name) for name in figures.drawable_names(plan.experiments)}
        self.extra_inputs = {name: paths for name, paths in inputs.items() if paths is not None}
        self.names = list(self.extra_inputs)

    @property
    def files(self):
        """The files into which the figures are drawn, in all formats."""
        return [f"results/figures/{name}.{suffix}" for name in self.names for suffix in figures.FORMATS]

    def category(self, wildcards):
        """The figure's category in the report."""
        return self.constants[wildcards.figure]["CATEGORY"]

    def labels(self, wildcards):
        """The figure's labels in the report."""
        return {"figure": self.constants[wildcards.figure]["TITLE"]}

    def folders(self, wildcards):
        """The folders of the tables that the figure reads."""
        return [f"results/tables/{name}" for name in self.constants[wildcards.figure]["EXPERIMENTS"]]

    def tables(self, wildcards):
        """The files of these tables."""
        return [f"{folder}/{table}.csv" for folder in self.folders(wildcards) for table in TABLES]

    def roofs(self, wildcards):
        """The file of ceilings that the figure reads, in a list; empty if it reads none or no ceiling is known."""
        return self.ceilings.roofs if self.constants[wildcards.figure]["USES_CEILINGS"] else []

    def data_and_artefacts(self, wildcards):
        """The files of data and artefacts that the figure shows."""
        return self.extra_inputs[wildcards.figure]

    def table_options(self, wildcards):
        """The options that name the folders of tables."""
        return [f"--tables={folder}" for folder in self.folders(wildcards)]

    def roofs_option(self, wildcards):
        """The option that names the file of ceilings, in a list."""
        return [f"--roofs={path}" for path in self.roofs(wildcards)]

    def data_option(self, wildcards):
        """The option that names the data that the figure shows; empty without data."""
        name = self.data_of(wildcards.figure)
        return f"--data={data.path_of(name)}" if name else ""

    def artefact_options(self, wildcards):
        """The options that name the artefacts that the figure shows."""
        return [f"--artefact={name}={path}" for name, path in self.artefacts_of(wildcards.figure).items()]

    def data_of(self, figure):
        """The name of the data that a figure shows: those of its workload's first case with data; "" without any."""
        if not self.constants[figure]["USES_DATA"]:
            return ""
        cases = self.cases_of(figures.workload(figure))
        return next(filter(None, (datasets.name_of(case.workload, case.sizes) for case in cases)), "")

    def artefacts_of(self, figure):
        """The artefacts that a figure shows: {file: path}."""
        workload, names = figures.workload(figure), self.constants[figure]["USES_ARTEFACTS"]
        return {name: path for name in names for path in datasets.files(f"{workload}/{name}")}

    def extra_inputs_of(self, figure):
        """The files of data and artefacts that a figure shows; None if one is missing and this run won't provide it."""
        name = self.data_of(figure)
        if self.constants[figure]["USES_DATA"] and not name:
            return None
        workload, names = figures.workload(figure), [name] if name else []
        names += [f"{workload}/{file}" for file in self.artefacts_of(figure)]
        is_measured = self.plan.config["measure"] and self.cases_of(workload)
        if not is_measured and not all(map(data.is_available, names)):
            return None
        return [path for name in names for path in datasets.files(name)]

    def cases_of(self, workload):
        """The cases of a workload."""
        return [item.case for item in self.plan.cases if item.case.workload == workload]


def fingerprint(wildcards):
    """The fingerprint of the code that draws a figure."""
    return figures.fingerprint(wildcards.figure)


def caption(wildcards):
    """A figure's caption for the report."""
    return figures.caption(wildcards.figure)
