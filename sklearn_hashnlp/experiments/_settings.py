"""Settings of experiments: changed by text, as they come from a command line, and written into results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, replace
from typing import Any, get_type_hints

_YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def setting(default: Any, help: str, *, place: bool = False) -> Any:  # noqa: A002  # what help prints
    """Declare a setting, as a field of a recipe's dataclass.

    Parameters
    ----------
    default : int, float, bool, str, or tuple of str or of int
        Its value in the experiment.
    help : str
        What it is.
    place : bool, default=False
        Whether it says where and not what, and so is no part of a result.

    Returns
    -------
    dataclasses.Field
        The field.

    Examples
    --------
    >>> setting(64, "rows of a training step").metadata["help"]
    'rows of a training step'
    """
    return field(default=default, metadata={"help": help, "place": place})


def change_settings(settings: Any, changes: Sequence[str]) -> Any:
    """Change some settings, each to a value of its own type.

    Parameters
    ----------
    settings : instance of a frozen dataclass
        Its fields hold int, float, bool, str or tuples of str or of int.
    changes : sequence of str
        As ``"name=value"``; a tuple is written with commas, a bool as yes, no, true or false.

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
    kinds = get_type_hints(type(settings))
    names = [field.name for field in fields(settings)]
    values = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"A setting must be given as NAME=VALUE, got {change!r}.")
        if name not in names:
            raise ValueError(f"There is no setting {name!r}; there are: {', '.join(names)}.")
        values[name] = _parse(name, text, kinds[name])
    return replace(settings, **values)


def settings_as_json(settings: Any) -> dict[str, Any]:
    """Give the settings as results hold them: those that say what and not where, and lists for tuples.

    Parameters
    ----------
    settings : instance of a frozen dataclass
        Fields whose metadata have ``"place": True`` are left out.

    Returns
    -------
    dict
        As it would be read back from JSON.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe
    >>> settings_as_json(get_recipe("reversal").settings)["outputs"]
    ['softmax', 'hsigmoid']
    """
    values = {field.name: getattr(settings, field.name) for field in fields(settings) if not is_place(field)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def is_place(field: Field[Any]) -> bool:
    """Tell whether a setting says where and not what, and so belongs to no result.

    Parameters
    ----------
    field : dataclasses.Field
        A field of a recipe's settings.

    Returns
    -------
    bool
        Whether its metadata say so.
    """
    return bool(field.metadata.get("place", False))


def setting_as_text(value: Any) -> str:
    """Write a setting's value as ``change_settings`` reads it.

    Parameters
    ----------
    value : int, float, bool, str, or tuple or list of str or of int
        The value.

    Returns
    -------
    str
        The text after ``name=``.

    Examples
    --------
    >>> setting_as_text((10_000, 25_000)), setting_as_text(True)
    ('10000,25000', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def changes_as_text(settings: Mapping[str, Any], usual: Any) -> str:
    """Say what differs from an experiment's own settings, the data set apart.

    Parameters
    ----------
    settings : mapping
        The settings as results hold them.
    usual : instance of a frozen dataclass
        The experiment's own.

    Returns
    -------
    str
        As ``"name=value"`` with commas between; empty if nothing differs.

    Examples
    --------
    >>> from sklearn_hashnlp.experiments import get_recipe
    >>> usual = get_recipe("reversal").settings
    >>> changes_as_text(settings_as_json(change_settings(usual, ["batch_size=1", "outputs=softmax"])), usual)
    'outputs=softmax, batch_size=1'
    """
    there = settings_as_json(usual)
    return ", ".join(
        f"{name}={setting_as_text(value)}"
        for name, value in settings.items()
        if name != "dataset" and there.get(name) != value
    )


def split_by_settings(results: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Take results of several settings apart.

    Parameters
    ----------
    results : sequence of dict
        Results, each with its ``"settings"``.

    Returns
    -------
    list of (str, list of dict)
        For each of the settings, in the order in which they come first, what sets them apart from the others, as
        ``"name=value"`` with commas between (empty where there are no others), and their results.

    Examples
    --------
    >>> results = [{"settings": {"size": size, "rate": 1}} for size in (1, 2, 1)]
    >>> [(what, len(found)) for what, found in split_by_settings(results)]
    [('size=1', 2), ('size=2', 1)]
    """
    parts: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        parts.setdefault(json.dumps(result["settings"], sort_keys=True), []).append(result)
    found = [part[0]["settings"] for part in parts.values()]
    names = list(dict.fromkeys(name for settings in found for name in settings))
    differing = [name for name in names if any(one.get(name) != found[0].get(name) for one in found)]
    return [
        (", ".join(f"{name}={setting_as_text(settings[name])}" for name in differing if name in settings), part)
        for settings, part in zip(found, parts.values(), strict=True)
    ]


def _parse(name: str, text: str, kind: Any) -> Any:
    if kind is bool:
        if text.lower() not in _YES_OR_NO:
            raise ValueError(f"The setting {name!r} must be yes or no (or true or false), got {text!r}.")
        return _YES_OR_NO[text.lower()]
    if kind == tuple[str, ...]:
        return tuple(part for part in text.split(",") if part)
    try:
        if kind == tuple[int, ...]:
            return tuple(int(part) for part in text.split(",") if part)
        return kind(text)
    except ValueError:
        wanted = {int: "a whole number", float: "a number"}.get(kind, "whole numbers with commas between")
        raise ValueError(f"The setting {name!r} must be {wanted}, got {text!r}.") from None
