"""The model card of a folder, README.md, which is only written and never read."""

from __future__ import annotations

import platform
import re
import string
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn import config_context

from sklearn_hashnlp._sklearn import final_estimator

CARD_FILE = "README.md"
# A file without this first line belongs to the user and is kept.
MARK = (
    "<!-- Written by sklearn-hashnlp. Delete this line to keep your own text when a model is saved "
    "here again. -->"
)

Sections = Mapping[str, Mapping[str, Any]]

_MAX_ROWS = 100  # rows of a table
_MAX_CHARACTERS = 200  # characters of a name or value in a table
_PUNCTUATION = str.maketrans(
    {mark: f"\\{mark}" for mark in set(string.punctuation) - set("-,'&<>")}
)
_INVISIBLE = frozenset(["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"])
_JOINERS = "\u200c\u200d"  # within words of some scripts, and within emoji
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_FIGURES = (
    "objective",
    "duality_gap",
    "train_loss",
    "valid_loss",
    "valid_acc",
    "train_perplexity",
    "valid_perplexity",
)


def model_card(
    model: Any, arrays: Mapping[str, NDArray[Any]], precision: str, sections: Sections | None
) -> str:
    """Return the card, which has no dates and paths, so that it is reproducible."""
    estimator = final_estimator(model)
    classes = [
        str(label) for label in np.asarray(getattr(estimator, "classes_", [])).ravel().tolist()
    ]
    given = dict(sections or {})
    kind = escape(type(model).__name__)
    inside = "" if estimator is model else f" with {escape(type(estimator).__name__)}"
    labels = f" of {len(classes):,} labels" if classes else ""
    parts = [
        f"{MARK}\n# {kind}\n\nA model{labels} of the class {kind}{inside}, saved by "
        "sklearn-hashnlp.",
        _usage(model),
        *(_section(title, rows) for title, rows in given.items()),
    ]
    if classes and "Labels" not in given:
        more = f", ... and {len(classes) - _MAX_ROWS:,} more" if len(classes) > _MAX_ROWS else ""
        names = ", ".join(escape(name) or "(empty)" for name in classes[:_MAX_ROWS])
        parts.append(f"## Labels\n\n{names}{more}")
    history = getattr(estimator, "history_", None)
    if history:
        figures = {name: history[-1][name] for name in _FIGURES if name in history[-1]}
        title = (
            "Training"
            if "objective" in history[-1]
            else f"Epoch {len(history):,} of {len(history):,}"
        )
        parts.append(_section(title, figures))
    with config_context(print_changed_only=True):
        parts.append(f"## Parameters\n\n{_code(repr(model), 'python')}")
    n_parameters = getattr(estimator, "n_parameters_", None)
    size = {} if n_parameters is None else {"parameters": int(n_parameters)}
    size["bytes of weights on disk"] = sum(array.nbytes for array in arrays.values())
    parts.append(_section("Size", size | {"precision of tables": precision}))
    versions = {
        # Read from the loaded package, because an import would be circular.
        "sklearn-hashnlp": sys.modules[__name__.partition(".")[0]].__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "Python": platform.python_version(),
    }
    parts.append(_section("Versions", versions))
    return "\n\n".join(part for part in parts if part) + "\n"


def is_own_card(path: Path) -> bool:
    """Return whether a card may be written: there is none, or it was written by this module."""
    if not path.exists():
        return True
    if not path.is_file():  # reading a pipe might never end
        return False
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()


def check_sections(sections: Any) -> None:
    """Raise an error if ``sections`` is not a dict of tables."""
    if sections is None:
        return
    if not isinstance(sections, Mapping) or not all(
        isinstance(rows, Mapping) for rows in sections.values()
    ):
        raise TypeError(
            "card of save_model must be a dict of tables, each a dict of names and values, such as "
            f"{{'Metrics': {{'accuracy': 0.91}}}}; got {type(sections).__name__}."
        )


def escape(value: Any) -> str:
    """Escape text for one line of Markdown and HTML, and format numbers."""
    if isinstance(value, bool | np.bool_ | None):
        return str(value)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    text = str(value)
    return _visible(text[:_MAX_CHARACTERS] + "…" * (len(text) > _MAX_CHARACTERS)).translate(
        _HTML | _PUNCTUATION
    )


def _visible(text: str) -> str:
    """Escape control characters, also reordering ones, line separators and lone surrogates."""
    return "".join(
        char.encode("unicode_escape").decode()
        if unicodedata.category(char) in _INVISIBLE and char not in _JOINERS
        else char
        for char in text
    )


def _usage(model: Any) -> str:
    """Return the section on how to load and call the model."""
    calls = {
        "perplexity": 'model.perplexity(["a sentence"])',
        "predict_proba": 'model.predict(["some text"])',
        "transform": 'model.transform(["some text"])',
    }
    call = next((line for name, line in calls.items() if hasattr(model, name)), None)
    lines = [
        "from sklearn_hashnlp import load_model",
        "",
        'model = load_model("FOLDER")  # the folder of this file',
    ]
    return "## How to use it\n\nWith sklearn-hashnlp installed:\n\n" + _code(
        "\n".join([*lines, *([call] if call else [])]), "python"
    )


def _section(title: str, rows: Mapping[str, Any]) -> str:
    if not rows:
        return ""
    shown = list(rows.items())[:_MAX_ROWS]
    table = "\n".join(f"| {escape(str(name))} | {escape(value)} |" for name, value in shown)
    more = f"\n\n... and {len(rows) - len(shown):,} more" if len(rows) > len(shown) else ""
    return f"## {escape(title)}\n\n| | |\n|---|---|\n{table}{more}"


def _code(text: str, language: str) -> str:
    """Return a fenced block, with a fence that does not occur in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
