"""Unknown targets and misspelt experiments: each is reported in a sentence that suggests the most similar name."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ladder.catalogue import locations
from ladder.workflow import invocation

# A user's figure, which requires experiments that the configuration lacks, and one of the project's.
FIGURES = SimpleNamespace(
    paths={
        "gemm_tilings": Path("/mine/gemm/paper/tilings.py"),
        "mlp_errors": locations.WORKLOADS / "mlp/paper/errors.py",
    },
    constants={"gemm_tilings": {"EXPERIMENTS": ["gemm_tiles", "gone"]}, "mlp_errors": {"EXPERIMENTS": ["quick"]}},
)


def rule(name, *outputs, inputs=()):
    """A rule without wildcards."""
    producer = {"has_wildcards": lambda: False, "is_producer": lambda path: path in outputs}
    return SimpleNamespace(name=name, input=list(inputs), output=list(outputs), **producer)


RULES = [
    rule("figures"),
    rule("table", "results/table.csv", inputs=[len]),  # an input function, which has no name to suggest
    rule("all", inputs=["results/paper.pdf", "results/report.zip"]),
]


def require_targets(*targets):
    """Require these targets of a workflow with RULES and the experiments `quick` and `gemm_tile`."""
    workflow = SimpleNamespace(
        dag_settings=SimpleNamespace(targets=set(targets)),
        rules=RULES,
        is_rule=lambda name: name in [known.name for known in RULES],
    )
    invocation.require_known_targets(workflow, ["quick", "gemm_tile"], FIGURES)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("figurs", "Nothing makes figurs. Did you mean 'figures'?"),
        ("results/paper.pf", "Nothing makes results/paper.pf. Did you mean 'results/paper.pdf'"),
        ("elsewhere/0815", "Nothing makes elsewhere/0815."),
        ("results/figures/gemm_tilngs.pdf", "There is no figure gemm_tilngs. Did you mean 'gemm_tilings'?"),
        (
            "results/figures/gemm_tilings.pdf",
            "The figure gemm_tilings can't be drawn: EXPERIMENTS in /mine/gemm/paper/tilings.py names gemm_tiles and "
            "gone, which the configuration lacks. Did you mean 'gemm_tile'?",
        ),
        ("results/figures/mlp_errors.svg", "mlp_errors is not a figure of this run: it shows data or artefacts"),
        ("results/tables/qick/samples.csv", "The configuration has no experiment qick. Did you mean 'quick'?"),
        ("results/plans/other.json", "The configuration has no experiment other."),
    ],
)
def test_an_unknown_target_is_a_sentence_with_the_nearest_name(target, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a file that exists is a target
    with pytest.raises(SystemExit) as error:
        require_targets("figures", target)
    assert str(error.value).startswith(f"ladder: {sentence}")


def test_rules_files_that_a_rule_makes_and_files_that_exist_are_accepted(tmp_path):
    (tmp_path / "there").touch()
    require_targets("figures", "results/table.csv", "./results//table.csv", str(tmp_path / "there"))
    require_targets()


def test_a_users_figure_that_requires_a_misspelt_experiment_is_reported(capsys):
    invocation.report_misspelt_experiments(["quick", "gemm_tile"], FIGURES)
    invocation.report_misspelt_experiments(["other"], FIGURES)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ladder: The figure gemm_tilings can't be drawn: EXPERIMENTS in /mine/gemm/paper/tilings.py")
