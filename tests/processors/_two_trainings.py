"""Find assertions that compare the results of two trainings, in the source of tests.

A training is a call of ``fit`` or the like, or of a function of the tests that makes such a call.
Its result is what is computed from it, through variables, calls and comprehensions. An assertion
compares two if results of both meet in one comparison, difference, set or list of arguments. Where
a call is repeated by a comprehension or by a loop that collects results, each element is the result
of another training. Only functions of the tests are read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

# of tests/benchmarks/labeled_rows.py: it trains several models, and returns nested results
SCRIPT = "run_script"
TRAINING = {"fit", "partial_fit", "fit_transform", "fit_predict", SCRIPT}
# of tests/trainings.py
HELPERS = {"assert_same_bits", "assert_other_bits", "assert_near", "assert_as_good"}
# Classes that count, or draw random numbers: what they learn does not depend on the processor.
COUNTING = (
    "Vectorizer",
    "Featurizer",
    "Projector",
    "KneserNeyLanguageModel",
    "CacheLanguageModel",
    "Inverter",
)
# Attributes, keys and functions whose values are no trained numbers.
EXACT = {
    "bytes",
    "classes_",
    "columns",
    "dtype",
    "get_params",
    "keys",
    "len",
    "n_parameters_",
    "shape",
    "type",
}
EXACT |= {"vocabulary_"}
NUMERIC = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
JOINED = "two trainings"  # a value computed from two, as their difference

# A training is the place of its call, with a star where the call is repeated.
Trainings: TypeAlias = frozenset[str]
NONE: Trainings = frozenset()


def comparisons(paths: Iterable[Path], root: Path) -> list[str]:
    """Return ``file::function, line`` of each assertion outside the helpers that compares two
    trainings.
    """
    sources = Sources(paths, root)
    return [
        f"{module.replace('.', '/')}.py::{name}, line {line}"
        for module, functions in sources.functions.items()
        for name, function in functions.items()
        for line in Function(sources, module, function).lines
    ]


def name_of(node: ast.AST) -> str:
    """Return the name of a function, attribute or variable: its last part."""
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )


def root_of(node: ast.AST) -> str:
    """Return the name that a chain of attributes, calls and elements starts with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return name_of(node)


def is_assertion(node: ast.AST) -> bool:
    """Return whether a node asserts, by the statement or a function as
    ``np.testing.assert_allclose``, not a helper.
    """
    called = name_of(node.func) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Assert) or (called.startswith("assert_") and called not in HELPERS)


class Sources:
    """The functions of files, and which of them train or assert."""

    def __init__(self, paths: Iterable[Path], root: Path) -> None:
        self.trees: dict[str, ast.Module] = {}
        self.functions: dict[str, dict[str, ast.FunctionDef]] = {}
        self.imported: dict[str, dict[str, str]] = {}
        for path in paths:
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            self.trees[module] = ast.parse(path.read_text(encoding="utf-8"))
            nodes = list(ast.walk(self.trees[module]))
            self.functions[module] = {
                node.name: node for node in nodes if isinstance(node, ast.FunctionDef)
            }
            names = [
                (node.module, alias)
                for node in nodes
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            ]
            self.imported[module] = {
                alias.asname or alias.name: f"{name}.{alias.name}" for name, alias in names
            }
        self.training = set[str]()
        self.asserting = set[str]()
        n_known = -1
        while n_known < len(self.training):
            n_known = len(self.training)
            for module, name, node in self.nodes():
                if isinstance(node, ast.Call) and self.trains(module, node):
                    self.training.add(f"{module}.{name}")
                if is_assertion(node) and name not in HELPERS:
                    self.asserting.add(f"{module}.{name}")

    def nodes(self) -> Iterator[tuple[str, str, ast.AST]]:
        """Yield the module and the name of each function with each node of its syntax tree."""
        for module, functions in self.functions.items():
            for name, function in functions.items():
                yield from ((module, name, node) for node in ast.walk(function))

    def full_name(self, module: str, function: ast.expr) -> str:
        """Return module and name of a function that a module calls."""
        name = name_of(function)
        if isinstance(function, ast.Attribute):
            return f"{self.imported[module].get(name_of(function.value), '')}.{name}"
        return (
            f"{module}.{name}"
            if name in self.functions[module]
            else self.imported[module].get(name, "")
        )

    def trains(self, module: str, call: ast.Call) -> bool:
        if name_of(call.func) in TRAINING:
            return not root_of(call.func).endswith(COUNTING)
        return self.full_name(module, call.func) in self.training

    def is_cached(self, module: str, call: ast.Call) -> bool:
        """Return whether equal calls return the result of one training."""
        module, _, name = self.full_name(module, call.func).rpartition(".")
        function = self.functions.get(module, {}).get(name)
        return function is not None and any(
            name_of(node) == "cache" for node in function.decorator_list
        )

    def fixtures(self, module: str) -> set[str]:
        """Return the names of the fixtures of a module that train."""
        above = module.split(".")
        modules = [
            module,
            *(".".join([*above[:depth], "conftest"]) for depth in range(1, len(above))),
        ]
        return {
            name
            for one in modules
            for name in self.functions.get(one, ())
            if f"{one}.{name}" in self.training
        }


class Function:
    """The trainings that the variables of a function depend on, statement after statement."""

    def __init__(self, sources: Sources, module: str, function: ast.FunctionDef) -> None:
        self.sources, self.module = sources, module
        self.lines, self.in_loop = list[int](), False
        self.repeated, self.counting = set[str](), set[str]()
        fixtures = sources.fixtures(module)
        self.variables = {
            arg.arg: frozenset({arg.arg}) for arg in function.args.args if arg.arg in fixtures
        }
        self.run([node for node in sources.trees[module].body if isinstance(node, ast.Assign)])
        self.run(function.body)

    def run(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assert(test=expression) | ast.Expr(value=expression):
                    trainings = self.of(expression)
                    called = expression.func if isinstance(expression, ast.Call) else ast.Name("")
                    asserts = self.sources.full_name(self.module, called) in self.sources.asserting
                    if JOINED in trainings and (
                        is_assertion(statement) or is_assertion(expression) or asserts
                    ):
                        self.lines.append(statement.lineno)
                    if name_of(called) in {"append", "extend", "update"}:
                        self.bind(
                            root_of(called),
                            {one + "*" * (one in self.repeated) for one in trainings},
                        )
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self.assign(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.assign(target, value)
                case ast.AugAssign(target=target, value=value):
                    self.bind(root_of(target), self.of(value))
                case ast.For(target=target, iter=iterable, body=body):
                    self.assign(target, iterable, elements=True)
                    before, self.in_loop = self.in_loop, True
                    self.run(body)
                    self.in_loop = before
                case ast.With(items=items, body=body):
                    if not any(
                        name_of(getattr(item.context_expr, "func", item)) == "raises"
                        for item in items
                    ):
                        self.run(body)
                case ast.If() | ast.While() | ast.Try():
                    self.run([*statement.body, *statement.orelse])

    def bind(self, name: str, trainings: Iterable[str]) -> None:
        """Add trainings to those of a variable."""
        self.variables[name] = self.variables.get(name, NONE) | frozenset(trainings)

    def assign(self, target: ast.expr, value: ast.expr, *, elements: bool = False) -> None:
        """Give the variables of a target the trainings of a value, or of its elements."""
        trainings = self.of(value)
        if isinstance(target, ast.Name):
            self.variables[target.id] = (
                frozenset(one.strip("*") for one in trainings) if elements else trainings
            )
            if name_of(getattr(value, "func", value)).endswith(COUNTING):
                self.counting.add(target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            for index, part in enumerate(target.elts):
                part = part.value if isinstance(part, ast.Starred) else part
                if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                    self.assign(part, value.elts[index])
                elif isinstance(part, ast.Name):
                    self.variables[part.id] = frozenset(
                        one.replace("*", f"[{index}]") for one in trainings
                    )
        else:
            self.bind(root_of(target), trainings)

    def of(self, node: ast.AST) -> Trainings:
        """Return the trainings that the value of an expression depends on."""
        match node:
            case ast.Name():
                return self.variables.get(node.id, NONE)
            case ast.Lambda():
                return NONE
            case ast.Call() if (
                self.sources.trains(self.module, node) and root_of(node.func) not in self.counting
            ):
                return self.train(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.comprehension(node)
            case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
                key = ast.unparse(index).strip("'")
                trainings = NONE if key in EXACT else self.of(value)
                return frozenset(one.replace("*", f"[{key}]", 1) for one in trainings)
        parts = [self.of(child) for child in ast.iter_child_nodes(node)]
        trainings = frozenset[str]().union(*parts)
        if isinstance(node, ast.Compare) and not any(
            isinstance(operator, NUMERIC) for operator in node.ops
        ):
            return trainings & {JOINED}  # by `is` or `in`
        if isinstance(node, ast.Call):
            parts = [self.of(child) for child in [*node.args, *node.keywords]]
        joins = isinstance(node, ast.BinOp | ast.Call | ast.Compare | ast.Set)
        if name_of(getattr(node, "func", node)) == "diff" and "*" in "".join(trainings):
            return trainings | {JOINED}
        if joins and any(
            a and b and (a != b or "*" in "".join(a)) for a, b in combinations(parts, 2)
        ):
            return trainings | {JOINED}
        exact = not isinstance(node, ast.Name) and name_of(getattr(node, "func", node)) in EXACT
        return trainings & {JOINED} if exact else trainings

    def train(self, call: ast.Call) -> Trainings:
        """Return a new training; the model that is trained depends on it from now on."""
        place = (
            ast.unparse(call)
            if self.sources.is_cached(self.module, call)
            else f"{call.lineno}:{call.col_offset}"
        )
        trainings = frozenset({place + "*********" * (name_of(call.func) == SCRIPT)})
        if self.in_loop:
            self.repeated |= trainings
        method = isinstance(call.func, ast.Attribute) and name_of(call.func) in TRAINING
        for node in (
            [call.func.value] if isinstance(call.func, ast.Attribute) and method else call.args
        ):
            if isinstance(node, ast.Name) and (method or node.id in self.variables):
                self.variables[node.id] = trainings
        return trainings

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Trainings:
        """Return the trainings of all elements, with a star where they differ from element to
        element.
        """
        before = dict(self.variables)
        known = frozenset[str]().union(*before.values(), {JOINED})
        for generator in node.generators:
            known |= self.of(generator.iter)
            if isinstance(generator.iter, ast.Tuple) and len(self.of(generator.iter)) > 1:
                known = frozenset({JOINED})  # elements are the results of different trainings
            self.assign(generator.target, generator.iter, elements=True)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        parts += [condition for generator in node.generators for condition in generator.ifs]
        trainings = frozenset[str]().union(*map(self.of, parts))
        self.variables = before
        trainings = frozenset(one + "*" * (one not in known) for one in trainings)
        return trainings | (
            {JOINED} if isinstance(node, ast.SetComp) and "*" in "".join(trainings) else NONE
        )
