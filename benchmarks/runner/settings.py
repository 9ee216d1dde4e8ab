"""Settings of experiments: parsed from the command line, compared, and written into results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

_BOOLEANS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_NONE = "none"  # no values
STDLIB = "stdlib"  # the data of trial runs: docstrings of Python's standard library
_KINDS = (int, float, bool, str, tuple[int, ...], tuple[str, ...])


# The argument is named ``help`` as in argparse and typer.
def setting(default: Any, help: str, *, recorded: bool = True) -> Any:  # noqa: A002
    """Declare a setting as a field of a dataclass; results hold its value if it is recorded."""
    return field(default=default, metadata={"help": help, "recorded": recorded})


def check_settings(settings: Any, owner: str) -> None:
    """Check for an instance of a frozen dataclass with fields that the command line can parse."""
    # Every dataclass has ``__dataclass_params__``.
    if (
        not is_dataclass(settings)
        or isinstance(settings, type)
        or not settings.__dataclass_params__.frozen  # type: ignore[attr-defined]
    ):
        hint = (
            " instead of its class: Settings()"
            if isinstance(settings, type)
            else ", @dataclass(frozen=True)"
        )
        raise TypeError(
            f"{owner}: settings must be an instance of a frozen dataclass{hint}, got {settings!r}."
        )
    types = get_type_hints(type(settings))
    for one in fields(settings):
        kind, value = types[one.name], getattr(settings, one.name)
        if kind not in _KINDS and not _is_choice(kind):
            raise ValueError(
                f"{owner}: the setting {one.name!r} is declared as {_name_of(kind)}; the command "
                f"line and the files of results can hold {', '.join(map(_name_of, _KINDS))} and "
                "Literal of strings."
            )
        if not (value in get_args(kind) if _is_choice(kind) else _is_value(value, kind)):
            raise ValueError(
                f"{owner}: the setting {one.name!r} must be {_name_of(kind)}, got {value!r}."
            )


def change_settings(settings: Any, changes: Sequence[str]) -> Any:
    """Return settings with changes ``"NAME=VALUE"``, each parsed as the type of its field."""
    types = get_type_hints(type(settings))
    names = [field.name for field in fields(settings)]
    values = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"A setting must be given as NAME=VALUE, got {change!r}.")
        if name not in names:
            raise ValueError(f"There is no setting {name!r}; there are: {', '.join(names)}.")
        if joined := [
            part for part in text.split(",") if part.partition("=")[0] in names and "=" in part
        ]:
            raise ValueError(
                f"Each setting needs a --set of its own, got {change!r}; write: --set {joined[0]}."
            )
        values[name] = _parse(name, text, types[name])
    return replace(settings, **values)


def settings_as_json(settings: Any) -> dict[str, Any]:
    """Return the recorded settings as JSON values: lists for tuples."""
    values = {one.name: getattr(settings, one.name) for one in fields(settings)}
    values = {
        one.name: values[one.name]
        for one in fields(settings)
        if _is_recorded(one, values[one.name])
    }
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }


def _is_recorded(field: Field[Any], value: Any) -> bool:
    """Return whether results hold the setting: not folders or devices, but a trial run's text."""
    return bool(field.metadata.get("recorded", True)) or value == STDLIB


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
    """Group results by settings; a group is named by the differing settings, and stdlib."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        groups.setdefault(json.dumps(result["settings"], sort_keys=True), []).append(result)
    distinct = [group[0]["settings"] for group in groups.values()]
    names = list(dict.fromkeys(name for settings in distinct for name in settings))
    differing = [
        name
        for name in names
        if len(values := {str(one.get(name)) for one in distinct}) > 1 or STDLIB in values
    ]
    return [
        (
            ", ".join(
                f"{name}={format_setting(settings[name])}" for name in differing if name in settings
            ),
            group,
        )
        for settings, group in zip(distinct, groups.values(), strict=True)
    ]


def same_settings(settings: Mapping[str, Any], default: Any, names: Sequence[str]) -> bool:
    """Return whether some settings are the defaults; one that results lack is a newer setting."""
    defaults = settings_as_json(default)
    return all(settings.get(name, defaults[name]) == defaults[name] for name in names)


def _is_choice(kind: Any) -> bool:
    return get_origin(kind) is Literal and all(isinstance(choice, str) for choice in get_args(kind))


def _is_value(value: Any, kind: Any) -> bool:
    """Return whether a value is of one of the kinds of settings; an integer is a float, too."""
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(
            type(element) is get_args(kind)[0] for element in value
        )
    return type(value) is kind or (kind is float and type(value) is int)


def _name_of(kind: Any) -> str:
    return (
        kind.__name__
        if isinstance(kind, type) and get_origin(kind) is None
        else str(kind).replace("typing.", "")
    )


def _parse(name: str, text: str, kind: Any) -> Any:
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise ValueError(
                f"The setting {name!r} must be yes or no (or true or false), got {text!r}."
            )
        return _BOOLEANS[text.lower()]
    if kind in (tuple[str, ...], tuple[int, ...]) and text.lower() == _NONE:
        return ()
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise ValueError(
                f"The setting {name!r} must be one of {', '.join(get_args(kind))}, got {text!r}."
            )
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
