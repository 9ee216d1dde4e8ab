"""Recipes and classes of the user's own modules, named as ``my_module:NAME``."""

from __future__ import annotations

import importlib
import importlib.metadata
import pickle
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.runner.recipe import Recipe


def load_recipe(reference: str) -> Recipe:
    """Import a recipe of your own, ``MODULE:NAME``; modules in the current folder come first."""
    value = load_object(reference)
    if not isinstance(value, Recipe):
        module, name = reference.split(":")
        kind = (
            f"the class {value.__name__}"
            if isinstance(value, type)
            else f"of type {type(value).__name__}"
        )
        raise TypeError(
            f"{name!r} in the module {module!r} must be an instance of benchmarks.runner.Recipe; "
            f"it is {kind}."
        )
    for role in ("run", "n_results", "report", "plot"):
        try:
            pickle.dumps(getattr(value, role))
        except Exception as error:
            raise ValueError(
                f"The recipe {value.name!r}: {role} must be a function at the top level of a "
                f"module, got {getattr(value, role)!r}: it cannot be sent to another process."
            ) from error
    for package in value.packages:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise ValueError(
                f"The recipe {value.name!r}: packages must be names of installed distributions; "
                f"{package!r} is none."
            ) from None
    return value


def load_object(reference: str) -> Any:
    """Import ``"MODULE:NAME"``; the current folder comes first, as with ``python -m``."""
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", reference) or ".py:" in reference:
        raise ValueError(
            f"Expected MODULE:NAME, such as my_module:MY_RECIPE, without .py, got {reference!r}."
        )
    module = reference.partition(":")[0]
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # to stay: worker processes get a copy of sys.path
    importlib.invalidate_caches()  # the file may have been written since
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if module == error.name or module.startswith(f"{error.name}."):
            raise ValueError(
                f"There is no module {error.name!r} in the current folder or sys.path."
            ) from None
        raise RuntimeError(
            f"The module {module!r} imports {error.name!r}, which is not installed."
        ) from error
    except (Exception, SystemExit) as error:
        raise RuntimeError(
            f"The module {module!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    name = reference.partition(":")[2]
    if not hasattr(loaded, name):
        raise ValueError(f"The module {module!r} ({loaded.__file__}) has no name {name!r}.")
    return getattr(loaded, name)
