"""The contracts in `docs/contracts.md` and `ladder.catalogue.contracts`, modules that fulfil them, and refused ones."""

import ast
import inspect
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, TESTS
from ladder import devices
from ladder.catalogue import contracts, imports, locations, soundness, sources, workloads
from ladder.devices.host import Host
from ladder.errors import LadderError
from ladder.harness import defaults, generation
from ladder.planning import configuration, plan, targets
from ladder.records.case import Case

CONTRACTS = (ROOT / "docs/contracts.md").read_text(encoding="utf-8")
NAME = re.compile(r"`(\w+)(?:\(([^)]*)\))?`")
# The constants and functions in the table of a chapter's modules.
CHAPTER_NAMES = re.compile(r"`([A-Z][A-Z_]+)\b|`(\w+)\([^<)]*\)")


def section(heading):
    return CONTRACTS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def contract(heading):
    """The table below a heading, {name: (arguments or None, meaning)}."""
    rows = [line.strip("|").split(" | ", 1) for line in section(heading).splitlines() if line.startswith("| `")]
    return {
        name: (arguments if f"`{name}(" in names else None, meaning)
        for names, meaning in rows
        for name, arguments in NAME.findall(names)
    }


def accepts(function, arguments):
    """Whether a function can be called with these arguments, such as "sizes, round", in their order."""
    try:
        inspect.signature(function).bind(*[argument for argument in arguments.split(", ") if argument])
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("name", devices.CLASSES)
def test_a_device_overrides_methods_with_the_same_arguments(name):
    device = type(devices.load(name))
    for method in vars(Host):
        if inspect.isroutine(getattr(Host, method)) and not method.startswith("__"):
            assert arguments(getattr(device, method)) == arguments(getattr(Host, method)), method


def arguments(function):
    """The names, kinds and defaults of a function's arguments; mypy compares their types."""
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(function).parameters.values()
    ]


def test_the_harness_uses_only_attributes_of_a_device_that_the_host_has():
    device_expression, used_attributes = re.compile(r"\b(device|devices\.of\(\w+\))$"), set()
    for path in (imports.PACKAGE / "harness").glob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
        used_attributes |= {node.attr for node in attributes if device_expression.search(ast.unparse(node.value))}
    assert used_attributes <= set(vars(Host))
    assert {name for name in vars(Host) if not name.startswith("__")} == used_attributes


def test_the_host_needs_neither_cupy_nor_mpi():
    """This is tested in a new process, since this one has loaded other devices."""
    program = "import sys; from ladder import devices; devices.load('host'); print(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded_modules = set(result.stdout.split())
    assert "ladder.devices.host" in loaded_modules
    assert not {"cupy", "mpi4py", "ladder.cuda", "ladder.devices.gpu", "ladder.devices.mpi"} & loaded_modules


@pytest.mark.parametrize(
    ("heading", "module_contract"),
    [("A workload", contracts.WORKLOAD), ("A variant", contracts.VARIANT)],
    ids=["workload", "variant"],
)
def test_the_documented_names_of_a_module_are_those_of_its_contract(heading, module_contract):
    documented = contract(heading)
    assert set(documented) == set(module_contract.names)
    for name, (arguments, meaning) in documented.items():
        entry = module_contract.names[name]
        assert arguments == entry.arguments, name
        is_optional = meaning.startswith("optional") or "not needed" in meaning.lower()
        has_alternative = entry.alternative is not None or name == "RUNTIME"  # which USES makes needless
        assert is_optional == (entry.need != contracts.REQUIRED or has_alternative), name


def test_the_documented_names_of_a_chapter_are_those_of_its_contract():
    rows = dict(
        line.strip("| ").split(" | ", 1) for line in section("A chapter").splitlines() if line.startswith("| `")
    )
    expected = {f"`{file}.py`": set(chapter_module.names) for file, chapter_module in contracts.CHAPTER_MODULES.items()}
    expected["`<figure>.py`"] = set(contracts.FIGURE.names)
    for file, names in expected.items():
        documented = {name for pair in CHAPTER_NAMES.findall(rows[file]) for name in pair if name}
        assert documented == names, file


def test_the_names_of_references_artefacts_and_formats_are_documented():
    for module_contract in (contracts.REFERENCE, contracts.ARTEFACTS):
        assert all(contracts.signature(*pair) in CONTRACTS for pair in module_contract.names.items())
    documented_formats = dict(NAME.findall("\n".join(re.findall(r"^\| (`.*?`) ", generation.__doc__, re.MULTILINE))))
    assert documented_formats == {name: entry.arguments or "" for name, entry in contracts.FORMATS.names.items()}


def test_defaults_are_those_of_the_contract_and_the_document():
    default_names = {name for name, value in vars(defaults).items() if name.isupper() or inspect.isfunction(value)}
    default_names.remove("compare")  # imported: it is no default
    assert default_names == set(contracts.names_with_default())
    for name in contracts.names_with_default():
        arguments, meaning = contract("A workload")[name]
        default = getattr(defaults, name)
        assert meaning.startswith("optional")
        if arguments is not None:
            assert accepts(default, f"workload, {arguments}"), name
        if name in ("STATEFUL", "rounds", "data_set", "reference_sizes"):
            value = default(None, {}) if callable(default) else default
            assert f"y default `{value}`" in meaning, name


@pytest.mark.parametrize("workload", workloads.names())
def test_every_workload_has_the_names_that_the_harness_requires(workload):
    module = workloads.load(workload)
    for name, entry in contracts.WORKLOAD.names.items():
        if not hasattr(module, name):
            assert entry.need == contracts.OPTIONAL or entry.alternative, name
        elif entry.arguments is not None:
            other_name, other_arguments = entry.arguments_if or (None, None)
            arguments = other_arguments if other_name and getattr(module, other_name) else entry.arguments
            assert accepts(getattr(module, name), arguments), name


@pytest.mark.parametrize("workload", workloads.names())
def test_every_module_of_the_project_fulfils_its_contract(workload):
    """No name of the project is taken for a misspelling."""
    for variant in (None, *workloads.variants(workload)):
        soundness.require_contract(workload, variant)


def test_every_constant_of_a_variant_is_one_of_the_contract_or_used_by_a_workload():
    """A misspelt constant would go unnoticed."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in locations.WORKLOADS.glob("*/*.py"))
    known_names = {*contracts.VARIANT.names, *re.findall(r"\b[A-Z][A-Z0-9_]+\b(?! = )", text)}
    for workload in workloads.names():
        for variant in workloads.variants(workload):
            assert set(workloads.constants(workload, variant)) <= known_names, f"{workload}/{variant}"


@pytest.fixture
def axpy(tmp_path, monkeypatch):
    """A copy of the tests' workload `axpy` in a user's folder."""
    shutil.copytree(TESTS / "workloads/example", tmp_path / "own")
    monkeypatch.setenv("LADDER_VARIANTS", str(tmp_path / "own"))
    monkeypatch.chdir(tmp_path)
    sources.clear_caches()
    yield tmp_path / "own/axpy"
    monkeypatch.undo()
    sources.clear_caches()


def plan_copy():
    """Plan an experiment with two variants of the copy."""
    sources.clear_caches()
    variants = {"vectorised": {"threads": 1}, "parallel": {"threads": 1}}
    experiment = {"question": "?", "workload": "axpy", "sizes": {"elements": 1000}, "variants": variants}
    config = configuration.validate({"experiments": {"one": experiment}, "cores": 2, "gpus": 0})
    return plan.plan(config, targets.this_machine(config))


def refusal_of_copy():
    """The message with which planning refuses the copy."""
    with pytest.raises(LadderError) as caught:
        plan_copy()
    return str(caught.value)


def edit(path, old, new):
    """Replace a text in a file once; an empty `old` appends `new`."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else text + new)


DEF_EXPECTED = "def expected(sizes, inputs, precision):"
# (file of the copy, text, its replacement with the misspelt name, the right name).
MISSPELT_NAMES = [
    ("__init__.py", "SIZES =", "SIZE =", "SIZES"),
    ("__init__.py", "def arrays(", "def array(", "arrays"),
    ("__init__.py", "def cost(", "def costs(", "cost"),
    ("__init__.py", "def refuse(", "def refused(", "refuse"),
    ("__init__.py", "def expected(", "def expect(", "expected"),
    (
        "__init__.py",
        DEF_EXPECTED,
        "def refrence_sizes(sizes):\n    return sizes\n\n\n" + DEF_EXPECTED,
        "reference_sizes",
    ),
    ("__init__.py", DEF_EXPECTED, "def round(sizes):\n    return 3\n\n\n" + DEF_EXPECTED, "rounds"),
    ("__init__.py", DEF_EXPECTED, "def dataset(sizes):\n    return 'digits'\n\n\n" + DEF_EXPECTED, "data_set"),
    ("__init__.py", "FACTOR =", "SENSITIVTY = []\nFACTOR =", "SENSITIVITY"),
    ("__init__.py", "FACTOR =", "Stateful = True\nFACTOR =", "STATEFUL"),
    ("__init__.py", "FACTOR =", "ROUNDS = 3\nFACTOR =", "rounds"),
    ("vectorised.py", "DEVICE =", "DEVISE =", "DEVICE"),
    ("vectorised.py", "RUNTIME =", "RUNTIMES =", "RUNTIME"),
    ("vectorised.py", "LIMITS =", "LIMIT =", "LIMITS"),
    ("vectorised.py", "LIMITS =", "REQUIRE =", "REQUIRES"),
    ("vectorised.py", "def setup(", "def set_up(", "setup"),
    ("vectorised.py", "def setup(", "def first_touche(problem):\n    pass\n\n\ndef setup(", "first_touch"),
    ("paper/__init__.py", "LOOKS =", "LOOK =", "LOOKS"),
    ("paper/lines.py", "UNIT =", "UNITS =", "UNIT"),
    ("paper/lines.py", "UNIT =", "def per_units(rows):\n    return rows\n\n\nUNIT =", "per_unit"),
    ("paper/claims.py", "CLAIMS =", "CLAIM =", "CLAIMS"),
    ("paper/waterfall.py", "TITLE =", "TITEL =", "TITLE"),
    ("paper/waterfall.py", "CAPTION =", "CAPTON =", "CAPTION"),
    ("paper/waterfall.py", "EXPERIMENTS =", "EXPERIMENT =", "EXPERIMENTS"),
    ("paper/waterfall.py", "draw = ", "drawn = ", "draw"),
]


@pytest.mark.parametrize(("file", "old", "new", "right"), MISSPELT_NAMES, ids=lambda text: text.split("\n")[0])
def test_a_misspelt_name_is_refused_with_its_line_and_the_right_name(axpy, file, old, new, right):
    edit(axpy / file, old, new)
    misspelt = re.match(r"(?:def )?(\w+)", new)[1]
    lines = (axpy / file).read_text().splitlines()
    (number,) = (position for position, line in enumerate(lines, 1) if re.match(rf"(def )?{misspelt}\b", line))
    location = f"`{misspelt}` in line {number} of {axpy / file} isn't a name that "
    assert re.search(re.escape(location) + rf"a[^:]+ may have: did you mean `{right}`\?$", refusal_of_copy())


def test_a_misspelt_name_of_a_model_is_refused_unless_a_template_uses_it(axpy):
    model = axpy / "paper/model.py"
    model.write_text("def predicts(machine, row):\n    return 1\n")
    assert refusal_of_copy().endswith("did you mean `predict`?")
    model.write_text("FLOORS = 3\n\n\ndef predict(machine, row):\n    return 1\n")
    assert refusal_of_copy().endswith("did you mean `floor`?")
    edit(axpy / "paper/text.tex", "", "<<num(model.FLOORS)>>")
    assert len(plan_copy()) == 2


def test_a_misspelt_function_of_a_table_is_refused(axpy):
    edit(axpy / "paper/__init__.py", "", 'TABLES = ("square",)\n')
    (axpy / "paper/tables.py").write_text("def sqaure(study):\n    return ''\n")
    assert refusal_of_copy().endswith("isn't a name that a chapter's `tables.py` may have: did you mean `square`?")
    (axpy / "paper/tables.py").write_text("def square(machine, other):\n    return ''\n")
    assert "`square(machine, other)` in line 1" in refusal_of_copy()


# (file of the copy, text that is appended to it), with what makes its name valid.
VALID_HELPERS = [
    ("__init__.py", "_round = 3"),  # private
    ("__init__.py", "def width(sizes):\n    return 1"),  # like no name of the contract
    ("__init__.py", "def array(sizes):\n    return 1"),  # beside `arrays`
    ("__init__.py", "STATE = 1\n\n\ndef counted(sizes):\n    return STATE"),  # used
    ("__init__.py", "from math import factorial as checks"),
    ("vectorised.py", "LIMIT = 1"),  # beside LIMITS
    ("parallel.py", "LIMIT = 1\n\n\ndef bounded(n):\n    return min(n, LIMIT)"),
    ("parallel.py", "def geometries(sizes):\n    return 1\n\n\nSHAPES = {1: geometries}"),
    ("parallel.py", "class Product:\n    pass"),
    ("paper/text.py", "def facts(study):\n    return 1\n\n\ndef helper(study):\n    return 1"),  # which templates call
    ("paper/scaling.py", "def draws(rows):\n    return rows\n\n\nWIDTH = 3"),
    ("reference.py", "def compute(sizes, data):\n    return {}\n\n\ndef other(sizes):\n    return 1"),
]


@pytest.mark.parametrize(("file", "text"), VALID_HELPERS, ids=lambda text: text.split("\n")[0])
def test_a_helper_may_have_any_other_name(axpy, file, text):
    path = axpy / file
    path.write_text(f"{path.read_text() if path.exists() else ''}\n\n{text}\n")
    if "draws" in text:  # which a figure uses
        edit(axpy / "paper/waterfall.py", "", "\n\nfrom ladder.workloads.axpy.paper.scaling import draws\n")
    assert len(plan_copy()) == 2


def test_a_name_that_another_module_of_the_folder_uses_is_accepted(axpy):
    edit(axpy / "__init__.py", "FACTOR =", "FACT = 1\nFACTOR =")
    assert "did you mean `FACTS`?" in refusal_of_copy()
    edit(axpy / "parallel.py", "import FACTOR", "import FACT, FACTOR")
    assert len(plan_copy()) == 2


MISSING_NAMES = [
    ("__init__.py", "def arrays(", "has no function `arrays`: a workload must have `arrays(sizes)`."),
    ("__init__.py", "def fill(", "has no function `fill`: a workload must have `fill(inputs, sizes, round, data)`."),
    ("__init__.py", "def cost(", "has no function `cost`: a workload must have `cost(sizes)`."),
    (
        "__init__.py",
        "def expected(",
        "has no function `expected`: a workload must have `expected(sizes, inputs, precision)`, unless it has "
        "`check(sizes, inputs, outputs, round, data, reference, precision)`.",
    ),
    ("vectorised.py", "def setup(", "has no function `setup`: a variant must have `setup(problem, *, <tuning>)`."),
    ("paper/lines.py", "SOURCES =", "has no `SOURCES`: a chapter's `lines.py` must have `SOURCES`."),
    ("paper/waterfall.py", "CAPTION =", "has no `CAPTION`: a figure must have `CAPTION`."),
]


@pytest.mark.parametrize(("file", "old", "sentence"), MISSING_NAMES, ids=lambda text: text[:20])
def test_a_missing_name_is_refused_when_planning(axpy, file, old, sentence):
    edit(axpy / file, old, "def unlike(" if old.startswith("def") else "unlike =")
    assert f"{axpy / file} {sentence} See docs/contracts.md." in refusal_of_copy()


# (file of the copy, right arguments, wrong ones, those in the message, or None for those of `setup`).
WRONG_ARGUMENTS = [
    ("__init__.py", "cost(sizes)", "cost(size)", "cost(sizes)"),
    ("__init__.py", "cost(sizes)", "cost()", "cost(sizes)"),
    ("__init__.py", "cost(sizes)", "cost(sizes, facts)", "cost(sizes)"),
    ("__init__.py", "arrays(sizes)", "arrays(sizes, *, dtype)", "arrays(sizes)"),
    (
        "__init__.py",
        "fill(inputs, sizes, round, data)",
        "fill(sizes, inputs, round, data)",
        "fill(inputs, sizes, round, data)",
    ),
    ("vectorised.py", "setup(problem, *, threads: int=1)", "setup(problem, threads: int=1)", None),
    ("vectorised.py", "setup(problem, *, threads: int=1)", "setup(*, threads: int=1)", None),
]


@pytest.mark.parametrize(("file", "right", "wrong", "expected"), WRONG_ARGUMENTS)
def test_other_arguments_than_the_contracts_are_refused_when_planning(axpy, file, right, wrong, expected):
    edit(axpy / file, right.replace("int=", "int = "), wrong)
    expected = expected or "setup(problem, *, <tuning>)"
    (number,) = (n for n, line in enumerate((axpy / file).read_text().splitlines(), 1) if f"def {wrong}:" in line)
    sentence = f"`{wrong}` in line {number} of {axpy / file} must be `{expected}`."
    assert sentence + " Its tunings are keyword-only arguments." * ("<tuning>" in expected) in refusal_of_copy()


def test_facts_change_the_arguments_of_the_cost(axpy):
    edit(axpy / "__init__.py", "FACTOR =", 'FACTS = ("steps",)\nFACTOR =')
    assert "must be `cost(sizes, facts)`." in refusal_of_copy()
    edit(axpy / "__init__.py", "cost(sizes)", "cost(sizes, facts)")
    assert len(plan_copy()) == 2


def test_a_literal_in_place_of_a_function_is_refused(axpy):
    lines = (axpy / "__init__.py").read_text().splitlines()
    (number,) = (position for position, line in enumerate(lines, 1) if line.startswith("FACTOR ="))
    edit(axpy / "__init__.py", "FACTOR =", "rounds = 3\nFACTOR =")
    assert f"`rounds` in line {number} of {axpy / '__init__.py'} must be `rounds(sizes)`." in refusal_of_copy()
    edit(axpy / "__init__.py", "rounds = 3", "rounds = lambda sizes: 3")
    assert len(plan_copy()) == 2


def test_a_measurement_without_a_plan_is_refused_with_the_same_message(axpy):
    edit(axpy / "vectorised.py", "LIMITS =", "LIMIT =")
    case = Case("axpy", "vectorised", {"elements": 1000, "dtype": "float64", "seed": 1}, {"threads": 1})
    with pytest.raises(LadderError, match="did you mean `LIMITS`"):
        soundness.require_sound(case)


@pytest.mark.slow
def test_a_default_is_part_of_the_fingerprints_of_the_cases_that_use_it(tmp_path, monkeypatch):
    """`mlp` defines `rounds`, `fma` uses the default; every workload of the project has its own `check`."""
    package_copy = shutil.copytree(imports.PACKAGE, tmp_path / "ladder", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(imports, "PACKAGE", package_copy)
    monkeypatch.setattr(locations, "WORKLOADS", package_copy / "workloads")
    sizes = {"dtype": "float32"}
    cases = [Case("fma", "cuda", sizes, {}), Case("mlp", "numpy_loop", sizes, {"threads": 1})]

    def fingerprints():
        sources.clear_caches()
        return [sources.fingerprint(case) for case in cases]

    before = fingerprints()
    edit(package_copy / "harness/defaults.py", "    return 2", "    return 2 + 1")
    fingerprints_of_changed_default = fingerprints()
    assert [new != old for new, old in zip(fingerprints_of_changed_default, before, strict=True)] == [True, False]
    edit(package_copy / "harness/defaults.py", "compare(name,", "compare(str(name),")
    assert fingerprints() == fingerprints_of_changed_default
    edit(package_copy / "workloads/mlp/__init__.py", "STATEFUL = True\n", "")
    assert fingerprints()[1] != fingerprints_of_changed_default[1]
    fingerprint_of_default = fingerprints()[1]
    edit(package_copy / "harness/defaults.py", "STATEFUL = False", "STATEFUL = 0")
    assert fingerprints()[1] != fingerprint_of_default
    monkeypatch.undo()
    sources.clear_caches()


def test_a_string_in_place_of_names_is_refused_with_the_modules_of_a_workload(tmp_path):
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper/__init__.py").write_text('ORDER = 1\nTABLES = ("square")\n')
    with pytest.raises(LadderError, match=r"`TABLES` in line 2 of .* is 'square': it must be .*; a tuple of one name "):
        contracts.require_modules(tmp_path)
