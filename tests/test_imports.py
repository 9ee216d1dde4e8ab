"""Folders import one way, torch stays where it belongs, and public names are there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import sklearn_hashnlp

PACKAGE = Path(sklearn_hashnlp.__file__).parent

# Each row may import from the rows above it, and nothing within a row from another folder of that
# row.
ROWS = [
    ("_constraints", "_device", "_hash_specification", "_idf", "_lazy"),
    ("_posix", "_sklearn", "_text_files", "_threads"),
    ("kernels", "trees"),
    ("text", "nn"),
    ("optim",),
    ("persistence", "datasets"),
    ("training",),
    ("language", "sentences"),
    ("classifiers",),
    ("inspection", "plotting"),
    ("cli",),
]
# So may the folders of kernels/, after the files that stand in it,
KERNEL_ROWS = [
    ("_native", "_ragged"),
    ("_hashes", "_rows"),
    ("embeddings", "projections", "strings"),
    ("linear", "ngrams", "trees"),
]
# and the parts of classifiers/.
CLASSIFIER_ROWS = [
    ("_losses", "_training_summary"),
    ("_calibration", "_labels"),
    ("_base", "_more_classes", "_net", "_sample_weights"),
    ("_net_classifier",),
    ("hash_embedding", "sgnn"),
    ("_hash_embedding_classifier", "_sgnn_classifier"),
    ("_make_text_classifier", "_quantized_sgnn_classifier", "fasttext"),
    ("_text_pipeline",),
    ("_text_classifier",),
    ("export", "merging", "_tune_text_classifier"),
]


def names_above(rows: list[tuple[str, ...]]) -> dict[str, set[str]]:
    """Return for each name those of all rows above its own."""
    return {
        name: {above for row in rows[:at] for above in row}
        for at, names in enumerate(rows)
        for name in names
    }


ALLOWED = names_above(ROWS)
ALLOWED["cli"] |= set(sklearn_hashnlp.__all__)
PARTS_ALLOWED = {"kernels": names_above(KERNEL_ROWS), "classifiers": names_above(CLASSIFIER_ROWS)}
# Inside a call, and only for a device that is not the CPU.
EXCEPTIONS = {"text/_sgnn_projector.py": {"nn"}}


@cache
def modules_imported_by(path: Path) -> set[str]:
    """Return the full names of all modules, or names in them, that a file imports, wherever in the
    file it does.
    """
    folder = path.relative_to(PACKAGE).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = (
                ["sklearn_hashnlp", *folder][: len(folder) + 2 - node.level] if node.level else []
            )
            module = [*base, *(node.module.split(".") if node.module else [])]
            found |= {".".join([*module, alias.name]) for alias in node.names}
    return found


def parts_imported_by(path: Path, package: str = "sklearn_hashnlp") -> set[str]:
    """Return what stands directly below a package in each import of it: a folder, a module or a
    name.
    """
    names = modules_imported_by(path)
    return {
        name.removeprefix(f"{package}.").partition(".")[0]
        for name in names
        if name.startswith(f"{package}.")
    }


@pytest.mark.parametrize(
    "folder", sorted({path.parent.name for path in PACKAGE.glob("*/__init__.py")})
)
def test_folders_import_one_way(folder):
    for path in (PACKAGE / folder).rglob("*.py"):
        exceptions = EXCEPTIONS.get(path.relative_to(PACKAGE).as_posix(), set())
        assert parts_imported_by(path) - {folder} <= ALLOWED[folder] | exceptions, path


@pytest.mark.parametrize("folder", PARTS_ALLOWED)
def test_parts_of_a_folder_import_one_way(folder):
    for path in set((PACKAGE / folder).rglob("*.py")) - {PACKAGE / folder / "__init__.py"}:
        part = path.relative_to(PACKAGE / folder).with_suffix("").parts[0]
        assert (
            parts_imported_by(path, f"sklearn_hashnlp.{folder}") - {part}
            <= PARTS_ALLOWED[folder][part]
        ), path


def module_name(path: Path) -> str:
    """Return the full name of the module in a file; of a package, its own."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other, however far around."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        waiting, found = [start], set()
        while waiting:
            new = graph[waiting.pop()] - found
            found |= new
            waiting += new
        reached[start] = found
    return sorted(
        {tuple(sorted(b for b in reached[a] if a in reached[b])) for a in graph if a in reached[a]}
    )


def test_no_files_import_each_other():
    modules = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    graph = {}
    for module, path in modules.items():
        imported = modules_imported_by(path)
        graph[module] = {
            name if name in modules else name.rpartition(".")[0] for name in imported
        } & set(modules)
        graph[module] -= {module}
    assert len(graph) > 100
    assert not circles(graph)


def private_names_used_by(path: Path) -> set[str]:
    """Return the names that a file takes from the package or from objects, and that are none of its
    own or public.
    """
    found = {name for name in modules_imported_by(path) if name.startswith("sklearn_hashnlp.")}
    found = {
        name
        for name in found
        if not name.startswith("sklearn_hashnlp.cli.") and not is_public(name)
    }
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("self", "cls", "os"):
            is_private = (
                node.attr.startswith("_")
                and not node.attr.endswith("__")
                and node.attr != "_asdict"
            )
            found |= {ast.unparse(node)} if is_private else set()
    return found


def is_public(name: str) -> bool:
    """Return whether a name of the package is in the ``__all__`` of its folder, or a folder."""
    folder, _, last = name.rpartition(".")
    return last in getattr(import_module(folder), "__all__", ()) or (PACKAGE / last).is_dir()


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "cli").rglob("*.py")), ids=lambda path: path.stem
)
def test_the_command_line_stands_on_public_names(path):
    assert private_names_used_by(path) == set()


def test_nn_knows_no_scikit_learn():
    for path in (PACKAGE / "nn").rglob("*.py"):
        assert not {
            name
            for name in modules_imported_by(path)
            if name.partition(".")[0] in {"sklearn", "skorch"}
        }, path


def run(code: str) -> str:
    root = Path(__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=root
    ).stdout


def test_the_package_itself_loads_next_to_nothing():
    code = (
        "import sys, sklearn_hashnlp; print([m for m in ('torch', 'numpy', 'sklearn', 'typer') if "
        "m in sys.modules])"
    )
    assert run(code).strip() == "[]"


@pytest.mark.parametrize("name", sklearn_hashnlp.__all__)
def test_public_names_are_there(name):
    assert getattr(sklearn_hashnlp, name) is not None
    assert name in dir(sklearn_hashnlp)


STUBS = sorted(PACKAGE.rglob("__init__.pyi"))


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.name)
def test_static_tools_see_the_names_that_are_imported_on_first_use(stub):
    package = import_module(module_name(stub))
    static = {name.rpartition(".")[2]: name for name in modules_imported_by(stub)}
    assert {"__version__", *static} == {"__version__", *dir(package)}
    for name in package.__all__:
        if name != "__version__":
            module = import_module(static[name].rpartition(".")[0])
            assert getattr(package, name) is getattr(module, name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'HashEmbedingClassifier'"):
        _ = sklearn_hashnlp.HashEmbedingClassifier


# no more are to come
SHARED_NAMES = {"_count_ngrams", "_explain", "_search", "_softmax_tree", "_tables"}


def test_a_file_name_occurs_in_one_folder() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("_*.py") if not path.stem.startswith("__"))
    assert {name for name, count in names.items() if count > 1} <= SHARED_NAMES


TESTS = Path(__file__).parent
FOREIGN = 70  # files of tests: no more are to come


def imports_foreign_private_names(path: Path) -> bool:
    """Return whether a file of tests imports private modules or names of another folder than the
    one that it tests.
    """
    folder = path.relative_to(TESTS).parts[0].removesuffix(".py")
    names = [
        name.split(".")[1:] for name in modules_of(path) if name.startswith("sklearn_hashnlp.")
    ]
    private = [
        parts
        for parts in names
        if any(part.startswith("_") and not part.startswith("__") for part in parts)
    ]
    return any(
        parts[0] != folder and not (path.parent == TESTS and parts[0].startswith("_"))
        for parts in private
    )


def modules_of(path: Path) -> set[str]:
    """Return the full names of what a file of tests imports from the package, also in programs that
    it holds.
    """
    found = re.findall(
        r"from (sklearn_hashnlp[\w.]*) import (\([^)]*\)|.*)", path.read_text(encoding="utf-8")
    )
    return {
        f"{module}.{name}"
        for module, names in found
        for name in re.findall(r"(\w+)(?: as \w+)?", names)
    }


def test_tests_import_public_names_or_what_they_test() -> None:
    found = [
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if imports_foreign_private_names(path)
    ]
    assert len(found) <= FOREIGN, found
