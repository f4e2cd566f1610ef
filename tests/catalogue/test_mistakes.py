"""Mistakes in a user's own workload and variants: each is a sentence that blames the right file and line.

The workload is a sparse matrix-vector product, `tests/workloads/sparse/spmv`, in which one text is replaced by another.
"""

import contextlib
import io
import json
import os
import re
import shutil
import sys
from functools import partial

import numpy as np
import pytest

from conftest import JOB_PROTOCOL, TESTS
from ladder import devices
from ladder.catalogue import circular_imports, locations, missing_imports, sources, trial, undefined_names, workloads
from ladder.errors import LadderError
from ladder.harness import comparison, kernel_counters, profiling, ranking_session, steps, turns, worker, workers
from ladder.harness.ranking import QUICK
from ladder.planning import configuration, plan, targets
from ladder.planning.plan import grid
from ladder.records.case import Case

SIZES = {"rows": 30, "columns": 20, "per_row": 5}
# The sums that the variant `gathered` computes, and its statement that writes them into `problem.out`.
SUM_EXPRESSION = "np.add.reduceat(problem.entries * problem.x[problem.indices], problem.starts[:-1])"
SUM_STATEMENT = "np.add.reduceat(problem.entries * problem.x[problem.indices], problem.starts[:-1], out=problem.out)"


def forget_spmv():
    """Forget the sources and the module of `spmv`, which a test changes."""
    sources.clear_caches()
    for name in [name for name in sys.modules if name.startswith("ladder.workloads.spmv")]:
        del sys.modules[name]


@pytest.fixture
def spmv(tmp_path, monkeypatch):
    """A copy of the workload in a user's folder."""
    shutil.copytree(TESTS / "workloads/sparse", tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "own"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    forget_spmv()
    yield tmp_path / "own/spmv"
    monkeypatch.undo()
    forget_spmv()


def edit(path, old, new):
    """Replace a text in a file; the number of the line in which it begins."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return text[: text.index(old)].count("\n") + 1


def plan_copy(sizes=SIZES, variants=None):
    """Plan an experiment with the copy."""
    variants = variants or {"gathered": {"threads": 1}, "by_row": {"threads": 2}}
    experiment = {"question": "?", "workload": "spmv", "sizes": sizes, "variants": variants}
    config = configuration.validate({"experiments": {"one": experiment}, "cores": 2, "gpus": 0})
    return plan.plan(config, targets.this_machine(config))


def refusal(*arguments):
    """The message with which planning refuses the copy."""
    with pytest.raises(LadderError) as caught:
        plan_copy(*arguments)
    return str(caught.value)


def answers_of_worker(monkeypatch):
    """What a worker of the copy's `gathered` answers, in this process."""
    case = Case("spmv", "gathered", workloads.complete("spmv", SIZES), {"threads": 1})
    job = {"workload": "spmv", "variant": "gathered", "case": case.slug, "data": {}, "reference": None} | JOB_PROTOCOL
    job["fault_report"] = os.devnull
    messages = iter([json.dumps(job), "go {}"])  # the harness sends the job, then the order to measure
    output, host = io.StringIO(), devices.load("host")
    monkeypatch.setattr(host, "receive", lambda: next(messages))
    monkeypatch.setattr(host, "require_threads", lambda *arguments: None)  # this process may have any number of them
    monkeypatch.setattr(host, "flusher", lambda: lambda: None)
    monkeypatch.setattr(sys, "argv", ["worker", "host"])
    monkeypatch.setattr(sys, "stdout", output)
    with contextlib.suppress(SystemExit, Exception):
        worker.main()
    return [json.loads(line) for line in output.getvalue().splitlines()]


def command_words(sizes):
    """Sizes as words of a command line."""
    return [f"{name}={value}" for name, value in sizes.items()]


def test_the_workload_without_a_mistake_is_planned(spmv):
    assert [item.skip_reason for item in plan_copy()] == [None, None]
    assert len(plan_copy(SIZES | {"rows": [10, 10**7]})) == 4


# Of the workload: (text, its replacement, the sentence, where the blamed line is: lines below the text, a text in that
# line, or None if no line is checked). In a sentence `.*` is a pattern.
WORKLOAD_MISTAKES = [
    # Constants.
    ("SIZES = {", "SIZES = [{", "isn't valid Python", None),
    ('SIZES = {"rows": int', 'SIZES = {"rows": list', r"`SIZES` .*has <class 'list'> as the kind of 'rows'", 0),
    ('"dtype": ("float64", "float32"), ', "", "must have `dtype`, a tuple of dtypes", None),
    ('ARRAYS = ("starts", "indices", ', 'ARRAYS = ("starts", ', "`ARRAYS` .*lacks 'indices', an array of `arrays`", 0),
    (
        '"gathered": "two',
        '"gatherd": "two',
        "`RUNGS` .*names 'gatherd', .* no variant of spmv. Did you mean 'gathered'",
        -1,
    ),
    ('"two passes of NumPy"', "2", "`RUNGS` .*must be a mapping of each variant to a line", -1),
    ("RUNGS = {", 'FACTS = ("out")\nRUNGS = {', r"`FACTS` .*is 'out': it must be names in a tuple", 0),
    ("RUNGS = {", 'FACTS = ("steps",)\nRUNGS = {', "cost.* must be `cost(sizes, facts)`", None),
    ("RUNGS = {", 'GENERATED = ("y",)\nRUNGS = {', "`GENERATED` .*names 'y', which is not among the inputs", 0),
    ("RUNGS = {", 'GENERATED = ("x",)\nRUNGS = {', "`GENERATED` .*no function `generate(problem, round)`", 0),
    ('    "by_row": ', '    "gathered": ', "gives the key 'gathered' more than once, with different values", -1),
    ("RUNGS = {", 'CEILING = "memory"\nRUNGS = {', "`CEILING` .*is 'memory': it must be one of flops", 0),
    ("RUNGS = {", 'STATEFUL = "no"\nRUNGS = {', "`STATEFUL` .*is 'no': it must be `True` or `False`", 0),
    ("RUNGS = {", "width = undefined\nRUNGS = {", "uses 'undefined', which is not defined", 0),
    (
        "import numpy as np",
        "import nunpy as np",
        "imports 'nunpy', which isn't installed. Install nunpy.",
        0,
    ),
    # Functions that stop.
    ('sizes["per_row"] > sizes', 'sizes["row"] > sizes', r"`refuse(sizes)` .* stopped with KeyError: 'row'", 0),
    (
        '    count = sizes["rows"] *',
        '    count = size["rows"] *',
        "uses 'size', which is not defined. Did you mean 'sizes'",
        0,
    ),
    (
        'inputs["starts"][...]',
        'inputs["start"][...]',
        r"`fill(inputs, sizes, round, data)` .* stopped with KeyError",
        0,
    ),
    (
        '% sizes["columns"]).ravel()',
        '% sizes["columns"])',
        r"`fill(inputs, sizes, round, data)` .* stopped with ValueError: could not broadcast",
        0,
    ),
    ("np.prod(shape) * np.dtype(dtype)", "np.prod(shape) * dtype", r"`cost(sizes)` .* stopped with AttributeError", 0),
    ('.reshape(sizes["rows"]', ".reshape(7", r"`expected(sizes, inputs, precision)` .* stopped with ValueError", 0),
    ("    return None\n", "    return 1 / 0\n", r"`refuse(sizes)` .* stopped with ZeroDivisionError", 0),
    # Results of `arrays`.
    (
        '    return inputs, {"out"',
        '    return {**inputs, "out"',
        "`arrays(sizes)` .*must return a pair of mappings",
        "def arrays",
    ),
    (
        '"x": ((sizes["columns"],), sizes["dtype"])',
        '"x": (sizes["columns"], sizes["dtype"])',
        "the shape 20 for 'x'",
        "def arrays",
    ),
    ('"x": ((sizes["columns"],), sizes["dtype"])', '"x": (sizes["columns"],)', r"`(shape, dtype)`", "def arrays"),
    (
        '"int64"),\n        "indices"',
        '"int46"),\n        "indices"',
        "the dtype 'int46' for 'starts', which NumPy",
        "def arrays",
    ),
    (
        '"int64"),\n        "indices"',
        '"bool"),\n        "indices"',
        "the dtype 'bool' for 'starts'.* floating-point numbers or integers",
        "def arrays",
    ),
    ('"x": ((sizes["columns"],)', '"x": ((sizes["columns"] / 2,)', r"the shape (10.0,) for 'x'", "def arrays"),
    (
        '    return inputs, {"out"',
        '    return inputs, {"x"',
        "calls an array 'x': every array needs a name of its own",
        "def arrays",
    ),
    # Results of `fill`.
    ("    return list(inputs)\n", "", "`fill(.*returns nothing: it lacks a `return` with a value", "def fill"),
    ("    return list(inputs)\n", "    return None\n", "`fill(.*returns None: it must return the names", "def fill"),
    (
        "    return list(inputs)\n",
        '    return ["y"]\n',
        "returns the name 'y', which is not among the inputs",
        "def fill",
    ),
    (
        "    return list(inputs)\n",
        '    return ["x"]\n',
        "doesn't return the name of the input 'starts' in round 0",
        "def fill",
    ),
    ('("entries", "x")', '("entries",)', "leaves elements of the input 'x' unwritten", "def fill"),
    ("[name][...] = generator", "[name] = generator", "replaces an array of `inputs`: write into it", "def fill"),
    (
        '[sizes["seed"], round]',
        'sizes["seed"]',
        "writes the same inputs in every round: seed the generator",
        "def fill",
    ),
    (
        '[sizes["seed"], round]',
        "",
        "writes other inputs when it is called again for the same round: seed the generator",
        "def fill",
    ),
    # Results of `cost`.
    ("SimpleNamespace(flops=flops", "dict(flops=flops", "must return a `SimpleNamespace` with `flops`", "def cost"),
    ("flops=flops, ", "flop=flops, ", "must return a `SimpleNamespace` with `flops`", "def cost"),
    (
        "bytes=int(sum(array_bytes))",
        "bytes=array_bytes",
        "as `bytes`: it must be a number of at least 0",
        "def cost",
    ),
    ("precision=sizes", "precision=len, other=sizes", "as `precision`: it must be a string", "def cost"),
    # Results of `expected`.
    ('return {"out": (exact,', 'return {"ou": (exact,', "lacks the output 'out'", "def expected"),
    (
        'return {"out": (exact,',
        'return {"y": (exact, 0), "out": (exact,',
        "returns 'y', which is no output",
        "def expected",
    ),
    ('return {"out": (exact, product', "return (exact, (product", "isn't valid Python", None),
    (
        '    return {"out": (exact, ',
        '    return exact\n    return {"out": (exact, ',
        "returns an array of the shape (30,): it must return",
        "def expected",
    ),
    (
        "(exact, product_factor(",
        "(exact + product_factor(",
        "returns an array of the shape (30,) for 'out': it must return `(array, bound)`",
        "def expected",
    ),
    (
        ".sum(axis=1)",
        ".sum(axis=1)[:, None]",
        "an array of the shape (30, 1) for 'out', which has (30,)",
        "def expected",
    ),
    (
        ".sum(axis=1)",
        ".sum(axis=1, dtype=np.float32)",
        "an array of float32 for 'out': compute it in float64",
        "def expected",
    ),
    ("    exact = products", "    exact = products.astype(int)", "an array of int64 for 'out'", "def expected"),
    (
        "precision) * exact)",
        "precision) * exact / 0)",
        "returns infinity in the bound for 'out', in 30 of 30 elements",
        "def expected",
    ),
    (
        "precision) * exact)",
        "precision) * np.where(exact > exact.min(), exact, np.nan))",
        "returns NaN in the bound for 'out', in 1 of 30 elements",
        "def expected",
    ),
    (".sum(axis=1)", ".sum(axis=1) * np.inf", "returns infinity in the array for 'out'", "def expected"),
    (
        "precision) * exact)",
        "precision) * exact[1:])",
        "returns a bound of an array of the shape (29,)",
        "def expected",
    ),
    (
        'product_factor(sizes["per_row"], precision) * exact)',
        "1e30)",
        "returns a bound of up to 1e+30 for 'out', .* so that a result that is wrong by a factor of 2, and one of "
        "zeros would pass. Derive the bound from the arithmetic",
        "def expected",
    ),
    ("product_factor(sizes", "(lambda *_: 1)(sizes", "factor of 2, and one of zeros would pass", "def expected"),
    (
        "precision) * exact)",
        "precision) * -exact)",
        "for 'out', negative in 30 of 30 elements: take absolute values",
        "def expected",
    ),
    ("    products = inputs", '    inputs["x"] *= 2\n    products = inputs', "changes the input 'x'", "def expected"),
    # Others.
    (
        "def cost(sizes):",
        "def rounds(sizes):\n    return 0\n\n\ndef cost(sizes):",
        "`rounds(sizes)` .*returns 0",
        "def rounds",
    ),
    (
        "def fill(inputs, sizes, round, data)",
        "def fill(inputs, sizes, data, round)",
        "must be `fill(inputs, sizes, round, data)`",
        0,
    ),
    (
        "def expected(sizes, inputs, precision)",
        "def expected(sizes, inputs)",
        "must be `expected(sizes, inputs, precision)`",
        0,
    ),
]


def pattern(sentence):
    """The regular expression of a sentence, in which only `.*` is special."""
    return re.escape(sentence).replace(r"\.\*", ".*")


@pytest.mark.parametrize(
    ("old", "new", "sentence", "blamed_line"), WORKLOAD_MISTAKES, ids=lambda value: str(value)[:40]
)
def test_a_mistake_in_a_workload_is_refused_when_planning_and_blames_it(spmv, old, new, sentence, blamed_line):
    path = spmv / "__init__.py"
    line = edit(path, old, new)
    message = refusal()
    assert re.search(pattern(sentence), message), message
    assert str(path) in message
    assert "gathered.py" not in message
    if isinstance(blamed_line, str):
        blamed_line, line = 0, path.read_text().partition(blamed_line)[0].count("\n") + 1
    # "ine", because the word may begin a sentence.
    assert blamed_line is None or f"ine {line + blamed_line} of {path}" in message, (line, message)


# Of the variant `gathered`: (text, its replacement, the sentence, in which `ine` is the word "line" or "Line").
VARIANT_MISTAKES = [
    ('DEVICE = "host"', 'DEVICE = "cpu"', "`DEVICE` in line 5 of .* is 'cpu': it must be one of host"),
    ('DEVICE = "host"', 'DEVISE = "host"', "did you mean `DEVICE`?"),
    ('RUNTIME = "blas"', 'RUNTIME = "numpy"', "`RUNTIME` in line 6 of .* is 'numpy': it must be one of numba"),
    ('RUNTIME = "blas"\n', "", "doesn't say whose threads it uses: add RUNTIME"),
    ('LIMITS = {"rows"', 'LIMITS = {"row"', "`LIMITS` in line 7 of .* names 'row', .* Did you mean 'rows'?"),
    ("(1, 1048576)", "1048576", "`LIMITS` in line 7 of .*: it must be a mapping of sizes or tunings"),
    (
        "LIMITS =",
        'REQUIRES = ("scipy")\nLIMITS =',
        "`REQUIRES` in line 7 of .* is 'scipy': it must be names in a tuple",
    ),
    ("LIMITS =", "PEER = 1\nLIMITS =", "`PEER` in line 7 of .* is 1: it must be `True` or `False`"),
    ("LIMITS =", 'ENVIRONMENT = {"OMP_SCHEDULE": "{chunk}"}\nLIMITS =', "names 'chunk', which is none of its tunings"),
    ("LIMITS =", 'SOURCE = "spmv.c"\nLIMITS =', "`SOURCE` in line 7 of .* has no such file"),
    ("LIMITS =", 'MACROS = ("thread",)\nLIMITS =', "names 'thread', .* Did you mean 'threads'?"),
    (
        "(problem, *, threads: int = 1)",
        "(problem, threads: int = 1)",
        "line 10 of .* Its tunings are keyword-only arguments.",
    ),
    ("(problem, *, threads: int = 1)", "(*, threads: int = 1)", "must be `setup(problem, *, <tuning>)`"),
    ("(problem, *, threads: int = 1)", "(problem, *, thread: int = 1)", "spmv/gathered has no tuning named threads"),
    ("threads: int = 1", "threads=1", "The tuning 'threads' of `setup` in line 10 of .* has no annotation"),
    ("threads: int = 1", "threads: np.int64 = 1", "is annotated with np.int64: it must have `int`"),
    ("def setup(", "def set_up(", "did you mean `setup`?"),
    (
        "    return run\n",
        "",
        "`setup(problem, *, <tuning>)` in line 10 of .* returns nothing: it lacks a `return` with a value. See docs/",
    ),
    ("threads: int = 1", "threads: int = 1.5", "default of 'threads' in line 10 of .* doesn't fit: .* a whole number"),
    ("threads: int = 1", "threads: int = 0", "default of 'threads' in line 10 of .* doesn't fit: .* of at least 1"),
    (
        "threads: int = 1",
        "threads: int = len('a')",
        "default of 'threads' in line 10 of .* is computed, but it is read",
    ),
    ("threads: int = 1", "threads: ONE = 1", "uses 'ONE', which is not defined"),
    ('DEVICE = "host"', 'DEVICE = "ho" + "st"', "`DEVICE` in line 5 of .* is computed, but it is read as text"),
    ("def setup", "async def setup", "has no `def setup(problem, *, <tuning>)` at its top level"),
    (
        "LIMITS =",
        'KERNELS = ("by_rwo",)\nLIMITS =',
        "names 'by_rwo', which is no variant of spmv. Did you mean 'by_row'",
    ),
    ("LIMITS =", 'USES = {"threads": "gem"}\nLIMITS =', "names 'gem', which is no workload. Did you mean 'gemv'"),
    ("import numpy as np", "import numpy as np\n\nreturn", "ine 5 of .* has a `return` outside of a function"),
    ("import numpy as np", "import numpy as np\0", "isn't valid Python: source code string cannot contain null bytes."),
    (
        "def setup",
        "def setup(problem, *, threads: int = 1):\n    return len\n\n\ndef setup",
        "ine 14 of .* defines 'setup' again",
    ),
    ("problem.starts[:-1]", "problems.starts[:-1]", "ine 14 of .* uses 'problems', .* Did you mean 'problem'?"),
    ("    def run():", "    def run()", "isn't valid Python: expected ':' in line 13"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), VARIANT_MISTAKES, ids=lambda value: value[:40])
def test_a_mistake_in_a_variant_is_refused_when_planning_and_blames_it(spmv, old, new, sentence):
    edit(spmv / "gathered.py", old, new)
    message = refusal()
    assert re.search(pattern(sentence), message), message
    assert "gathered" in message
    assert "__init__.py" not in message


@pytest.mark.parametrize("words", ["1", "WORDS", '"a", 2'])
def test_a_literal_of_other_than_words_is_refused(spmv, words):
    edit(spmv / "gathered.py", "threads: int = 1", f"threads: int = 1, mode: Literal[{words}]")
    edit(spmv / "gathered.py", "import numpy as np", 'from typing import Literal\n\nimport numpy as np\n\nWORDS = "a"')
    message = refusal()
    assert f"The tuning 'mode' of `setup` in line 14 of {spmv}/gathered.py is annotated with Literal[" in message
    assert "it must have `int`, `float`, `str` or a `Literal` of words" in message


@pytest.mark.parametrize("name", ["gathered.py", "__init__.py"])
def test_a_module_of_two_folders_is_refused(spmv, monkeypatch, name):
    (spmv.parents[1] / "two/spmv").mkdir(parents=True)
    copy = spmv.parents[1] / "two/spmv" / name
    monkeypatch.setenv("LADDER_VARIANTS", f"{spmv.parent}:{spmv.parents[1] / 'two'}")
    copy.touch()
    assert len(plan_copy()) == 2  # an empty file only marks a package
    forget_spmv()
    shutil.copy(spmv / name, copy)
    assert f"{spmv / name} and {copy} have the same name, so that only the first would count: rename one." in refusal()


# (statement, a part of the error).
MISSING_IMPORTS = [
    ("import nunpy as np", "line 3 of {path} imports 'nunpy', which isn't installed. Install nunpy; with REQUIRES"),
    ("from nunpy.linalg import norm", "imports 'nunpy', which isn't installed"),
    ("from ladder.harnes import steps", "line 3 of {path} imports ladder.harnes, which doesn't exist"),
    ("from ladder.workloads.spmv.by_rwo import DEVICE", "spmv.by_rwo, which doesn't exist. Did you mean 'by_row'"),
    ("from .by_rwo import DEVICE", "imports ladder.workloads.spmv.by_rwo, which doesn't exist. Did you mean 'by_row'"),
    ("from ladder.workloads.spmv import helper", "line 1 of {folder}/helper.py imports 'absent', which isn't"),
    ("from . import helper", "line 1 of {folder}/helper.py imports 'absent', which isn't installed"),
]


@pytest.mark.parametrize(("statement", "sentence"), MISSING_IMPORTS)
def test_an_import_of_what_is_missing_is_refused_when_planning(spmv, statement, sentence):
    path = spmv / "gathered.py"
    edit(path, "import numpy as np", f"{statement}\nimport numpy as np")
    (spmv / "helper.py").write_text("import absent\n")
    assert sentence.format(path=path, folder=spmv)[1:] in refusal()  # its first letter may be a capital


@pytest.mark.parametrize(
    "statement",
    [
        'import nunpy\n\nREQUIRES = ("nunpy",)',
        "try:\n    import nunpy\nexcept ImportError:\n    nunpy = None",
        "import numpy.linalg, cupy",
        "from ladder.workloads.gemm import vectors",
        "from ladder.workloads import spmv",
        "import ladder.harness.steps",
        "from . import by_row",
        "from .by_row import DEVICE as OTHER",
    ],
)
def test_optional_and_present_imports_are_planned(spmv, statement):
    edit(spmv / "gathered.py", "import numpy as np", f"import numpy as np\n{statement}")
    gathered = plan_copy()[0]
    assert str(gathered.skip_reason) == ("nunpy is not installed" if "REQUIRES" in statement else "None")


# (statement, a part of the error).
UNDEFINED_NAMES = [
    ("from ladder.harness.steps import Stesp", "imports 'Stesp' from ladder.harness.steps, but {harness} doesn't"),
    ("from ladder.harness import steps\nX = steps.Stesp", "uses steps.Stesp, but {harness} doesn't define it. Did you"),
    ("import ladder.harness.steps\nX = ladder.harness.steps.Stesp", "uses ladder.harness.steps.Stesp, but {harness}"),
    ("from ladder.workloads.spmv import SIZE", "imports 'SIZE' from ladder.workloads.spmv, but {folder}/__init__.py"),
    ("def other():\n    from ladder.harness.steps import Stesp", "imports 'Stesp' from ladder.harness.steps, but"),
    ("def other():\n    from ladder.harnes import steps", "imports ladder.harnes, which doesn't exist"),
    ("from . import helper", "ine 1 of {folder}/helper.py uses 'absent', which is not defined."),
]


@pytest.mark.parametrize(("statement", "sentence"), UNDEFINED_NAMES)
def test_a_name_that_a_module_lacks_is_refused_when_planning(spmv, statement, sentence):
    edit(spmv / "gathered.py", "import numpy as np", f"import numpy as np\n{statement}")
    (spmv / "helper.py").write_text("VALUE = absent\n")
    assert sentence.format(harness=steps.__file__, folder=spmv) in refusal()


@pytest.mark.parametrize(
    "statement",
    [
        "from ladder.harness import steps\n\n\ndef other(steps):\n    return steps.any",
        "from ladder.workloads import spmv\n\n\ndef other():\n    return spmv.data_set, spmv.__file__",
        "try:\n    from ladder.harness.steps import Stesp\nexcept ImportError:\n    Stesp = None",
        "from ladder.harness.steps import *",
        "import ladder.harness.steps\n\nX = ladder.harness.steps.Steps.of",
    ],
)
def test_names_that_may_exist_are_planned(spmv, statement):
    edit(spmv / "gathered.py", "import numpy as np", f"import numpy as np\n{statement}")
    assert len(plan_copy()) == 2


# The texts of the modules a and b; `gathered` imports a.
IMPORT_CIRCLES = [
    ("from ladder.workloads.spmv.b import TWO\n\nONE = 1\n", "from ladder.workloads.spmv.a import ONE\n\nTWO = 2\n"),
    ("from .b import TWO\n\nONE = 1\n", "from . import a\n\nTWO = a.ONE\n"),
]
SOUND_IMPORT_CIRCLES = [
    ("ONE = 1\n\nfrom ladder.workloads.spmv.b import TWO\n", "from ladder.workloads.spmv.a import ONE\n\nTWO = 2\n"),
    ("from . import b\n\nONE = 1\n", "from . import a\n\n\ndef two():\n    return a.ONE\n"),
    ("from .b import TWO\n\nONE = 1\n", "TWO = 2\n\n\ndef two():\n    from .a import ONE\n\n    return ONE\n"),
    ("", ""),
]


def write_circle(spmv, first, second):
    """Have `gathered` import the module a, which may import b."""
    edit(spmv / "gathered.py", "import numpy as np", "import numpy as np\n\nfrom ladder.workloads.spmv import a")
    (spmv / "a.py").write_text(first)
    (spmv / "b.py").write_text(second)


@pytest.mark.parametrize("texts", IMPORT_CIRCLES)
def test_a_circle_of_imports_is_refused_when_planning_with_its_lines(spmv, texts):
    write_circle(spmv, *texts)
    line = texts[1].splitlines().index(next(row for row in texts[1].splitlines() if "ONE" in row)) + 1
    assert refusal().endswith(
        f"Modules import each other: line 1 of {spmv}/a.py imports ladder.workloads.spmv.b, but line {line} of "
        f"{spmv}/b.py needs 'ONE' of ladder.workloads.spmv.a, which isn't defined before the import. Move what both "
        "use to a third module, or import it within a function."
    )
    with pytest.raises((ImportError, AttributeError), match="partially initialized module"):
        workloads.load_variant("spmv", "gathered")


@pytest.mark.parametrize("texts", SOUND_IMPORT_CIRCLES)
def test_a_circle_that_python_can_import_is_planned(spmv, texts):
    write_circle(spmv, *texts)
    assert len(plan_copy()) == 2
    workloads.load_variant("spmv", "gathered")


def test_the_workload_and_a_module_of_it_that_import_each_other_are_refused_when_planning(spmv):
    line = edit(
        spmv / "__init__.py", "import numpy as np", "from ladder.workloads.spmv.a import ONE; import numpy as np"
    )
    (spmv / "a.py").write_text("from ladder.workloads.spmv import SIZES\n\nONE = 1\n")
    assert f"line {line} of {spmv}/__init__.py imports ladder.workloads.spmv.a, but line 1 of {spmv}/a.py" in refusal()


@pytest.mark.slow
def test_no_module_of_the_projects_workloads_has_an_undefined_name_or_is_in_a_circle():
    """Planning checks only users' modules."""
    for path in sorted(locations.WORKLOADS.glob("*/**/*.py")):
        undefined_names.refuse_undefined(path)
        circular_imports.refuse_circles(f"{missing_imports.package_of(path)}.{path.stem}".removesuffix(".__init__"))


def test_modules_that_import_each_other_are_refused_with_a_cure(spmv, monkeypatch):
    edit(spmv / "gathered.py", "import numpy as np", "import numpy as np\n\nfrom ladder.workloads.spmv.a import ONE")
    (spmv / "a.py").write_text("from ladder.workloads.spmv.b import TWO\n\nONE = 1\n")
    (spmv / "b.py").write_text("from ladder.workloads.spmv.a import ONE\n\nTWO = 2\n")
    message = answers_of_worker(monkeypatch)[-1]["error"]
    assert f"(line 1 of {spmv}/b.py). Two modules import each other: move what both use to a third one" in message


# (sizes, variants of the experiment, the error).
MISSPELT_NAMES = [
    ({"row": 30, "columns": 20, "per_row": 5}, None, "spmv has no size named row: its sizes are rows"),
    (SIZES | {"per_row": 21}, None, "per_row=21 of spmv exceeds columns=20"),
    (SIZES | {"rows": 2.5}, None, "rows=2.5 of spmv must be a whole number of at least 1"),
    (SIZES | {"dtype": "float16"}, None, "dtype='float16' of spmv must be one of float64, float32"),
    (SIZES, {"gatherd": {}}, "There is no variant 'gatherd' of spmv: .*choose one of by_row, gathered"),
    (SIZES, {"by_row": {}}, "spmv/by_row needs a value for its tuning 'threads'"),
    (SIZES, {"by_row": {"thread": 1}}, "spmv/by_row has no tuning named thread: it takes threads"),
]


@pytest.mark.parametrize(("sizes", "variants", "sentence"), MISSPELT_NAMES, ids=lambda value: str(value)[:40])
def test_a_misspelt_name_of_an_experiment_is_refused_with_the_known_ones(spmv, sizes, variants, sentence):
    assert re.search(sentence, refusal(sizes, variants))


SMALL_SIZES_NOTE = "The sizes were rows=5, columns=4, per_row=3, dtype=float64, seed=1: if no case can have them, let"


def test_at_small_sizes_the_refusal_names_them_if_they_are_to_blame(spmv):
    # The workload is tried with 5 rows and, if that fails, with 10: here, the first trial alone fails, then both.
    edit(spmv / "__init__.py", '.reshape(sizes["rows"]', ".reshape(10")
    assert refusal(SIZES | {"rows": 10**7}).endswith(f"{SMALL_SIZES_NOTE} `refuse` say so.")
    edit(spmv / "__init__.py", ".reshape(10", ".reshape(7")
    forget_spmv()
    assert "The sizes were" not in refusal(SIZES | {"rows": 10**7})


def test_the_small_sizes_of_large_arrays_differ_so_that_swapped_shapes_show(spmv):
    edit(spmv / "__init__.py", '{"out": ((sizes["rows"],)', '{"out": ((sizes["columns"],)')
    message = refusal(SIZES | {"rows": 10**7})
    assert "returns an array of the shape (5,) for 'out', which has (4,)" in message
    assert "The sizes were" not in message


def test_small_sizes_are_equal_only_if_the_workload_refuses_others(spmv):
    """Small sizes begin at 3 and have the order of the sizes that they replace."""
    sizes = workloads.complete("spmv", {"rows": 10**6, "columns": 10**6, "per_row": 7})
    assert [trial.small_sizes("spmv", sizes, 3)[name] for name in SIZES] == [4, 5, 3]
    assert [trial.tied_sizes("spmv", sizes, 3)[name] for name in SIZES] == [4, 4, 3]
    edit(spmv / "__init__.py", 'if sizes["per_row"] > sizes["columns"]', 'if sizes["rows"] != sizes["columns"]')
    forget_spmv()
    assert [trial.small_sizes("spmv", sizes, 3)[name] for name in SIZES] == [4, 4, 3]


def test_a_shape_that_is_right_for_equal_sizes_alone_names_the_sizes(spmv):
    """It is a mistake, or `refuse` must say that sizes are equal."""
    edit(spmv / "__init__.py", '{"out": ((sizes["rows"],)', '{"out": ((sizes["columns"],)')
    message = refusal({"rows": 10**6, "columns": 10**6, "per_row": 7})
    assert "returns an array of the shape (4,) for 'out', which has (5,)" in message
    assert "The sizes were rows=4, columns=5, per_row=3" in message


# A function that is appended to the workload; `{}` is what it returns.
CHECK_FUNCTION = """
def check(sizes, inputs, outputs, round, data, reference, precision):
    return {}
"""
WRONG_CHECK_RESULTS = [
    ("[], None", "returns no `Check`, so that any result would pass"),
    ("[True], None", "returns True among its checks: each must be a `Check`"),
    ("[compare('out', outputs['out'], outputs['out'], 0)]", "must return a list of `Check`s and the points of a curve"),
    ("None", "returns None: it must return a list of `Check`s"),
    ("[Check('out', 0.5, np.nan)], None", "gives 'out' an expected value or a bound that is NaN or infinite"),
    ("[Check('out', 0.5, np.inf)], None", "gives 'out' an expected value or a bound that is NaN or infinite"),
    ("[compare('out', outputs['out'], outputs['out'], np.nan)], None", "or a bound that is NaN or infinite"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("result", "sentence"), WRONG_CHECK_RESULTS)
def test_a_wrong_result_of_a_check_is_refused_when_planning_and_in_a_worker(spmv, monkeypatch, result, sentence):
    path = spmv / "__init__.py"
    edit(path, "import product_factor", "import Check, compare, product_factor")
    path.write_text(path.read_text() + CHECK_FUNCTION.format(result))
    line = path.read_text().partition("def check")[0].count("\n") + 1
    for message in (refusal(), answers_of_worker(monkeypatch)[-1]["error"]):
        assert "`check(sizes, inputs, outputs, round, data, reference, precision)` in line" in message
        assert sentence in message, message
        assert f"line {line} of {path}" in message


LOOSE_CHECK_RESULTS = [
    "[Check('out', 0.5, 1e30)], None",
    "[compare('out', outputs['out'], expected(sizes, inputs, precision)['out'][0], 1e30)], None",
    "[compare('out', outputs['out'], expected(sizes, inputs, precision)['out'][0], 20.0)], None",
]


@pytest.mark.parametrize("result", LOOSE_CHECK_RESULTS)
def test_a_check_that_accepts_wrong_results_is_refused_when_planning_and_in_a_worker(spmv, monkeypatch, result):
    path = spmv / "__init__.py"
    edit(path, "import product_factor", "import Check, compare, product_factor")
    path.write_text(path.read_text() + CHECK_FUNCTION.format(result))
    line = path.read_text().partition("def check")[0].count("\n") + 1
    plan_error, worker_error = refusal(), answers_of_worker(monkeypatch)[-1]["error"]
    assert re.search(r"accepts outputs of zeros, and also outputs of \S+ in every element: at most one can", plan_error)
    assert "accepts the outputs of a correct run, and also the same outputs doubled, negated" in worker_error
    for message in (plan_error, worker_error):
        assert "`check(sizes, inputs, outputs, round, data, reference, precision)` in line" in message
        assert f"line {line} of {path}" in message
        assert "Derive the bound from the arithmetic" in message


def test_a_check_that_only_large_errors_fail_is_accepted(spmv, monkeypatch):
    """A bound of half of the largest value, as a physical tolerance may be."""
    path = spmv / "__init__.py"
    edit(path, "import product_factor", "import compare, product_factor")
    exact = "expected(sizes, inputs, precision)['out'][0]"
    path.write_text(
        path.read_text()
        + CHECK_FUNCTION.format(f"[compare('out', outputs['out'], {exact}, 0.5 * {exact}.max())], None")
    )
    assert len(plan_copy()) == 2
    assert "samples" in answers_of_worker(monkeypatch)[-1]


@pytest.mark.parametrize(
    ("exact", "dtype", "bound", "is_refused"),
    [
        ([3.0, -1.0], "float64", 2.9, False),
        ([3.0, -1.0], "float64", 3.0, True),
        ([1e-12, 0.0], "float32", 1e-9, False),  # a residual
        ([1e-12, 0.0], "float32", 10.0, True),
        ([0.0, 0.0], "float64", 0.0, False),
        ([1.0], "int64", 2.0, False),  # one iteration more or less
        ([1.0], "int64", 1e6, True),
        ([], "float64", 1e30, False),
    ],
)
def test_a_bound_must_refuse_an_error_as_large_as_the_values(spmv, exact, dtype, bound, is_refused):
    exact, checker = np.array(exact), trial.Trial(workloads.load("spmv"), spmv / "__init__.py")
    magnitude = 5.0  # of the inputs; a residual is smaller by far
    call = partial(checker.require_tight_bound, "out", (exact, bound), np.dtype(dtype), magnitude)
    if is_refused:
        with pytest.raises(LadderError, match="would pass"):
            call()
    else:
        call()


def test_a_sound_check_is_planned(spmv):
    path = spmv / "__init__.py"
    edit(path, "import product_factor", "import compare, product_factor")
    path.write_text(
        path.read_text() + CHECK_FUNCTION.format("[compare('out', outputs['out'], inputs['x'].sum(), 0)], None")
    )
    assert len(plan_copy()) == 2


@pytest.mark.parametrize("verb", ["run", "profile", "compare"])
def test_verbs_that_measure_refuse_a_mistake_before_a_worker_starts(spmv, monkeypatch, verb):
    edit(spmv / "__init__.py", '[sizes["seed"], round]', "")
    for module in (workers, turns, kernel_counters, comparison):
        monkeypatch.setattr(module, "Worker", None)
    monkeypatch.setattr(ranking_session, "hold_machine", lambda *cases: contextlib.nullcontext())
    case = Case("spmv", "gathered", workloads.complete("spmv", SIZES), {"threads": 1})
    calls = {
        "run": lambda: ranking_session.run(["spmv/gathered", *command_words(SIZES)], [], QUICK, None),
        "profile": lambda: profiling.profile(case, ({}, None)),
        "compare": lambda: comparison.compare_cases(case, case),
    }
    with pytest.raises(LadderError, match="writes other inputs when it is called again for the same round"):
        calls[verb]()


def test_the_error_of_an_unknown_workload_lists_the_users_folders(spmv, monkeypatch):
    with pytest.raises(LadderError, match=f"'unheard': .* folders of LADDER_VARIANTS or, .*: now {spmv.parent}"):
        workloads.load("unheard")
    monkeypatch.delenv("LADDER_VARIANTS")
    with pytest.raises(LadderError, match=r"There is no workload 'unheard': .*: now none"):
        workloads.load("unheard")
    with pytest.raises(LadderError, match="Did you mean 'gemm'"):
        workloads.load("gemmm")


def test_a_fill_without_names_is_blamed_in_a_worker(spmv, monkeypatch):
    edit(spmv / "__init__.py", "    return list(inputs)\n", "")
    message = answers_of_worker(monkeypatch)[-1]["error"]
    assert message.startswith("`fill(inputs, sizes, round, data)` in line")
    assert "returns None: it must return the names of the inputs" in message


def test_a_sweep_tries_a_workload_once_for_each_of_its_sizes(spmv, monkeypatch):
    calls, check = [], trial.check
    monkeypatch.setattr(trial, "check", lambda *arguments: [calls.append(arguments), check(*arguments)])
    for rows in (30, 30, 31):
        trial.require_valid("spmv", workloads.complete("spmv", SIZES | {"rows": rows}))
    assert len(calls) == 2


# (text, its replacement, the error, the line that is blamed, or None for the whole file).
FAILING_RUNS = [
    ("np.add.reduceat(problem.entries", "np.add.reduceat(problem.entry", "AttributeError: .*entry", 14),
    ("problem.starts[:-1]", "problem.starts", "IndexError", 14),
    ("    def run():", "    def run(problem):", "TypeError: .*missing 1 required positional argument: 'problem'", None),
    (
        "import numpy as np",
        "import nunpy as np",
        r"ModuleNotFoundError: .*'nunpy'.* with REQUIRES = \(\"nunpy\",\) the variant is skipped",
        3,
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence", "line"), FAILING_RUNS, ids=lambda value: str(value)[:40])
def test_a_variant_that_stops_is_blamed_with_its_line(spmv, monkeypatch, old, new, sentence, line):
    path = spmv / "gathered.py"
    edit(path, old, new)
    answers = answers_of_worker(monkeypatch)
    message = answers[-1]["error"]
    assert re.match(f"The variant stopped with {sentence}", message), message
    assert (f"(line {line} of {path})." if line else f"({path}).") in message


RETURN_STATEMENT = "    return run\n"
# (replacement of RETURN_STATEMENT, a part of the error).
WRONG_SETUP_RESULTS = [
    ("    return None\n", "returns None"),
    ("    return problem.out\n", "returns an array of the shape (30,)"),
    ('    return [("products", 3)]\n', "returns [('products', 3)]"),
    ("    return run()\n", "returns None"),
]


@pytest.mark.parametrize(("statement", "sentence"), WRONG_SETUP_RESULTS)
def test_a_wrong_result_of_setup_is_refused_in_a_worker(spmv, monkeypatch, statement, sentence):
    path = spmv / "gathered.py"
    edit(path, RETURN_STATEMENT, statement)
    assert answers_of_worker(monkeypatch)[-1]["error"] == (
        f"`setup(problem, *, <tuning>)` in line 10 of {path} {sentence}: it must return a callable, a list of "
        "`(phase, callable)`, or `Steps`. See docs/contracts.md."
    )


# (expression, the error, the line that is blamed).
UNCOMPILABLE_EXPRESSIONS = [
    ("x[i].foo(3)", "TypingError: Unknown attribute 'foo' of type float64", 10),
    (
        'add(x[i], "a")',
        "TypingError: No implementation of function Function(<built-in function add>) found for signature: "
        "add(float64, Literal[str](a))",
        15,
    ),
]


@pytest.mark.parametrize(("expression", "sentence", "line"), UNCOMPILABLE_EXPRESSIONS)
def test_what_numba_cannot_compile_is_one_sentence_with_its_line(spmv, monkeypatch, expression, sentence, line):
    edit(spmv / "gathered.py", SUM_STATEMENT, "fill(problem.out, problem.x)")
    edit(
        spmv / "gathered.py",
        "import numpy as np",
        "\nfrom numba import njit\n\n\n@njit\ndef fill(out, x):\n    for i in range(len(out)):\n"
        f"        out[i] = {expression}\n\n\n@njit\ndef add(a, b):\n    return a + b\n\n\nimport numpy as np",
    )
    answer = answers_of_worker(monkeypatch)[-1]
    assert answer["error"].startswith(f"The variant stopped with {sentence}"), answer["error"]
    assert "\n" not in answer["error"]
    assert f"(line {line} of {spmv}/gathered.py)" in answer["error"]
    assert "Failed in nopython mode" in answer["traceback"]


def test_a_workload_that_stops_in_a_worker_is_blamed(spmv, monkeypatch):
    path = spmv / "__init__.py"
    line = edit(path, "    products = inputs", "    products = undefined + inputs")
    message = answers_of_worker(monkeypatch)[-1]["error"]
    assert message.startswith("`expected(sizes, inputs, precision)` of the workload stopped with NameError")
    assert f"(line {line} of {path})" in message


def test_a_bound_of_nan_that_only_real_sizes_have_blames_expected_and_not_the_variant(spmv, monkeypatch):
    path = spmv / "__init__.py"
    edit(path, "precision) * exact)", "precision) * exact * np.nan)")
    message = answers_of_worker(monkeypatch)[-1]["error"]
    line = path.read_text().partition("def expected")[0].count("\n") + 1
    assert f"`expected(sizes, inputs, precision)` in line {line} of {path} gives 'out'" in message
    assert "NaN or infinite" in message


@pytest.mark.parametrize(
    ("statement", "name", "is_right"),
    [
        ("problem.x[...] += 1", "x", False),
        ("problem.x[...] *= 0", "x", True),  # a correct result for these inputs
        ("problem.starts[-1] -= 1", "starts", True),  # which no result uses
    ],
)
def test_a_variant_that_changes_its_inputs_is_reported(spmv, monkeypatch, statement, name, is_right):
    edit(spmv / "gathered.py", SUM_STATEMENT, f"{SUM_STATEMENT}; {statement}")
    message = answers_of_worker(monkeypatch)[-1]["error"]
    assert f"The variant has changed its input {name!r}, which its other calls and the check read" in message
    assert message.startswith("The variant has changed") == is_right


PRODUCTS_EXPRESSION = "problem.entries * problem.x[problem.indices]"
OUTPUT_DECLARATION = '{"out": ((sizes["rows"],), sizes["dtype"])}'
FLOAT32_MISTAKES = [
    (
        "gathered.py",
        PRODUCTS_EXPRESSION,
        f"({PRODUCTS_EXPRESSION}).astype(np.float32)",
        "look for an array or a temporary of that type",
    ),
    ("__init__.py", OUTPUT_DECLARATION, '{"out": ((sizes["rows"],), "float32")}', "`arrays` declares the output so"),
]


@pytest.mark.parametrize(("file", "old", "new", "sentence"), FLOAT32_MISTAKES)
def test_a_result_as_inexact_as_float32_says_so(spmv, monkeypatch, file, old, new, sentence):
    edit(spmv / file, old, new)
    message = answers_of_worker(monkeypatch)[-1]["error"]
    assert f"Such an error is that of float32: {sentence}." in message


# Statements that leave `problem.out` unwritten, in the first call or in later ones.
UNWRITTEN_RESULTS = {
    "in a copy": f"out = problem.out.copy(); out[...] = {SUM_EXPRESSION}",
    "rebound": f"problem.out = {SUM_EXPRESSION}",
    "accumulated": f"problem.out += {SUM_EXPRESSION}",
    "stale": f"done.append(1); len(done) > 1 or problem.out.__setitem__(..., {SUM_EXPRESSION})",
}


@pytest.mark.parametrize("statement", UNWRITTEN_RESULTS.values(), ids=UNWRITTEN_RESULTS)
def test_a_result_that_is_not_written_says_how_to_write_it(spmv, monkeypatch, statement):
    edit(spmv / "gathered.py", SUM_STATEMENT, statement)
    edit(spmv / "gathered.py", "    def run():", "    done = []\n\n    def run():")
    message = answers_of_worker(monkeypatch)[-1]["error"]
    assert "30 of the 30 elements of the result 'out' are NaN" in message
    assert "`out` holds NaN before each call: write every element into `problem.out` itself in each call" in message
    assert "don't add to what it holds" in message


def test_every_workload_of_the_project_passes_the_trial():
    """At the toy sizes of `smoke.yaml`."""
    config = configuration.load(["config/config.yaml", "config/smoke.yaml"])
    for experiment in config["experiments"].values():
        sizes = next(grid(experiment["sizes"]))
        trial.check(experiment["workload"], workloads.complete(experiment["workload"], sizes))
