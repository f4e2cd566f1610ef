"""CUDA headers: PTX instructions are in one folder, and each header compiles alone."""

import re

import pytest

from ladder.build import compiler
from ladder.catalogue import locations, native_sources

INCLUDE = locations.WORKLOADS / "include"
HEADERS = sorted(path.relative_to(INCLUDE) for path in INCLUDE.rglob("*.cuh"))
# The macros that headers require of a source that includes them.
MACROS = {"REAL": "float", "FLOAT64": 0, "BLOCK": 64, "LOAD": 4, "BM": 64, "BN": 64, "BK": 8, "TM": 4, "TN": 4}


def test_ptx_instructions_are_only_in_their_folder():
    sources = [path for pattern in ("*.cu", "*.cuh") for path in locations.WORKLOADS.rglob(pattern)]
    texts = {path: native_sources.COMMENT.sub("", path.read_text()) for path in sources}
    folders = {path.parent for path, text in texts.items() if re.search(r"\basm\b", text)}
    assert folders == {INCLUDE / "ptx"}


@pytest.mark.slow
@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_a_header_includes_what_it_needs(tmp_path, header):
    source = tmp_path / "alone.cu"
    source.write_text(f'#include "{header}"\n')
    assert compiler.compile(source, MACROS, "sm_90")[0]
