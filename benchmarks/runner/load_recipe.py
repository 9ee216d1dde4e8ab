"""Recipes and classes of the user's own modules, named as ``my_module:NAME``."""

from __future__ import annotations

import importlib
import importlib.metadata
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.runner.recipe import Recipe


def load_recipe(reference: str) -> Recipe:
    """Import a recipe of your own, ``MODULE:NAME``; modules in the current folder come first."""
    value = load_object(reference)
    if not isinstance(value, Recipe):
        module, name = reference.split(":")
        kind = f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"
        raise TypeError(
            f"{name!r} in the module {module!r} must be an instance of benchmarks.runner.Recipe; it is {kind}."
        )
    for role in ("run", "n_results", "report", "plot"):
        _check_function(value, role)
    _check_packages(value)
    return value


def load_object(reference: str) -> Any:
    """Import what ``"MODULE:NAME"`` names."""
    module_name, colon, name = reference.partition(":")
    parts = [*module_name.split("."), name]
    if not colon or module_name.endswith(".py") or not all(part.isidentifier() for part in parts):
        hint = ""
        if module_name.endswith(".py"):
            hint = f" A module is named without its ending: {module_name.removesuffix('.py').replace('/', '.')}."
        raise ValueError(f"Expected MODULE:NAME, such as my_module:MY_RECIPE, got {reference!r}.{hint}")
    module = _import_module(module_name)
    if not hasattr(module, name):
        recipes = [key for key, value in vars(module).items() if isinstance(value, Recipe)]
        hint = f"; its recipes are: {', '.join(recipes)}" if recipes else ""
        raise ValueError(f"The module {module_name!r} ({module.__file__}) has no name {name!r}{hint}.")
    return getattr(module, name)


def _import_module(name: str) -> ModuleType:
    """Import a module; one in the current folder comes first, as with ``python -m``."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # to stay: worker processes get a copy of sys.path
    importlib.invalidate_caches()  # the file may have been written since
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            raise ValueError(
                f"There is no module {missing!r}: Python finds it neither in the current folder nor among the "
                "installed packages (sys.path)."
            ) from None
        raise RuntimeError(f"The module {name!r} imports {missing!r}, which is not installed.") from error
    except (Exception, SystemExit) as error:
        raise RuntimeError(f"The module {name!r} cannot be imported: {type(error).__name__}: {error}") from error


def _check_function(recipe: Recipe, role: str) -> None:
    """Check that a function can be sent to another process, as ``--processes`` does."""
    function = getattr(recipe, role)
    try:
        pickle.dumps(function)
    except Exception as error:
        raise ValueError(
            f"The recipe {recipe.name!r}: {role} must be a function at the top level of a module, got {function!r}: "
            "it cannot be sent to another process."
        ) from error


def _check_packages(recipe: Recipe) -> None:
    for package in recipe.packages:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise ValueError(
                f"The recipe {recipe.name!r}: its packages must be names of installed distributions, as pip prints "
                f"them; {package!r} is none."
            ) from None
