"""The parameters of an estimator on the command line: some options, ``--set``, and their list."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import typer

from sklearn_hashnlp.cli._options import ComputeDevice, OptionGroup, Seed
from sklearn_hashnlp.cli._screen import Screen, plain_table

_OBJECTS = ("callbacks", "pretrained", "scoring", "sentence_splitter")  # which cannot be typed
# of the parameters in a docstring
_ENTRY = re.compile(r"^([\w, ]+?)(?: : .*)?\n((?:    .*\n|\n)+)", re.MULTILINE)
# of docstrings, such as :class:`~module.Name`
_MARKUP = re.compile(r":[\w:]+:`~?(?:[\w.]+\.)?([^`]+)`|``| \[\d+\]_")

_END = re.compile(r"(?<=[.])(?= [A-Z\"-])|;")  # of a sentence

Bundles = Mapping[str, Any]
"""Estimators by parameter: NAME__FIELD is set in a copy if NAME has another value."""


@dataclass(frozen=True)
class Training(OptionGroup):
    """The parameters of training that people type, and ``--set`` for all others."""

    epochs: int | None = typer.Option(
        None, min=1, help="Number of epochs. Default: the estimator's."
    )
    learning_rate: float | None = typer.Option(
        None, metavar="RATE", help="Learning rate. Default: the estimator's."
    )
    seed: Seed = 0
    device: ComputeDevice = "cpu"
    settings: list[str] | None = typer.Option(
        None,
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the estimator; repeatable. --parameters lists the names.",
    )

    def refuse(self, reason: str, **more: Any) -> None:
        """Raise an error of usage for a given option of a model that has no such parameter."""
        given = {
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "seed": self.seed,
            "device": self.device,
        }
        for name, value in (given | more).items():
            if value not in (None, False, 0, "cpu"):
                raise typer.BadParameter(f"{reason} has no --{name.replace('_', '-')}.")

    def configure(self, estimator: Any, bundles: Bundles, **more: Any) -> None:
        """Set and check parameters of an estimator or a last step; None keeps the default."""
        given = {
            "max_epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "random_state": self.seed,
        }
        given |= {"device": self.device} | more
        trained = estimator[-1] if hasattr(estimator, "steps") else estimator
        trained.set_params(**{name: value for name, value in given.items() if value is not None})
        set_parameters(estimator, self.settings or [], bundles)


def parameters_of(
    estimator: Any, bundles: Bundles, prefix: str = ""
) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and description of each parameter, also of inner estimators."""
    if hasattr(estimator, "steps"):
        for name, step in estimator.steps:
            yield from parameters_of(step, bundles, f"{prefix}{name}__")
        return
    descriptions = _descriptions(type(estimator))
    for name in inspect.signature(type(estimator)).parameters:
        if name in _OBJECTS:
            continue
        value = getattr(estimator, name)
        yield prefix + name, value, descriptions.get(name, "")
        fields = _bundle(estimator, name, bundles)
        if fields is not None:
            yield from parameters_of(fields, bundles, f"{prefix}{name}__")


def set_parameters(estimator: Any, settings: Iterable[str], bundles: Bundles) -> None:
    """Set parameters from ``NAME=VALUE``, and check all of them as ``fit`` does."""
    names = [name for name, _, _ in parameters_of(estimator, bundles)]
    values = dict(_read_setting(setting, type(estimator).__name__, names) for setting in settings)
    for name in sorted(values, key=lambda name: name.count("__")):
        owner, *path = estimator, *name.split("__")
        for part in path[:-1]:
            if not hasattr(owner, "steps"):
                owner.set_params(**{part: _bundle(owner, part, bundles)})
            owner = owner.get_params(deep=False).get(part) or owner[part]
        owner.set_params(**{path[-1]: values[name]})
    try:
        for _, step in getattr(estimator, "steps", [("", estimator)]):
            # vectorizers and counts are checked by ``fit``
            getattr(step, "check_parameters", lambda: None)()
    except (TypeError, ValueError, RuntimeError) as error:
        shown = [
            f"--set {name}={value}: "
            for name, value in values.items()
            if str(error).startswith(f"The {name.rpartition('__')[2]!r} parameter")
        ]
        raise typer.BadParameter("".join([*shown[:1], str(error)])) from error


def parameters_option(models: Callable[[], Iterable[tuple[str, Any, Bundles]]]) -> Any:
    """Return the option ``--parameters``, which prints the parameters of models and exits."""

    def list_parameters(requested: bool) -> None:
        if not requested:
            return
        screen = Screen(as_json=False, quiet=False)
        for heading, estimator, bundles in models():
            table = plain_table("parameter", "default", "", title=heading)
            for name, default, description in parameters_of(estimator, bundles):
                table.add_row(name, repr(default), description)
            screen.show(table)
        raise typer.Exit

    return typer.Option(
        "--parameters",
        callback=list_parameters,
        is_eager=True,
        help="List the parameters of --set with their defaults, and exit.",
    )


def _bundle(estimator: Any, name: str, bundles: Bundles) -> Any:
    """Return the estimator in a parameter, or a new one; None if it takes no estimator."""
    value = getattr(estimator, name)
    if hasattr(value, "get_params") or name not in bundles:
        return value if hasattr(value, "get_params") else None
    from sklearn.base import clone

    bundle = clone(bundles[name])
    return bundle.set_params(monitor=value) if name == "early_stopping" and value else bundle


def _read_setting(setting: str, caller: str, names: list[str]) -> tuple[str, Any]:
    name, separator, text = (part.strip() for part in setting.partition("="))
    if not separator or not name:
        raise typer.BadParameter(f"--set: expected NAME=VALUE, such as verbose=1, got {setting!r}.")
    if name not in names:
        similar = [known for known in names if known.endswith(f"__{name}")] or get_close_matches(
            name, names, cutoff=0.8
        )
        hint = f" Did you mean {' or '.join(similar[:2])}?" if similar else ""
        raise typer.BadParameter(
            f"--set: {caller} has no parameter {name!r}.{hint} --parameters lists all of them."
        )
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, text


def _descriptions(kind: type) -> dict[str, str]:
    """Return the first sentence about each parameter in the numpydoc docstring of a class."""
    section = (inspect.getdoc(kind) or "").partition("Parameters\n---")[2].partition("\n---")[0]
    descriptions: dict[str, str] = {}
    for names, text in _ENTRY.findall(section):
        plain = " ".join(_MARKUP.sub(r"\1", text).split()).removeprefix("- ")
        descriptions |= dict.fromkeys(
            names.split(", "), _END.split(plain, maxsplit=1)[0].removesuffix(".")
        )
    return descriptions
