"""The workloads: one folder each, with its inputs, cost and checks in `__init__.py` and one module per variant.

A variant is a module with a DEVICE; other modules of the folder are helpers. LADDER_VARIANTS names users' folders,
separated by ':', with the same layout: `<folder>/<workload>/<variant>.py` for a variant of one of the project's
workloads, or whole workloads with an `__init__.py`. Only the job that runs a variant imports it; planning reads its
constants as text.
"""

import ast
import functools
import importlib
import inspect
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from ladder.catalogue import blame, contracts, forms, literals
from ladder.errors import LadderError, did_you_mean
from ladder.records.files import abbreviate, require_utf8

HOME = Path(__file__).parents[1] / "workloads"
# Tunings that are numbers of something, at least 1.
COUNTS = ("threads", "ranks", "chunks", "gpus")
# Environment variables that the harness sets for every case, so that a configuration can't.
HARNESS_VARIABLES = (
    "OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS BLIS_NUM_THREADS NUMBA_NUM_THREADS NUMBA_THREADING_LAYER "
    "NUMBA_CACHE_DIR CUDA_VISIBLE_DEVICES PATH HOME PYTHONPATH PYTHONSAFEPATH PYTHONUTF8 LC_ALL"
).split()
# The annotations of tunings: the type that each requires, and its name in messages.
KINDS = {"int": (int, "a whole number"), "float": (int | float, "a number"), "str": (str, "a word")}


def roots():
    """The folders that hold workloads, the project's first."""
    return [HOME, *split_folders(os.environ.get("LADDER_VARIANTS", ""))]


@functools.cache
def split_folders(folders):
    """The folders in a text, separated by ':'. Raises LadderError if one doesn't exist."""
    paths = [home_expanded(folder) for folder in folders.split(":") if folder]
    for folder in paths:
        require_folder(folder)
    return paths


def require_folder(folder):
    """Refuse a folder of the user's that doesn't exist or whose path isn't UTF-8."""
    if not os.path.isdir(folder):  # noqa: PTH112, Path.is_dir raises for a name of 3,000 characters
        raise LadderError(f"There is no folder {abbreviate(folder)}, which `variant_folders` or LADDER_VARIANTS names.")
    require_utf8(folder)


def home_expanded(path):
    """A path with `~` replaced by the user's home; `~name` of an unknown user remains."""
    return Path(os.path.expanduser(path))  # noqa: PTH111, Path.expanduser raises RuntimeError


def folders(workload):
    """The folders that may hold modules of a workload, the project's first."""
    return [root / workload for root in roots()]


def search_folders(folders):
    """Search these folders for variants and workloads too, in this process and its child processes."""
    # By realpath, since Path.resolve raises for a name of 3,000 characters and for a link to itself.
    paths = [os.path.realpath(home_expanded(folder)) for folder in folders]
    for folder in paths:
        require_folder(folder)
    os.environ["LADDER_VARIANTS"] = ":".join(paths)
    require_text()


def require_text():
    """Refuse modules that aren't UTF-8; a later error wouldn't name the file."""
    for path in (path for root in roots() for path in modules(root, "*/*.py")):
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise LadderError(f"{path} isn't text in UTF-8 ({error}): save it in that encoding.") from None


def modules(folder, pattern):
    """A folder's files that match a pattern, without folders and the dangling links by which editors lock files."""
    return filter(Path.is_file, folder.glob(pattern))


def names():
    """The names of all workloads."""
    candidates = {path.parent.name for root in roots() for path in root.glob("*/__init__.py")}
    return sorted(filter(problem_path, candidates))


def problem_path(workload):
    """The file that defines a workload's problem, the `__init__.py` that assigns SIZES; None if there is none."""
    path = module_path(workload, "__init__")
    return path if path and assigns(path, "SIZES") else None


def load(workload):
    """Import a workload's module, add the defaults of names that it lacks, and make users' variants importable."""
    name, paths = f"ladder.workloads.{workload}", list(map(str, folders(workload)))
    if name not in sys.modules or list(sys.modules[name].__path__) != paths:
        require_workload(workload)
        importlib.import_module("ladder.workloads").__path__[:] = map(str, roots())
        path = problem_path(workload)
        try:
            importlib.import_module(name).__path__[:] = paths
        except blame.MISTAKES as error:
            raise LadderError(f"{blame.sentence(error, f'The import of the workload {workload}', path)}.") from error
        forms.require_sizes(path, sys.modules[name].SIZES)
        guard_functions(sys.modules[name], path)
    fill_defaults(sys.modules[name])
    return sys.modules[name]


def guard_functions(module, path):
    """Have mistakes in a workload's functions raise LadderError with their place."""
    for name, entry in contracts.WORKLOAD.names.items():
        function = getattr(module, name, None)
        if inspect.isfunction(function) and not hasattr(function, "is_guarded"):
            setattr(module, name, blame.guarded(function, f"{name}({entry.arguments})", path))


@functools.cache
def fill_defaults(module):
    """Add the defaults of the contract to a workload's module for the names that it lacks."""
    defaults = importlib.import_module(contracts.DEFAULTS)
    for name in contracts.with_default():
        if not hasattr(module, name):
            default = getattr(defaults, name)
            setattr(module, name, partial(default, module) if callable(default) else default)


def require_workload(workload):
    """Refuse a workload that doesn't exist."""
    if problem_path(workload):
        return
    if path := module_path(workload, "__init__"):
        contracts.refuse_misspelt(path, contracts.WORKLOAD)
    raise LadderError(
        f"There is no workload {workload!r}: choose one of {', '.join(names())}.{did_you_mean(workload, names())}"
    )


@functools.cache
def require_contract(workload, variant=None):
    """Refuse a workload's modules and chapter, or one of its variants, if they break their contracts."""
    if variant:
        path = variant_path(workload, variant)
        contracts.require(path, contracts.VARIANT)
        forms.require(path)
        forms.require_variant(path, load(workload).SIZES, tunings(workload, variant))
    else:
        require_workload(workload)
        path = problem_path(workload)
        forms.require(path)
        contracts.require_workload(path.parent)
        # A module that isn't a variant, for instance because its DEVICE is misspelt, is refused where it is used.
        known = sorted({module.stem for folder in folders(workload) for module in modules(folder, "*.py")})
        forms.require_rungs(path, workload, known)


def module_path(workload, name):
    """The file of a module in a workload's folders, or None."""
    return next(filter(os.path.isfile, (folder / f"{name}.py" for folder in folders(workload))), None)


@functools.cache
def variant_path(workload, variant):
    """The file of a variant. Raises LadderError if it doesn't exist or has no DEVICE."""
    path = module_path(workload, variant)
    if path is None or variant == "__init__":
        raise LadderError(
            f"There is no variant {variant!r} of {workload}: write {folders(workload)[0].name}/{variant}.py, "
            f"or choose one of {', '.join(variants(workload))}.{did_you_mean(variant, variants(workload))}"
        )
    if "DEVICE" not in literals.read(path):
        contracts.refuse_misspelt(path, contracts.VARIANT)
        raise LadderError(f"{path} doesn't say where its arrays live, so it isn't a variant: add DEVICE = \"host\".")
    return path


def variants(workload):
    """The names of the variants of a workload."""
    paths = (path for folder in folders(workload) for path in modules(folder, "*.py"))
    return sorted({path.stem for path in paths if "DEVICE" in literals.read(path)})


def rungs(workload):
    """The ladder of a workload, {variant: its idea in one line}, in order; variants missing from RUNGS come last."""
    ideas = literals.read(problem_path(workload)).get("RUNGS", {})
    return ideas | {name: "" for name in variants(workload) if name not in ideas}


def assigns(path, name):
    """Whether a module assigns a name at its top level."""
    nodes = (node for node in literals.statements(path) if isinstance(node, ast.Assign))
    return any(isinstance(target, ast.Name) and target.id == name for node in nodes for target in node.targets)


def defines(workload, variant, name):
    """Whether a variant's module defines or assigns a function of this name."""
    path = variant_path(workload, variant)
    functions = (node.name for node in literals.statements(path) if isinstance(node, ast.FunctionDef))
    return name in functions or assigns(path, name)


@functools.cache
def constants(workload, variant):
    """A variant's upper-case constants, including DEVICE and REQUIRES, read without importing it."""
    path = variant_path(workload, variant)
    values = literals.read(path)
    # TILES may be computed by a variant that chooses the tile itself.
    literal = [name for name in contracts.constants() if name != "TILES"]
    if computed := [name for name in literal if name not in values and assigns(path, name)]:
        raise LadderError(f"{path} computes {computed[0]}, which is read as text: write out its value.")
    if not {"RUNTIME", "USES"} & set(values):
        raise LadderError(
            f'{path} doesn\'t say whose threads it uses: add RUNTIME = "numba", "blas" or another runtime.'
        )
    return {"REQUIRES": ()} | values


def arguments(workload, variant):
    """The keyword-only arguments of a variant's `setup`, read without importing it: [(argument, default or None)]."""
    path = variant_path(workload, variant)
    for node in literals.statements(path):
        if isinstance(node, ast.FunctionDef) and node.name == "setup":
            return list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
    raise LadderError(f"{path} has no function `setup`: see the other variants of {workload}.")


@functools.cache
def tunings(workload, variant):
    """The tunings of a variant's `setup`, {name: (kind, is required)}; `kind` is the annotation's text."""
    return {
        argument.arg: (argument.annotation and ast.unparse(argument.annotation), default is None)
        for argument, default in arguments(workload, variant)
    }


def choices(kind):
    """The words of a tuning annotated `Literal["a", "b"]`; empty for any other annotation."""
    return ast.literal_eval(f"({kind[8:-1]},)") if kind and kind.startswith("Literal[") else ()


def defaults(workload, variant):
    """The tunings that have a default: {name: value}."""
    pairs = arguments(workload, variant)
    return {argument.arg: ast.literal_eval(default) for argument, default in pairs if default is not None}


def require_tuning(workload, variant, tuning):
    """Refuse a tuning that the variant's `setup` doesn't accept."""
    takes, name = tunings(workload, variant), f"{workload}/{variant}"
    if unknown := sorted(set(tuning) - set(takes)):
        raise LadderError(
            f"{name} has no tuning named {', '.join(unknown)}: it takes {', '.join(takes) or 'none'}."
            f"{did_you_mean(unknown[0], takes)}"
        )
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
    """Refuse a case that no plan could contain, for instance because a size or a tuning is unknown or missing."""
    require_text()
    require_contract(case.workload)
    require_contract(case.workload, case.variant)
    full = replace(case, sizes=complete(case.workload, case.sizes)).slug
    if full != case.slug:
        raise LadderError(f"The case {case.slug!r} isn't written in full: {full!r}.")
    require_tuning(case.workload, case.variant, case.tuning)
    refuse_reserved_variables(case)
    for other in used_variants(case):
        variant_path(*other)
    if reason := beyond_limits(case):
        raise LadderError(f"The case {case.key} can't be measured: {reason}.")


def beyond_limits(case):
    """Why a case exceeds its variant's LIMITS, or None.

    LIMITS is {size or tuning: (min, max)}, or the allowed words in place of the two numbers.
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


def used_variants(case):
    """The variants of other workloads that a case's tuning selects by USES, {(workload, variant)}."""
    uses = constants(case.workload, case.variant).get("USES", {})
    tuning = defaults(case.workload, case.variant) | case.tuning if uses else {}
    return {(workload, tuning[name]) for name, workload in uses.items()}


def reference_slug(case):
    """The name of the file of a case's reference, without its suffix; None where the worker computes it."""
    sizes = load(case.workload).reference_sizes(case.sizes)
    if sizes is None:
        return None
    reference = replace(case, sizes=sizes, tuning={}, variables={}, cache="cold")
    return reference.slug.removesuffix(",cache=cold")


def device(case):
    """The name of the device that a case is timed on."""
    return constants(case.workload, case.variant)["DEVICE"]


def gpus(case):
    """The number of GPUs that a case is timed on."""
    return {"cuda": 1, "mpi_cuda": case.ranks, "offload": case.tuning.get("gpus", 1)}.get(device(case), 0)


def runtime(case):
    """The runtime of a case's threads: the variant's RUNTIME, or that of the first variant that it uses, or None."""
    if runtime := constants(case.workload, case.variant).get("RUNTIME"):
        return runtime
    return next((constants(*other)["RUNTIME"] for other in sorted(used_variants(case))), None)


def environment(case):
    """A variant's ENVIRONMENT, such as {"OMP_PROC_BIND": "{binding}"}, with the case's tunings filled in."""
    templates = constants(case.workload, case.variant).get("ENVIRONMENT", {})
    return {name: template.format(**case.tuning) for name, template in templates.items()}


def refuse_reserved_variables(case):
    """Refuse environment variables of a case that its variant or the harness sets."""
    variant_sets = environment(case)
    for name in case.variables:
        if name in variant_sets:
            raise LadderError(f"{name} is set by the variant {case.workload}/{case.variant}: leave it to its tunings.")
        if name in HARNESS_VARIABLES or name.startswith("LADDER_"):
            raise LadderError(f"{name} can't be named by the key `environment`: the harness sets it for every case.")


def precision(case):
    """The precision of a case's arithmetic: its dtype unless PRECISION or, for float32, the tuning `math` lower it."""
    dtype = case.sizes["dtype"]
    for workload, variant in [(case.workload, case.variant), *sorted(used_variants(case))]:
        dtype = constants(workload, variant).get("PRECISION", {}).get(dtype, dtype)
    math = case.tuning.get("math", "default")
    return dtype if math == "default" or dtype == "float64" else math


def load_variant(workload, variant):
    """Import a variant's module; only jobs that run the variant may do so."""
    load(workload)
    variant_path(workload, variant)
    return importlib.import_module(f"ladder.workloads.{workload}.{variant}")


def complete(workload, sizes):
    """All sizes of a case, in the workload's order, with defaults filled in. Raises LadderError for invalid sizes.

    A workload's SIZES maps the name of each size to its kind: `int` (required, a whole number of at least 1), `float`
    (required, a number above 0), a tuple of allowed words (the first is the default), a number (the default of a number
    of at least 0, which must be whole if the default is), or a text (the default of any text).
    """
    module = load(workload)
    if unknown := set(sizes) - set(module.SIZES):
        raise LadderError(
            f"{workload} has no size named {', '.join(sorted(unknown))}: its sizes are {', '.join(module.SIZES)}."
            f"{did_you_mean(min(unknown), module.SIZES)}"
        )
    full = {
        name: require_size(workload, name, kind, sizes.get(name, default_of(kind)))
        for name, kind in module.SIZES.items()
    }
    if problem := module.refuse(full):
        raise LadderError(problem)
    return full


def require_size(workload, name, kind, value):
    """The value of a size, converted to its kind in SIZES. Raises LadderError if it is None or doesn't fit."""
    if value is None:
        raise LadderError(f"{workload} needs a value for its size {name!r}.")
    if isinstance(kind, tuple):
        if value not in kind:
            raise LadderError(f"{name}={value!r} of {workload} must be one of {', '.join(map(str, kind))}.")
        return value
    if isinstance(kind, str):
        return str(value)
    minimum, is_count = (1 if kind is int else 0), kind is int or isinstance(kind, int)
    is_number = isinstance(value, int if is_count else int | float) and not isinstance(value, bool)
    if not is_number or not minimum <= value < float("inf") or (kind is float and not value):
        need = "a number above 0" if kind is float else f"a {'whole ' if is_count else ''}number of at least {minimum}"
        raise LadderError(f"{name}={value!r} of {workload} must be {need}.")
    return value if is_count else float(value)


def default_of(kind):
    """The default of a size of this kind, None if it is required."""
    return kind[0] if isinstance(kind, tuple) else None if isinstance(kind, type) else kind


def small_sizes(workload, sizes, count):
    """Complete sizes: the given ones, and `count` for all other required ones."""
    counts = {name: kind(count) for name, kind in load(workload).SIZES.items() if isinstance(kind, type)}
    return complete(workload, counts | sizes)
