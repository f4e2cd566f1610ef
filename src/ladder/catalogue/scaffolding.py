"""New variants and workloads to start from, written as files that run and keep the contracts.

A new variant is a copy of an existing one, by default of the first rung on its device, which is the plainest. A new
workload comes from `templates/`. No file is ever overwritten.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template

from ladder.catalogue import contracts, literals, locations, native_sources, sources, workloads
from ladder.errors import LadderError
from ladder.records.case import NAME

TEMPLATES = Path(__file__).with_name("templates")
WORKLOAD_WORD = "workload"  # before the slash it requests a new workload
# The files of a new workload, and their templates.
TEMPLATE_OF_FILE = {"__init__.py": "workload.py.txt", "plain.py": "variant.py.txt"}
# The beginning of an assignment of a constant other than SOURCE.
OTHER_CONSTANT = re.compile(r"(?!SOURCE )[A-Z_]+ = ")
# The values of required sizes in the command that tries what was written.
INTEGER_SIZE, REAL_SIZE = 256, 0.5


def create(
    name: str, device: str = "host", origin: str | None = None, folder: Path | str | None = None
) -> tuple[list[Path], list[str]]:
    """Write a variant or a workload below a folder of workloads.

    `name` is that of a workload and the new variant, such as gemm/mine, or the word "workload" and the name of the new
    one, such as workload/spmv. `origin` names the variant to copy, by default the first rung on the device. By
    default the folder is the user's first one, or else the project's. Returns the paths, and the words of a
    `ladder run` that tries it. Raises LadderError.
    """
    workload, _, new_name = name.partition("/")
    if not NAME.fullmatch(new_name):
        raise LadderError(
            f"{name!r} can't be made: write the names of a workload and its new variant, such as gemm/mine, or "
            f"{WORKLOAD_WORD}/ and the name of a new workload, such as {WORKLOAD_WORD}/spmv; names have lower-case "
            "letters, digits and '_'."
        )
    root = Path(folder) if folder else [*locations.roots()[1:], locations.WORKLOADS][0]
    if workload == WORKLOAD_WORD:
        return create_workload(new_name, root)
    return create_variant(workload, new_name, device, origin, root)


def create_workload(name: str, root: Path) -> tuple[list[Path], list[str]]:
    """Write a workload with one variant. Raises LadderError if it exists."""
    if any(folder.exists() for folder in [*locations.folders(name), root / name]):
        raise LadderError(f"There is a folder {name} of a workload already: choose another name.")
    contents = {
        root / name / file: Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(name=name)
        for file, template in TEMPLATE_OF_FILE.items()
    }
    return write(contents), [f"{name}/plain", f"elements={INTEGER_SIZE}"]


def create_variant(
    workload: str, name: str, device: str, origin: str | None, root: Path
) -> tuple[list[Path], list[str]]:
    """Write a copy of a variant under another name. Raises LadderError if a file of that name exists."""
    workloads.workload_path(workload)
    for folder in {*locations.folders(workload), root / workload}:
        if paths := sorted(folder.glob(f"{name}.*")):
            raise LadderError(f"{paths[0]} exists already: choose another name.")
    origin = origin or first_rung(workload, device)
    path = workloads.variant_path(workload, origin)
    native_paths = [source.path for source in native_sources.of_module(path)]
    headers = {header for source in native_paths for header in local_headers(source)}
    folder = root / workload
    contents = {folder / f"{name}.py": renamed_source(path, workload, origin, name)}
    contents |= {folder / f"{name}{source.suffix}": source.read_text(encoding="utf-8") for source in native_paths}
    # Headers are looked up beside the source that includes them.
    contents |= {
        folder / header.name: header.read_text(encoding="utf-8")
        for header in sorted(headers)
        if not (folder / header.name).exists()
    }
    kinds = workloads.load(workload).SIZES
    required = {size: kind for size, kind in kinds.items() if isinstance(kind, type)}
    sizes = [f"{size}={INTEGER_SIZE if kind is int else REAL_SIZE}" for size, kind in required.items()]
    return write(contents), [f"{workload}/{name}", f"{workload}/{origin}", *sizes]


def first_rung(workload: str, device: str) -> str:
    """The first rung of a workload on a device. Raises LadderError if it has none."""
    constants = {name: workloads.constants(workload, name) for name in workloads.rungs(workload)}
    rungs = [name for name, values in constants.items() if values["DEVICE"] == device and not values.get("PEER")]
    if not rungs:
        devices = sorted({values["DEVICE"] for values in constants.values()})
        raise LadderError(
            f"{workload} has no rung on the device {device!r} to begin with, only on {', '.join(devices)}: name a "
            "variant with --from."
        )
    return rungs[0]


def renamed_source(path: Path, workload: str, origin: str, name: str) -> str:
    """The text of a variant's module under another name, with a docstring of its own, and not a peer any more.

    The old name is replaced where it is a whole string literal, for example an argument of a launch or the SOURCE, but
    not in other constants: a DEVICE or a RUNTIME may have the same name.
    """
    text = path.read_text(encoding="utf-8")
    docstring = literals.parse(path)[0] if ast.get_docstring(ast.parse(text)) else None
    lines = text.splitlines()[docstring.end_lineno if docstring else 0 :]
    source = literals.read(path).get("SOURCE", "")
    names = {origin: name, source: name + Path(source).suffix}
    pattern = re.compile(rf"""(["'])({"|".join(re.escape(old) for old in names if old)})\1""")
    lines = [
        line if OTHER_CONSTANT.match(line) else pattern.sub(lambda match: f'"{names[match[2]]}"', line)
        for line in lines
        if not line.startswith("PEER ")
    ]
    return "\n".join([f'"""{workload}/{name}: your idea in a line; this is a copy of `{origin}`."""', *lines, ""])


def local_headers(source: Path, folder: Path | None = None) -> Iterator[Path]:
    """The headers in a folder, by default that of the source, that the source includes, at any depth."""
    folder = folder or source.parent
    for header in native_sources.read(source).references:
        if header.path.parent == folder:
            yield header.path
        yield from local_headers(header.path, folder)


def write(contents: Mapping[Path, str]) -> list[Path]:
    """Write new files, {path: text}, and check that they keep the contracts of their kinds; returns their paths."""
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    for path in contents:
        if path.suffix == ".py":
            contracts.require_names(path, contracts.WORKLOAD if path.stem == "__init__" else contracts.VARIANT)
    sources.clear_caches()  # what was read before these files existed
    return list(contents)
