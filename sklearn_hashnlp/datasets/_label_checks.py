"""Checks of all labels: lists in text, undecoded bytes, labels that look the same, ids."""

from __future__ import annotations

import ast
import contextlib
import json
import re
import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable

_MAX_NAMED = 3  # pairs of labels in a message
_FEW_ROWS = 20  # of which all may have different labels
_NEARLY_ALL = 0.9
_MAX_LENGTH = 10_000  # characters of a label that is parsed
_NUMBERS = re.compile(r"[\[{][\s\d.,+-]*[\]}]$")


def find_list(labels: Iterable[str]) -> str | None:
    """Return a label that is a list or object as text; equally long number lists are accepted."""
    labels = [label.strip() for label in labels if label.lstrip()[:1] in ("[", "{")]
    numbers = [label for label in labels if _NUMBERS.match(label)]
    if len({label.count(",") for label in numbers}) > 1:
        return numbers[0]
    return next(filter(_is_list_of_strings, labels), None)


def _is_list_of_strings(label: str) -> bool:
    """Return whether a text is a list or object in Python or JSON, such as {"choices": ["a"]}."""
    for parse in (json.loads, ast.literal_eval):
        with (
            contextlib.suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError),
            warnings.catch_warnings(action="ignore", category=SyntaxWarning),  # of backslashes
        ):
            value = parse(label[:_MAX_LENGTH])
            return isinstance(value, dict) or any(
                isinstance(one, str | list | dict) for one in value
            )
    return False


def check_label_texts(labels: Collection[str], source: str) -> None:
    """Raise an error for a file's labels with undecoded bytes, or a list or an object as text."""
    damaged = next((label for label in labels if "\ufffd" in label), None)
    if damaged is not None:
        raise ValueError(
            f"{source}: the label {damaged[:60]!a} has the replacement character U+FFFD, and "
            "labels that differed only in such characters would be one label. Pass the encoding "
            "of the file, such as encoding='cp1252' (--encoding cp1252), or errors='skip' "
            "(--errors skip), which skips rows that cannot be decoded. If the character is in the "
            "file itself, correct its labels."
        )
    label = find_list(labels)
    if label is not None:
        raise ValueError(
            f"{source}: the label {label[:60]!r} is a list or an object written as text, which "
            "would be one label. For several labels per text write them with a separator, such as "
            "sauce|cheese, and pass label_separator='|' (--label-separator '|'), or write JSON "
            "lines with a list of strings."
        )


def check_repeated(n_different: int, n_labels: int, source: str, guessed: str | None) -> None:
    """Raise an error for a ``guessed`` column, else warn, if nearly all labels are different."""
    if n_labels < _FEW_ROWS or n_different <= _NEARLY_ALL * n_labels:
        return
    found = f"{source}: {n_different:,} of {n_labels:,} labels are different"
    if guessed is not None:
        raise ValueError(
            f"{found} in the column {guessed!r}, which has no usual name of a label column. Pass "
            "the name of the column with the labels as label_column (--label-column)."
        )
    warn_user(
        f"{found}, and a classifier learns from labels with several texts. Are they labels, and "
        "not ids, texts or numbers?"
    )


def warn_of_twins(labels: Collection[str], source: str) -> None:
    """Warn of labels that differ only in invisible, whitespace or compatibility characters."""
    if all(map(str.isascii, labels)):
        return
    equal: dict[str, list[str]] = defaultdict(list)
    for label in sorted(labels):
        visible = "".join(
            character for character in label if unicodedata.category(character) != "Cf"
        )
        equal[" ".join(unicodedata.normalize("NFKC", visible).split())].append(label)
    twins = [" and ".join(map(ascii, group)) for group in equal.values() if len(group) > 1]
    if twins:
        more = f" and {len(twins) - _MAX_NAMED:,} more" if len(twins) > _MAX_NAMED else ""
        warn_user(
            f"{source}: labels that look the same are different classes: "
            f"{'; '.join(twins[:_MAX_NAMED])}{more}. If they are meant to be equal, remove the "
            "invisible characters first, and apply unicodedata.normalize('NFKC', label)."
        )


def warn_user(message: str) -> None:
    """Warn at the line of the user's code."""
    from sklearn_hashnlp._sklearn import level_of_user  # loads scikit-learn

    warnings.warn(message, UserWarning, stacklevel=level_of_user())
