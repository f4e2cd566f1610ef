"""PyTorch's compiler: where its cache is, and that what it can't compile is a sentence."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(not find_spec("torch"), reason="requires PyTorch: pip install torch")
PROGRAM = """
import torch
from ladder.build import torch_compiler
from ladder.errors import LadderError

double = torch_compiler.compile_whole(lambda values: 2 * values.sin())
try:
    torch_compiler.compile_ahead(lambda: double(torch.ones(100)))
except LadderError as error:
    print(error)
"""


def output(folder, **variables):
    """What the program prints in a folder, which is also its folder for temporary files and its user's home."""
    environment = os.environ | {"HOME": str(folder), "TMPDIR": str(folder)} | variables
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=folder, text=True, stdout=subprocess.PIPE, check=True
    ).stdout


@pytest.mark.slow
def test_the_cache_is_in_the_folder_of_the_study(tmp_path):
    assert output(tmp_path) == ""
    assert any((tmp_path / "results/cache/inductor").rglob("*.so"))
    assert {path.name for path in tmp_path.iterdir()} == {"results"}


@pytest.mark.slow
def test_without_a_compiler_a_sentence_says_what_is_needed(tmp_path):
    assert output(tmp_path, CXX="/nowhere/g++").startswith(
        "PyTorch can't compile this case: InvalidCxxCompiler: No working"
    )
