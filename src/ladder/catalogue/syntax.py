"""Statements of Python as syntax trees: the names that they bind, import and use, and their normal form."""

import ast
import re
import sys

from ladder.catalogue.literals import statements

MODULE_NAME = re.compile(r"ladder(\.\w+)+\.?")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NAME_BINDERS = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")  # the fields that hold statements
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_names(node):
    """The names that a top-level statement defines or assigns: none for imports, and for `if`, `with` and the like."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return set()
    names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def is_definition(node):
    """Whether a statement is neither an import nor a docstring."""
    return not isinstance(node, ast.Import | ast.ImportFrom) and not is_docstring(node)


def is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def imported_names(node, package):
    """The names that a statement of a package's module imports from ladder, at any depth: {name: dotted name}."""
    origins = {}
    for statement in nested_statements(node):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                first = alias.name.partition(".")[0]
                origins |= {alias.asname: alias.name} if alias.asname else {first: first}
                origins[f"import {alias.name}"] = alias.name  # it is run, whatever is used of it
        elif isinstance(statement, ast.ImportFrom):
            base = import_base(statement, package)
            origins |= {alias.asname or alias.name: f"{base}.{alias.name}" for alias in statement.names}
    return {name: origin.removesuffix(".*") for name, origin in origins.items() if is_from_ladder(origin)}


def nested_statements(node):
    """A statement and those inside of it, in the order of `ast.walk`, which visits expressions, too."""
    nodes = [node]
    for outer in nodes:  # which grows meanwhile
        nodes += [inner for name in BLOCKS for inner in getattr(outer, name, ())]
    return nodes


def import_base(node, package):
    """The dotted name that an import is from, its leading dots resolved."""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])])


def is_from_ladder(origin):
    return origin.partition(".")[0] == "ladder"


def libraries(path):
    """The names of the packages that a file imports at any depth, including ladder."""
    names = set()
    for node in (node for statement in statements(path) for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def dump(tree):
    """A syntax tree as the same text in all versions of Python: newer ones have more fields, empty in older code."""
    for node in ast.walk(tree) if "type_params" in ast.FunctionDef._fields else ():
        if getattr(node, "type_params", None) == []:
            del node.type_params
    return ast.dump(tree, **({"show_empty": True} if sys.version_info >= (3, 13) else {}))


class Normaliser(ast.NodeTransformer):
    """The normal form of a statement: without docstrings and without the modules of what it uses of ladder.

    `text` is its syntax tree in this form. `names` are its references in order, each (dotted name, whether it is used
    or only imported): names that the `module` binds or imports, the statement's own imports, and strings that hold a
    module's dotted name. Local names of a function are excluded. `find` gives the module of a dotted name, or None.
    The statement is modified.
    """

    def __init__(self, node, module, find):
        self.module, self.find = module, find
        self.imports = module.imported | imported_names(node, module.package)
        self.locals, self.names = [], []
        if "*" in self.imports:
            self.names.append((self.imports["*"], True))
        self.text = dump(self.visit(node))

    def refer(self, name, is_used=True):
        """Record a reference; the name that replaces it in the tree."""
        self.names.append((name, is_used))
        return "module" if self.find(name) else name.rpartition(".")[2]

    def denoted(self, node):
        """The dotted name that an expression denotes by imports of ladder's, or None."""
        if isinstance(node, ast.Name) and not any(node.id in names for names in self.locals):
            return self.imports.get(node.id)
        if isinstance(node, ast.Attribute) and (base := self.denoted(node.value)) and self.find(base):
            return f"{base}.{node.attr}"
        return None

    def visit_Name(self, node):
        if name := self.denoted(node):
            return ast.Name(self.refer(name), node.ctx)
        if node.id in self.module.bound and not any(node.id in names for names in self.locals):
            self.refer(f"{self.module.name}.{node.id}")
        return node

    def visit_Attribute(self, node):
        if name := self.denoted(node):
            return ast.Name(self.refer(name), node.ctx)
        return self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, str) and MODULE_NAME.fullmatch(node.value):
            name = node.value.removesuffix(".")
            if self.find(name):
                return ast.Constant(self.refer(name, is_used=name == node.value))
        return node

    def visit_Import(self, node):
        for origin in imported_names(node, self.module.package).values():
            self.refer(origin, is_used=False)
        node.names = [alias for alias in node.names if not is_from_ladder(alias.name)]
        return node if node.names else None

    def visit_ImportFrom(self, node):
        for origin in imported_names(node, self.module.package).values():
            self.refer(origin, is_used=False)
        return None if is_from_ladder(import_base(node, self.module.package)) else node

    def visit_FunctionDef(self, node):
        # Decorators, defaults and annotations stand outside of the function.
        for name in ("decorator_list", "args", "returns"):
            self.visit_field(node, name)
        self.inside(node, local_names(node), ["body"])
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self.visit_field(node, "args")
        self.inside(node, local_names(node), ["body"])
        return node

    def visit_ClassDef(self, node):
        node.body = without_docstring(node.body)
        return self.generic_visit(node)

    def visit_comprehension_of(self, node):
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        nodes = (each for generator in node.generators for each in ast.walk(generator.target))
        names = {each.id for each in nodes if isinstance(each, ast.Name)}
        self.inside(node, names, ["generators", *(name for name in ("key", "value", "elt") if hasattr(node, name))])
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_of

    def inside(self, node, names, fields):
        """Visit fields of a node in which names are local."""
        if isinstance(getattr(node, "body", None), list):
            node.body = without_docstring(node.body)
        self.locals.append(names)
        for name in fields:
            self.visit_field(node, name)
        self.locals.pop()

    def visit_field(self, node, name):
        value = getattr(node, name)
        if isinstance(value, list):
            visited = [self.visit(each) for each in value]
            value[:] = [each for each in visited if each is not None]
        elif value is not None:
            setattr(node, name, self.visit(value))


def without_docstring(body):
    return body[1:] if is_docstring(body[0]) else body


def local_names(function):
    """The local names of a function: its arguments, and what it assigns."""
    arguments = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    if isinstance(function, ast.Lambda):
        return arguments | set(assigned_names([function.body]))
    shared = {name for each in nested_statements(function) if isinstance(each, ast.Global) for name in each.names}
    return (arguments | set(assigned_names(function.body))) - shared


def assigned_names(nodes):
    """The names that nodes assign, without those inside nested functions, classes and comprehensions."""
    for node in nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id
            continue
        if isinstance(node, NAME_BINDERS) and node.name:
            yield node.name
        if not isinstance(node, (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef, ast.Lambda)):
            yield from assigned_names(ast.iter_child_nodes(node))
