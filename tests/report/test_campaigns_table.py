"""The tables of the campaigns: the notation of versions, shared columns, and names without flags."""

from types import SimpleNamespace

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


def campaign_description(**packages):
    description = {"system": "Linux 6", "python": "3.12", "gpus": [], "libraries": packages}
    return {"description": description, "campaign": {"software": {"gcc": "13"}}}


def test_campaigns_with_the_same_software_share_a_column():
    descriptions = {number: campaign_description(numpy="2.2" if number == 3 else "2.1") for number in range(1, 8)}
    rows = campaigns_table.environments(SimpleNamespace(campaigns=descriptions)).splitlines()
    assert any("1, 2, 4--7 & 3" in row for row in rows)
    assert any(row.startswith("numpy & 2.1 & 2.2") for row in rows)
    assert not any("GPU driver" in row for row in rows)


def test_a_name_without_flags_says_so():
    assert r"\texttt{none} (no flag)" in campaigns_table.flags()
