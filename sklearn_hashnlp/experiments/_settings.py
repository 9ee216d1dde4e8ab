"""Settings changed by text, as they come from a command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any


def change_settings(settings: Any, changes: Sequence[str]) -> Any:
    """Change some settings, each to a value of its own type.

    Parameters
    ----------
    settings : instance of a frozen dataclass
        Its fields hold int, float, str or tuples of str.
    changes : sequence of str
        As ``"name=value"``; a tuple is written with commas.

    Returns
    -------
    instance of the same dataclass
        The changed settings.

    Raises
    ------
    ValueError
        If a change has no ``=``, names no setting or is of another type.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe
    >>> changed = change_settings(get_recipe("reversal").settings, ["batch_size=1", "learning_rate=5e-4"])
    >>> changed.batch_size, changed.learning_rate
    (1, 0.0005)
    """
    names = [field.name for field in fields(settings)]
    values = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"A setting must be given as NAME=VALUE, got {change!r}.")
        if name not in names:
            raise ValueError(f"There is no setting {name!r}; there are: {', '.join(names)}.")
        values[name] = _parse(name, text, type(getattr(settings, name)))
    return replace(settings, **values)


def _parse(name: str, text: str, kind: type) -> Any:
    if kind is tuple:
        return tuple(part for part in text.split(",") if part)
    try:
        return kind(text)
    except ValueError:
        wanted = {int: "a whole number", float: "a number"}[kind]
        raise ValueError(f"The setting {name!r} must be {wanted}, got {text!r}.") from None
