"""pyproject.toml states the order of all packages, and that chapters don't import each other."""

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from conftest import ROOT


def test_no_import_goes_upwards_or_names_a_workload_or_another_chapter(capsys):
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
