"""PyTorch's compiler, used in `setup` only, so that no timed call compiles; its cache is in the study's folder.

PyTorch and its compiler, Inductor, are imported where a function needs them, since they may be missing.
"""

import os
from collections.abc import Callable
from typing import Any

from ladder.build import compilation
from ladder.errors import LadderError

FOLDER = compilation.FOLDER / "inductor"


def compile_whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as `torch.compile` returns it: compiled as one graph, at its first call and again for new shapes.

    Shapes are constants of the compiled code, which uses no CUDA graphs, so that a variant can capture its calls.
    """
    import torch

    # Inductor reads the variable when it compiles. By default its cache would be in the folder for temporary files,
    # where it always puts precompiled headers.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(FOLDER.absolute()))
    return torch.compile(function, fullgraph=True, dynamic=False, options={"cpp_cache_precompile_headers": False})


def compile_ahead(run: Callable[[], object]) -> None:
    """Call `run`, so that its functions are compiled for all their shapes.

    Raises LadderError if PyTorch can't compile one of them, for instance without a C++ compiler.
    """
    import torch

    try:
        run()
    except torch._dynamo.exc.TorchDynamoException as error:
        raise LadderError(
            f"PyTorch can't compile this case: {reason(error)}. On the CPU it needs g++ and Python's headers (on "
            "Debian: apt-get install g++ python3-dev); compiled=off needs neither."
        ) from error


def reason(error: Exception) -> str:
    """The first line of an error's message that isn't empty, without its final full stop."""
    lines = filter(None, map(str.strip, str(error).splitlines()))
    return next(lines, type(error).__name__).rstrip(".")
