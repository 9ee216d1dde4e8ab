"""Docstrings of Python's standard library: real labeled texts without a download."""

from __future__ import annotations

import ast
import os
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

N_LABELS = 20

# Test packages have few docstrings and may not be installed; the others are programs or tables
# rather than libraries, or were removed in later versions of Python.
_EXCLUDED = frozenset(
    {"test", "tests", "idle_test", "idlelib", "lib2to3", "turtledemo", "encodings", "ensurepip"}
)

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_DESCRIPTION = """\
Docstrings of the Python standard library

Every text is the docstring of a module, a class, a function or a method of the running Python's own
standard library; its label is the top-level module that contains it (the docstring of
json.JSONDecoder, in json/decoder.py, is labelled "json"). The source files are read, never
imported. Excluded are test packages, idlelib, lib2to3, turtledemo, encodings, ensurepip, every
module or package whose name begins with an underscore, and duplicate texts. The {n_labels} labels
with most texts are kept: {n_texts} texts of Python {version}.

The texts belong to Python and are under its license, the PSF License Agreement.
"""


@overload
def load_stdlib_docstrings(*, return_X_y: Literal[False] = False) -> Bunch: ...
@overload
def load_stdlib_docstrings(*, return_X_y: Literal[True]) -> tuple[list[str], NDArray[np.str_]]: ...
def load_stdlib_docstrings(
    *, return_X_y: bool = False
) -> Bunch | tuple[list[str], NDArray[np.str_]]:
    """Load thousands of real, labeled texts without a download.

    The texts are the docstrings of modules, classes, functions and methods of the running Python's
    standard library and the labels are its top-level modules: 20 classes of technical English. The
    texts depend on the version of Python, so scores are only comparable within one version. The
    source files are parsed, not imported, and installed packages are not read.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(texts, labels)`` instead of a ``Bunch``.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of str
            The docstrings without indentation and duplicates, in the order of files and lines.
        target : ndarray of shape (n_texts,), dtype str
            The label of each text, such as ``"json"``.
        target_names : list of str
            The 20 labels in alphabetical order.
        DESCR : str
            A description of the data set.

    (texts, labels) : tuple of list of str and ndarray of shape (n_texts,)
        ``data`` and ``target`` if ``return_X_y=True``.

    See Also
    --------
    load_labelled : Load texts and labels from a file.

    Examples
    --------
    >>> from sklearn_hashnlp.datasets import load_stdlib_docstrings
    >>> texts, labels = load_stdlib_docstrings(return_X_y=True)
    >>> len(texts) == len(labels) > 2000
    True
    >>> len(set(labels))
    20
    """
    rows = _read_docstrings(Path(sysconfig.get_path("stdlib")))
    counts = Counter(label for _, label in rows)
    classes = sorted(sorted(counts), key=lambda label: -counts[label])[:N_LABELS]
    texts = [text for text, label in rows if label in classes]
    labels = np.array([label for _, label in rows if label in classes])
    if return_X_y:
        return texts, labels
    description = _DESCRIPTION.format(
        n_labels=len(classes), n_texts=len(texts), version=sysconfig.get_python_version()
    )
    return Bunch(data=texts, target=labels, target_names=sorted(classes), DESCR=description)


@lru_cache(maxsize=1)  # the source files do not change while Python runs
def _read_docstrings(library: Path) -> tuple[tuple[str, str], ...]:
    """Read pairs (docstring, top-level module) from the standard library, without duplicates."""
    label_by_text: dict[str, str] = {}
    for path in _source_files(library):
        label = path.relative_to(library).with_suffix("").parts[0]
        for docstring in _docstrings_of_file(path):
            label_by_text.setdefault(docstring, label)
    if not label_by_text:
        raise FileNotFoundError(
            f"Expected the source files of Python's standard library in {str(library)!r}, but "
            "there is no docstring: this Python was installed without them (as a zip file or as "
            "compiled files only). Install Python with its source files, or load a file of your "
            "own with sklearn_hashnlp.datasets.load_labelled(path)."
        )
    return tuple(label_by_text.items())


def _source_files(library: Path) -> Iterator[Path]:
    """Yield the public modules of the library in the same order on every machine."""
    for folder, subfolders, files in os.walk(library):
        # Public packages only: "site-packages" and "config-3.12-..." are not identifiers.
        subfolders[:] = sorted(
            name
            for name in subfolders
            if _is_public(name) and (Path(folder) / name / "__init__.py").exists()
        )
        for name in sorted(files):
            stem, dot, extension = name.rpartition(".")
            inside_package = Path(folder) != library
            if (
                dot
                and extension == "py"
                and (_is_public(stem) or (stem == "__init__" and inside_package))
            ):
                yield Path(folder) / name


def _is_public(module: str) -> bool:
    return module.isidentifier() and not module.startswith("_") and module not in _EXCLUDED


def _docstrings_of_file(path: Path) -> Iterator[str]:
    """Yield the docstrings of a source file in the order of lines."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the library's source files
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # a template, or a file with deliberate errors
        return
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, _DOCUMENTED):
            docstring = (ast.get_docstring(node) or "").strip()
            if docstring:
                yield docstring
        # Definitions are statements, so most of the tree need not be visited.
        for block in ("cases", "finalbody", "orelse", "handlers", "body"):
            statements = getattr(node, block, None)
            if isinstance(statements, list):
                pending.extend(reversed(statements))
