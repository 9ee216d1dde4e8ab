"""Settings of experiments: parsed from the command line, compared, and written into results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

_BOOLEANS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_NONE = "none"  # no values


def setting(default: Any, help: str, *, recorded: bool = True) -> Any:  # noqa: A002  # as in argparse and typer
    """Declare a setting as a field of a dataclass; results hold its value if it is recorded."""
    return field(default=default, metadata={"help": help, "recorded": recorded})


def change_settings(settings: Any, changes: Sequence[str]) -> Any:
    """Return settings with the changes ``"NAME=VALUE"``; each value is parsed as the type of its field."""
    types = get_type_hints(type(settings))
    names = [field.name for field in fields(settings)]
    values = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"A setting must be given as NAME=VALUE, got {change!r}.")
        if name not in names:
            raise ValueError(f"There is no setting {name!r}; there are: {', '.join(names)}.")
        values[name] = _parse(name, text, types[name])
    return replace(settings, **values)


def settings_as_json(settings: Any) -> dict[str, Any]:
    """Return the recorded settings as JSON values: lists for tuples."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings) if is_recorded(field)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def is_recorded(field: Field[Any]) -> bool:
    """Return True if results hold the setting: folders and devices do not change the results and are left out."""
    return bool(field.metadata.get("recorded", True))


def format_setting(value: Any) -> str:
    """Format a value as ``change_settings`` parses it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) or _NONE if isinstance(value, (tuple, list)) else str(value)


def format_changes(settings: Mapping[str, Any], default: Any) -> str:
    """Format the settings that differ from the default ones, except for the dataset."""
    defaults = settings_as_json(default)
    return ", ".join(
        f"{name}={format_setting(value)}"
        for name, value in settings.items()
        if name != "dataset" and defaults.get(name) != value
    )


def group_by_settings(results: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Group results by settings; the name of a group lists the settings that differ between the groups."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault(json.dumps(result["settings"], sort_keys=True), []).append(result)
    distinct = [group[0]["settings"] for group in groups.values()]
    names = list(dict.fromkeys(name for settings in distinct for name in settings))
    differing = [name for name in names if any(one.get(name) != distinct[0].get(name) for one in distinct)]
    return [
        (", ".join(f"{name}={format_setting(settings[name])}" for name in differing if name in settings), group)
        for settings, group in zip(distinct, groups.values(), strict=True)
    ]


def _parse(name: str, text: str, kind: Any) -> Any:
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise ValueError(f"The setting {name!r} must be yes or no (or true or false), got {text!r}.")
        return _BOOLEANS[text.lower()]
    if kind in (tuple[str, ...], tuple[int, ...]) and text.lower() == _NONE:
        return ()
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise ValueError(f"The setting {name!r} must be one of {', '.join(get_args(kind))}, got {text!r}.")
        return text
    if kind == tuple[str, ...]:
        return tuple(part for part in text.split(",") if part)
    try:
        if kind == tuple[int, ...]:
            return tuple(int(part) for part in text.split(",") if part)
        return kind(text)
    except ValueError:
        expected = {int: "an integer", float: "a number"}.get(kind, "integers separated by commas")
        raise ValueError(f"The setting {name!r} must be {expected}, got {text!r}.") from None
