"""The workloads: a folder each, with its inputs, cost and checks in `__init__.py` and a module per variant.

A variant is a module with a DEVICE; other modules of the folder support variants. Users' own lie in the folders of
LADDER_VARIANTS (separated by ':'), laid out alike: `<folder>/<workload>/<variant>.py` for a variant of a workload of
the project's, and whole workloads with an `__init__.py`. A variant is imported only inside its own job; planning reads
its constants as text.
"""

import ast
import functools
import importlib
import os
import sys
from dataclasses import replace
from pathlib import Path

from ladder.catalogue import literals
from ladder.errors import LadderError

HOME = Path(__file__).parents[1] / "workloads"
# Tunings that count something, of which there is at least one.
COUNTS = ("threads", "ranks", "chunks", "gpus")
# A variant's constants that are read as text: a computed one would be overlooked.
LITERALS = ("RUNTIME", "USES", "PEER", "PROGRAMS", "ENVIRONMENT", "PRECISION", "MACROS", "LIMITS", "KERNELS")
# Variables that say what a case says: how many threads, on which GPUs, where things are.
NOT_NAMED = (
    "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS BLIS_NUM_THREADS NUMBA_NUM_THREADS NUMBA_THREADING_LAYER "
    "NUMBA_CACHE_DIR CUDA_VISIBLE_DEVICES PATH HOME PYTHONPATH PYTHONUTF8 LC_ALL"
).split()
# What a tuning's annotation asks of its value.
KINDS = {"int": (int, "a whole number"), "float": (int | float, "a number"), "str": (str, "a word")}


def roots():
    """The folders that hold workloads, the project's own first."""
    return [HOME, *split(os.environ.get("LADDER_VARIANTS", ""))]


@functools.cache
def split(folders):
    """The folders of a text in which ':' separates them."""
    return [home_expanded(folder) for folder in folders.split(":") if folder]


def home_expanded(path):
    """A path with `~` as the home of its user; that of a user who isn't there stays, and names nothing."""
    return Path(os.path.expanduser(path))  # noqa: PTH111, since that of Path raises RuntimeError


def folders(workload):
    """The folders in which modules of a workload are looked for, the project's own first."""
    return [root / workload for root in roots()]


def look_in(extra):
    """Look for variants and workloads in these folders too, in this process and those that it starts."""
    # Not by Path, which raises for a name of 3,000 characters and for a link to itself.
    found = [os.path.realpath(home_expanded(folder)) for folder in extra]
    for folder in found:
        if not os.path.isdir(folder):  # noqa: PTH112
            raise LadderError(f"There is no folder {folder}, which `variant_folders` or LADDER_VARIANTS names.")
    os.environ["LADDER_VARIANTS"] = ":".join(found)
    require_text()


def require_text():
    """Refuse a module in another encoding than UTF-8, which could be told later, but not of which file."""
    for path in (path for root in roots() for path in modules(root, "*/*.py")):
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise LadderError(f"{path} isn't text in UTF-8 ({error}): save it in that encoding.") from None


def modules(folder, pattern):
    """Files of a folder that can be modules: no folder of that name, nor a link by which an editor locks one."""
    return filter(Path.is_file, folder.glob(pattern))


def names():
    """The names of all workloads."""
    found = {path.parent.name for root in roots() for path in root.glob("*/__init__.py")}
    return sorted(filter(problem_path, found))


def problem_path(workload):
    """The file of a workload's problem: the `__init__.py` of its folder, which has SIZES. None where there is none."""
    path = module_path(workload, "__init__")
    return path if path and assigns(path, "SIZES") else None


def load(workload):
    """The module of a workload, users' own and variants outside the repository made importable."""
    name, paths = f"ladder.workloads.{workload}", list(map(str, folders(workload)))
    if name not in sys.modules or list(sys.modules[name].__path__) != paths:
        if not problem_path(workload):
            raise LadderError(f"There is no workload {workload!r}: choose one of {', '.join(names())}.")
        importlib.import_module("ladder.workloads").__path__[:] = map(str, roots())
        importlib.import_module(name).__path__[:] = paths
    return sys.modules[name]


def module_path(workload, name):
    """The file of a module of a workload's folders, or None."""
    return next(filter(os.path.isfile, (folder / f"{name}.py" for folder in folders(workload))), None)


@functools.cache
def variant_path(workload, variant):
    """The file of a variant. Raises LadderError when there is none."""
    path = module_path(workload, variant)
    if path is None or variant == "__init__":
        raise LadderError(
            f"There is no variant {variant!r} of {workload}: write {folders(workload)[0].name}/{variant}.py, "
            f"or choose one of {', '.join(variants(workload))}."
        )
    if "DEVICE" not in literals.read(path):
        raise LadderError(f'{path} doesn\'t say where its arrays live, so it is no variant: add DEVICE = "host".')
    return path


def variants(workload):
    """The names of the variants of a workload."""
    paths = (path for folder in folders(workload) for path in modules(folder, "*.py"))
    return sorted({path.stem for path in paths if "DEVICE" in literals.read(path)})


def rungs(workload):
    """The ladder of a workload: {variant: its idea in a line}, in order, those that RUNGS doesn't name at the end."""
    found = literals.read(problem_path(workload)).get("RUNGS", {})
    return found | {name: "" for name in variants(workload) if name not in found}


def assigns(path, name):
    """Whether a module assigns a name at its top level."""
    nodes = (node for node in literals.statements(path) if isinstance(node, ast.Assign))
    return any(isinstance(one, ast.Name) and one.id == name for node in nodes for one in node.targets)


def defines(workload, variant, name):
    """Whether a variant's module has a function of this name, its own or another's."""
    path = variant_path(workload, variant)
    functions = (node.name for node in literals.statements(path) if isinstance(node, ast.FunctionDef))
    return name in functions or assigns(path, name)


@functools.cache
def constants(workload, variant):
    """A variant's upper-case constants, DEVICE and REQUIRES among them, read without importing it."""
    path = variant_path(workload, variant)
    found = {"REQUIRES": ()} | literals.read(path)
    if computed := [name for name in LITERALS if name not in found and assigns(path, name)]:
        raise LadderError(f"{path} computes {computed[0]}, which is read as text: write out its value.")
    if not {"RUNTIME", "USES"} & set(found):
        raise LadderError(
            f'{path} doesn\'t say whose threads it works on: add RUNTIME = "numba", "blas" or another runtime.'
        )
    return found


def arguments(workload, variant):
    """The keyword-only arguments of a variant's `setup`, read without importing it: [(argument, default or None)]."""
    path = variant_path(workload, variant)
    for node in literals.statements(path):
        if isinstance(node, ast.FunctionDef) and node.name == "setup":
            return list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
    raise LadderError(f"{path} has no function `setup`: see the other variants of {workload}.")


@functools.cache
def tunings(workload, variant):
    """What a variant's `setup` takes: {name: (kind, is required)}; `kind` is the annotation's text."""
    return {
        one.arg: (one.annotation and ast.unparse(one.annotation), default is None)
        for one, default in arguments(workload, variant)
    }


def choices(kind):
    """The words of a tuning annotated `Literal["a", "b"]`; of any other none."""
    return ast.literal_eval(f"({kind[8:-1]},)") if kind and kind.startswith("Literal[") else ()


def defaults(workload, variant):
    """The tunings that have a default: {name: value}."""
    found = arguments(workload, variant)
    return {one.arg: ast.literal_eval(default) for one, default in found if default is not None}


def require_tuning(workload, variant, tuning):
    """Refuse a tuning that the variant's `setup` would not take."""
    takes, name = tunings(workload, variant), f"{workload}/{variant}"
    if unknown := sorted(set(tuning) - set(takes)):
        raise LadderError(f"{name} has no tuning named {', '.join(unknown)}: it takes {', '.join(takes) or 'none'}.")
    for key, (kind, is_required) in takes.items():
        if key not in tuning:
            if is_required:
                raise LadderError(f"{name} needs a value for its tuning {key!r}: it takes {', '.join(takes)}.")
            continue
        if (words := choices(kind)) and tuning[key] not in words:
            raise LadderError(f"{key}={tuning[key]!r} of {name} must be one of {', '.join(words)}.")
        types, need = KINDS.get(kind, (object, "anything"))
        if not isinstance(tuning[key], types) or (key in COUNTS and tuning[key] < 1):
            raise LadderError(f"{key}={tuning[key]!r} of {name} must be {need}{' of at least 1' * (key in COUNTS)}.")


def require_sound(case):
    """Refuse a case that no plan would have: of unknown or incomplete sizes or tuning."""
    require_text()
    full = replace(case, sizes=complete(case.workload, case.sizes)).slug
    if full != case.slug:
        raise LadderError(f"The case {case.slug!r} isn't written in full: {full!r}.")
    require_tuning(case.workload, case.variant, case.tuning)
    require_variables(case)
    for other in used(case):
        variant_path(*other)
    if reason := beyond_limits(case):
        raise LadderError(f"The case {case.key} can't be measured: {reason}.")


def beyond_limits(case):
    """Why a case is outside of what its variant's LIMITS allow, or None.

    LIMITS is {size or tuning: (least, most)}, or the words allowed in place of the two numbers.
    """
    values = {**case.sizes, **case.tuning}
    for name, allowed in constants(case.workload, case.variant).get("LIMITS", {}).items():
        if name not in values:
            continue
        if isinstance(values[name], str):
            if values[name] not in allowed:
                return f"{case.workload}/{case.variant} takes {name} {' or '.join(allowed)} only"
        elif not allowed[0] <= values[name] <= allowed[1]:
            return f"{case.workload}/{case.variant} takes {name} from {allowed[0]} to {allowed[1]} only"
    return None


def used(case):
    """The variants of other workloads that a case's tuning names: {(workload, variant)}."""
    uses = constants(case.workload, case.variant).get("USES", {})
    tuning = defaults(case.workload, case.variant) | case.tuning if uses else {}
    return {(workload, tuning[name]) for name, workload in uses.items()}


def device(case):
    """The name of the device that a case is timed on."""
    return constants(case.workload, case.variant)["DEVICE"]


def cards(case):
    """How many GPUs a case is timed on."""
    return {"cuda": 1, "mpi_cuda": case.ranks, "offload": case.tuning.get("gpus", 1)}.get(device(case), 0)


def runtime(case):
    """Whose threads a case counts, a variant's RUNTIME; a variant that uses another's kernels has theirs."""
    own = constants(case.workload, case.variant).get("RUNTIME")
    found = [own] if own else [constants(*other)["RUNTIME"] for other in sorted(used(case))]
    return found[0] if found else None


def environment(case):
    """The variables that a variant asks for, its tunings filled in: its ENVIRONMENT, {"OMP_PROC_BIND": "{binding}"}."""
    asked = constants(case.workload, case.variant).get("ENVIRONMENT", {})
    return {name: text.format(**case.tuning) for name, text in asked.items()}


def require_variables(case):
    """Refuse variables of the environment by which a case would be another than its name says."""
    own = environment(case)
    for name in case.variables:
        if name in own:
            raise LadderError(f"{name} is set by the variant {case.workload}/{case.variant}: leave it to its tunings.")
        if name in NOT_NAMED or name.startswith("LADDER_"):
            raise LadderError(f"{name} can't be named by the key `environment`: the harness sets it for every case.")


def precision(case):
    """The arithmetic that a case works in: its dtype, or the lower one that a variant or, for float32, `math` says."""
    dtype = case.sizes["dtype"]
    for workload, variant in [(case.workload, case.variant), *sorted(used(case))]:
        dtype = constants(workload, variant).get("PRECISION", {}).get(dtype, dtype)
    math = case.tuning.get("math", "default")
    return dtype if math == "default" or dtype == "float64" else math


def load_variant(workload, variant):
    """The module of a variant; for measuring jobs alone."""
    load(workload)
    variant_path(workload, variant)
    return importlib.import_module(f"ladder.workloads.{workload}.{variant}")


def complete(workload, sizes):
    """The sizes in the workload's own order, defaults filled in, each checked.

    A workload's SIZES maps a name to a tuple of the words allowed (the first is the default), to `int` (a whole number
    of at least 1, required), to `float` (a number above 0, required), to a number (any of at least 0, whole where it
    is; the default), or to a text (any; the default).
    """
    module = load(workload)
    if unknown := set(sizes) - set(module.SIZES):
        raise LadderError(
            f"{workload} has no size named {', '.join(sorted(unknown))}: its sizes are {', '.join(module.SIZES)}."
        )
    full = {
        name: checked(workload, name, kind, sizes.get(name, default_of(kind))) for name, kind in module.SIZES.items()
    }
    if problem := getattr(module, "refuse", lambda sizes: None)(full):
        raise LadderError(problem)
    return full


def checked(workload, name, kind, value):
    """A size's value by its kind in SIZES. Raises LadderError where it is none, None included."""
    if value is None:
        raise LadderError(f"{workload} needs a value for its size {name!r}.")
    if isinstance(kind, tuple):
        if value not in kind:
            raise LadderError(f"{name}={value!r} of {workload} must be one of {', '.join(map(str, kind))}.")
        return value
    if isinstance(kind, str):
        return str(value)
    least, is_count = (1 if kind is int else 0), kind is int or isinstance(kind, int)
    is_number = isinstance(value, int if is_count else int | float) and not isinstance(value, bool)
    if not is_number or not least <= value < float("inf") or (kind is float and not value):
        need = "a number above 0" if kind is float else f"a {'whole ' if is_count else ''}number of at least {least}"
        raise LadderError(f"{name}={value!r} of {workload} must be {need}.")
    return value if is_count else float(value)


def default_of(kind):
    """The default of a size, None where it is required."""
    return kind[0] if isinstance(kind, tuple) else None if isinstance(kind, type) else kind


def small_sizes(workload, given, count):
    """Sizes with these, and every other count that has no default the same."""
    counts = {name: kind(count) for name, kind in load(workload).SIZES.items() if isinstance(kind, type)}
    return complete(workload, counts | given)
