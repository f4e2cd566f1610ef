"""The tables of the campaigns: versions with dots, and flags of every name."""

import pytest

from ladder.report import campaigns_table


@pytest.mark.parametrize(
    ("name", "number", "dotted"),
    [
        ("CUDA runtime", "13020", "13.2"),
        ("CUDA driver", "12090", "12.9"),
        ("cuBLAS", "130100", "13.1.0"),
        ("cuDNN", "91900", "9.19.0"),
        ("NCCL", "22809", "2.28.9"),
        ("NCCL", "2.28.9", "2.28.9"),
        ("gcc", "13", "13"),
    ],
)
def test_a_librarys_version_is_written_with_dots(name, number, dotted):
    assert campaigns_table.version(name, {name: number}) == dotted
    assert campaigns_table.version(name, {}) == "--"


def test_a_name_without_flags_says_so():
    assert r"\texttt{none} (no flag)" in campaigns_table.flags()
