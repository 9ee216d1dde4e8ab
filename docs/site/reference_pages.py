"""The API reference: a page per public name in the ``__all__`` of the package and its folders."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any

import names

FOLDERS = {
    "classifiers": "Text classifiers",
    "text": "Text features",
    "language": "Language models",
    "sentences": "Sentence embeddings",
    "nn": "Torch modules",
    "optim": "Optimizers",
    "training": "Training parameters",
    "trees": "Trees",
    "persistence": "Saving and loading",
    "datasets": "Data sets",
    "inspection": "Inspection",
    "plotting": "Plots",
}
"""Public folder -> heading, in the order of the reference."""

RESULTS = {
    "inspection.compare_texts": "inspection._text_comparison.TextComparison",
    "inspection.explain": "inspection._explanation.Explanation",
    "classifiers.load_fasttext": "text._fasttext_vectorizer.FastTextVectorizer",
    "text.project_words": "text._word_projections.WordProjections",
    "trees.SoftmaxTree": "trees._softmax_tree.DepthStatistics",
}
"""Public name -> class of its results, which is described on the same page."""

PACKAGE = names.PACKAGE
PACKAGES = {"sklearn": "scikit-learn", "skorch": "skorch", "torch": "torch"}


def pages() -> dict[str, str]:
    """Return file name -> reStructuredText of all pages of the reference."""
    result = {"index.rst": _index()}
    for folder, heading in FOLDERS.items():
        module = import_module(f"{PACKAGE}.{folder}")
        result[f"{module.__name__}.rst"] = _folder_page(module, heading)
        for name in _public(module):
            full_name = f"{module.__name__}.{name}"
            result[f"{full_name}.rst"] = _page(full_name, getattr(module, name))
    return result


def _public(module: ModuleType) -> list[str]:
    """Return the public names, in the order of a dictionary."""
    return sorted(module.__all__, key=str.lower)


def _index() -> str:
    package = import_module(PACKAGE)
    places = {
        name: folder for folder in FOLDERS for name in _public(import_module(f"{PACKAGE}.{folder}"))
    }
    at_top = [name for name in _public(package) if name != "__version__"]
    short = ", ".join(f":obj:`{name} <{PACKAGE}.{places[name]}.{name}>`" for name in at_top)
    modules = [import_module(f"{PACKAGE}.{folder}") for folder in FOLDERS]
    folders = "".join(f"   {module.__name__}\n" for module in modules)
    parts = [
        _heading("API reference", "="),
        "Everything that is public. Names that begin with an underscore may change in any "
        "release.\n",
        f".. toctree::\n   :hidden:\n   :maxdepth: 2\n\n{folders}",
        f"These can also be imported from the package itself, ``from {PACKAGE} import "
        f"TextClassifier``: {short}; and ``__version__``.\n",
    ]
    for module, heading in zip(modules, FOLDERS.values(), strict=True):
        parts += [_heading(heading, "-"), f"``{module.__name__}``\n", _table(module, toctree=False)]
    return "\n".join(parts)


def point_back(
    _app: Any, name: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:
    """Point a source page's links at result classes without public names; called by Sphinx."""
    if name.startswith("_modules/"):
        for result in RESULTS.values():
            folder, _, class_name = result.split(".")
            wrong, right = f"#{PACKAGE}.{folder}.{class_name}", f"#{PACKAGE}.{result}"
            context["body"] = context["body"].replace(wrong, right)


def _folder_page(module: ModuleType, heading: str) -> str:
    return "\n".join(
        [
            _heading(heading, "="),
            f"``{module.__name__}``: {_first_paragraph(module)}\n",
            _table(module, toctree=True),
        ]
    )


def _first_paragraph(module: ModuleType) -> str:
    return " ".join(inspect.cleandoc(module.__doc__ or "").split("\n\n")[0].split())


def _table(module: ModuleType, *, toctree: bool) -> str:
    rows = "".join(f"   {name}\n" for name in _public(module))
    options = "   :toctree: .\n   :nosignatures:\n" if toctree else "   :nosignatures:\n"
    return f".. currentmodule:: {module.__name__}\n\n.. autosummary::\n{options}\n{rows}"


def _page(full_name: str, value: Any) -> str:
    name = full_name.rpartition(".")[2]
    title = _heading(name, "=")
    if inspect.isclass(value):
        body = _class(full_name, value)
        inherited = _inherited(value)
        if inherited:
            body += f"\n.. rubric:: Inherited\n\n{inherited}\n"
    elif callable(value):
        body = f".. autofunction:: {full_name}\n"
    else:
        body = f".. autodata:: {full_name}\n   :no-value:\n"
    result = RESULTS.get(full_name.removeprefix(f"{PACKAGE}."))
    if result is not None:
        module, _, result_name = f"{PACKAGE}.{result}".rpartition(".")
        result_class = _class(
            f"{module}.{result_name}", getattr(import_module(module), result_name)
        )
        body += "\n" + result_class.replace("\n", "\n   :no-index-entry:\n", 1)
    page, chapter = names.chapter_of(full_name)
    guide = f"Read more in the User Guide: :doc:`{chapter} </{page}>`.\n"
    short = f"{PACKAGE}.{name}" if name in import_module(PACKAGE).__all__ else ""
    gallery = (
        f".. minigallery:: {full_name} {short}".rstrip()
        + "\n   :add-heading: Examples in the gallery\n"
    )
    return "\n".join([title, guide, body, gallery])


def _class(full_name: str, value: type) -> str:
    members = ", ".join(_members(value))
    kind = "exception" if issubclass(value, Exception) else "class"
    return f".. auto{kind}:: {full_name}\n" + (f"   :members: {members}\n" if members else "")


def arrange_docstring(
    _app: Any, what: str, _name: str, value: Any, _options: Any, lines: list[str]
) -> None:
    """Put the example of a class or function before its parameters, and a table of methods after.

    Called by Sphinx after numpydoc.
    """
    if what not in ("class", "function"):
        return
    sections = [
        at
        for at, line in enumerate(lines)
        if re.match(r":[A-Z][a-z]+:$|\.\. (rubric|seealso)::", line)
    ]
    starts = [at for at in sections if lines[at] == ".. rubric:: Examples"]
    if starts:
        end = min([at for at in sections if at > starts[0]], default=len(lines))
        example = ["", *lines[starts[0] : end], ""]
        del lines[starts[0] : end]
        lines[sections[0] : sections[0]] = example
    methods = (
        [name for name in _members(value) if callable(getattr(value, name, None))]
        if what == "class"
        else []
    )
    if len(methods) > 1:
        table = [f"   {name}" for name in methods]
        lines += [
            "",
            ".. rubric:: Methods",
            "",
            ".. autosummary::",
            "   :nosignatures:",
            "",
            *table,
            "",
        ]


def _members(value: type) -> list[str]:
    """Return the public methods and properties that classes of this package define."""
    found: dict[str, None] = {}
    for base in value.__mro__:
        if base.__module__.startswith(PACKAGE):
            found |= {
                name: None for name, member in vars(base).items() if _is_documented(name, member)
            }
    return sorted(found)


def _is_documented(name: str, member: Any) -> bool:
    # Methods such as ``set_fit_request`` belong to scikit-learn's metadata routing.
    if name.startswith("_") or re.fullmatch(r"set_\w+_request", name):
        return False
    return bool(getattr(member, "__doc__", None)) and (
        isinstance(member, classmethod | staticmethod | property)
        or inspect.isfunction(member)
        or hasattr(member, "func")
        or type(member).__name__ == "_AvailableIfDescriptor"
    )


def _inherited(value: type) -> str:
    """Name the public bases of other packages, whose methods their own documentation describes."""
    bases = [base for base in value.__mro__ if base.__module__.split(".")[0] in PACKAGES]
    outermost = [base for base in bases if not any(base in other.__mro__[1:] for other in bases)]
    named = [
        (base.__module__.split(".")[0], base.__name__)
        for base in outermost
        if base.__name__[0] != "_"
    ]
    names = [f"``{name}`` of {PACKAGES[package]}" for package, name in named]
    return f"Further methods come from {', '.join(names)}." if names else ""


def _heading(text: str, underline: str) -> str:
    return f"{text}\n{underline * len(text)}\n"
