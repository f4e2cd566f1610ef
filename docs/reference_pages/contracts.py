"""The names of the contracts, as `catalogue/contracts.py` checks them."""

from ladder.catalogue import contracts
from ladder.harness import defaults
from reference_pages import markdown

HEAD = ("name", "need", "default")


def page():
    """A table for each kind of module: a workload's, a variant's, and those of a chapter."""
    modules = {"`__init__.py` of a workload": contracts.WORKLOAD, "A variant, `<variant>.py`": contracts.VARIANT}
    modules |= {f"`{name}.py` of a workload": contract for name, contract in contracts.MODULES.items()}
    modules |= {
        f"`paper/{name}.py`": contract for name, contract in contracts.CHAPTER_MODULES.items() if contract.names
    }
    modules["A figure, `paper/<figure>.py`"] = contracts.FIGURE
    return markdown.document(
        *(part for title, contract in modules.items() for part in (f"## {title}", table(contract)))
    )


def table(contract):
    """The names of a contract, functions with their arguments."""
    return markdown.table(HEAD, [row(name, entry) for name, entry in contract.names.items()])


def row(name, entry):
    """A name, whether a module must have it, and what holds if it hasn't."""
    need = contracts.REQUIRED if entry.need == contracts.REQUIRED else contracts.OPTIONAL
    if entry.alternative:
        need += f", unless there is `{entry.alternative}`"
    written = contracts.signature(name, entry)
    if entry.arguments_if:
        other, arguments = entry.arguments_if
        written += f", with `{other}` `{name}({arguments})`"
    return written, need, default(name, entry)


def default(name, entry):
    """The value of a constant that a module lacks, or what a function does in its place."""
    if entry.need != contracts.DEFAULT:
        return "" if entry.default is None else markdown.code(repr(entry.default))
    value = getattr(defaults, name)
    return value.__doc__ or "" if callable(value) else markdown.code(repr(value))
