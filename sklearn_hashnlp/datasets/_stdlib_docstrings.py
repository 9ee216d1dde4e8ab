"""Real text that is on every machine: the docstrings of Python's own standard library."""

from __future__ import annotations

import ast
import os
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

N_LABELS = 20

# Test packages hold few docstrings worth reading and need not be installed; the others are programs or tables
# rather than a library, or are gone from later versions of Python.
_LEFT_OUT = frozenset({"test", "tests", "idle_test", "idlelib", "lib2to3", "turtledemo", "encodings", "ensurepip"})

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_DESCRIPTION = """\
Docstrings of the Python standard library

Every text is the docstring of a module, a class, a function or a method of the running Python's own standard library;
its label is the top-level module that it stands in (the docstring of json.JSONDecoder, in json/decoder.py, is labelled
"json"). The sources are read, never imported. Left out are test packages, idlelib, lib2to3, turtledemo, encodings,
ensurepip, every module or package whose name begins with an underscore, and every text that was met before. The
{n_labels} labels with most texts are kept: {n_texts} texts of Python {version}.

The texts belong to Python and are under its licence, the PSF License Agreement.
"""


def load_stdlib_docstrings(*, return_X_y: bool = False) -> Bunch | tuple[list[str], NDArray[np.str_]]:
    """Load some thousands of real, labelled texts without a download.

    The texts are the docstrings of modules, classes, functions and methods of the running Python's standard library
    and the labels are its top-level modules: 20 classes of technical English. What they are exactly depends on the
    version of Python, so scores compare only within one version. The sources are read as text and parsed, never
    imported, and installed packages are never looked at.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(texts, labels)`` instead of a ``Bunch``.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : list of str
            The docstrings, their indentation removed, no text twice, ordered by file and line.
        target : ndarray of shape (n_texts,), dtype str
            The label of each text, such as ``"json"``.
        target_names : list of str
            The 20 labels in alphabetical order.
        DESCR : str
            What the data set is.

    (texts, labels) : tuple of list of str and ndarray of shape (n_texts,)
        ``data`` and ``target`` where ``return_X_y=True``.

    Raises
    ------
    FileNotFoundError
        If this Python was installed without the sources of its standard library.

    See Also
    --------
    load_labelled : Labelled texts from a file of your own.

    Examples
    --------
    >>> from sklearn_hashnlp.datasets import load_stdlib_docstrings
    >>> texts, labels = load_stdlib_docstrings(return_X_y=True)
    >>> len(texts) == len(labels) > 2000
    True
    >>> len(set(labels))
    20
    """
    found = _read_docstrings(Path(sysconfig.get_path("stdlib")))
    counts = Counter(label for _, label in found)
    kept = sorted(sorted(counts), key=lambda label: -counts[label])[:N_LABELS]
    texts = [text for text, label in found if label in kept]
    labels = np.array([label for _, label in found if label in kept])
    if return_X_y:
        return texts, labels
    description = _DESCRIPTION.format(n_labels=len(kept), n_texts=len(texts), version=sysconfig.get_python_version())
    return Bunch(data=texts, target=labels, target_names=sorted(kept), DESCR=description)


@lru_cache(maxsize=1)  # the sources do not change while Python runs
def _read_docstrings(library: Path) -> tuple[tuple[str, str], ...]:
    """Read (docstring, top-level module) pairs from the folder of the standard library, each docstring once."""
    label_of: dict[str, str] = {}
    for path in _source_files(library):
        label = path.relative_to(library).with_suffix("").parts[0]
        for docstring in _docstrings_of_file(path):
            label_of.setdefault(docstring, label)
    if not label_of:
        raise FileNotFoundError(
            f"The sources of Python's standard library were expected in {str(library)!r}, and no docstring was found "
            "there: this Python was installed without them (as a zip file or as compiled files only). Install a "
            "complete Python, or load a file of your own with sklearn_hashnlp.datasets.load_labelled(path)."
        )
    return tuple(label_of.items())


def _source_files(library: Path) -> Iterator[Path]:
    """Walk the public modules of the library in an order that is the same on every machine."""
    for folder, subfolders, files in os.walk(library):
        # Only packages are entered, and only public ones: "site-packages" and "config-3.12-..." are no identifiers.
        subfolders[:] = sorted(
            name for name in subfolders if _is_public(name) and (Path(folder) / name / "__init__.py").exists()
        )
        for name in sorted(files):
            stem, dot, extension = name.rpartition(".")
            inside_package = Path(folder) != library
            if dot and extension == "py" and (_is_public(stem) or (stem == "__init__" and inside_package)):
                yield Path(folder) / name


def _is_public(module: str) -> bool:
    return module.isidentifier() and not module.startswith("_") and module not in _LEFT_OUT


def _docstrings_of_file(path: Path) -> Iterator[str]:
    """Yield the docstrings of one source file in reading order."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in somebody's regular expression is not ours to report
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # a template or a file kept broken on purpose
        return
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _DOCUMENTED):
            docstring = (ast.get_docstring(node) or "").strip()
            if docstring:
                yield docstring
        # Definitions stand in blocks, never in expressions, so most of the tree need not be visited.
        for block in ("cases", "finalbody", "orelse", "handlers", "body"):
            statements = getattr(node, block, None)
            if isinstance(statements, list):
                waiting.extend(reversed(statements))
