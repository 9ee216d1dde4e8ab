"""Settings of experiments: changed by text, as they come from a command line, and written into results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, replace
from typing import Any, get_type_hints

_YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def setting(default: Any, help: str, *, place: bool = False) -> Any:  # noqa: A002  # what help prints
    """Declare a setting, as a field of a recipe's dataclass."""
    return field(default=default, metadata={"help": help, "place": place})


def change_settings(settings: Any, changes: Sequence[str]) -> Any:
    """Change some settings, each to a value of its own type."""
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
    """Return the settings as results hold them: those that say what and not where, and lists for tuples."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings) if not is_place(field)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def is_place(field: Field[Any]) -> bool:
    """Return whether a setting says where and not what, and so belongs to no result."""
    return bool(field.metadata.get("place", False))


def setting_as_text(value: Any) -> str:
    """Write a setting's value as ``change_settings`` reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def changes_as_text(settings: Mapping[str, Any], usual: Any) -> str:
    """Say what differs from an experiment's own settings, the data set apart."""
    there = settings_as_json(usual)
    return ", ".join(
        f"{name}={setting_as_text(value)}"
        for name, value in settings.items()
        if name != "dataset" and there.get(name) != value
    )


def split_by_settings(results: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Take results of several settings apart."""
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
