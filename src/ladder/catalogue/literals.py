"""The literals at the top of a module, read as text, so that planning imports no workload, no CUDA and no MPI."""

import ast
import functools

from ladder.catalogue.workloads import statements


@functools.cache
def read(path):
    """A module's upper-case names that are bound to literals, {name: value}; none where there is no such file.

    Raises LadderError when the file isn't Python.
    """
    found = {}
    for node in statements(path) if path.is_file() else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue  # computed when the module is imported
    return found
