"""The order of all packages, as pyproject.toml states it, and distinct names of the test files."""

from collections import Counter

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from conftest import ROOT, TESTS


def test_no_import_goes_upwards_or_names_a_workload_or_another_chapter(capsys):
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_no_two_files_of_tests_have_one_name():
    """Files outside of packages are imported by their names alone, so pytest can't import two of one name."""
    files = [path for path in TESTS.rglob("test_*.py") if not path.with_name("__init__.py").exists()]
    assert [name for name, count in Counter(path.name for path in files).items() if count > 1] == []
