"""Errors, of usage too, as one line on stderr and an exit code."""

from __future__ import annotations

import functools
import inspect
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from sklearn_hashnlp.cli._options import OptionGroup
from sklearn_hashnlp.cli._screen import ClosedStreamError

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

_Debug = Annotated[
    bool, typer.Option("--debug", envvar="HASHNLP_DEBUG", help="Print the traceback of an error.", show_envvar=False)
]

# Raised with a message for the user: wrong files and values, a missing extra or device.
_EXPECTED = (OSError, ValueError, ImportError, MemoryError, RuntimeError)

_FASTTEXT_COMMANDS = {
    "supervised": "hashnlp train",
    "quantize": "hashnlp train --precision int8",
    "predict-prob": "hashnlp predict --proba",
}
_FASTTEXT_OPTIONS = {
    "-input": "DATA, the first argument,",
    "-output": "--model",
    "-lr": "--learning-rate",
    "-epoch": "--epochs",
    "-wordNgrams": "--set 'ngram_range=(1, N)'",
    "-dim": "--set embedding_dim=N",
    "-bucket": "--buckets",
    "-loss": "--set loss=NAME",
    "-label": "--label-prefix",
    "-thread": "--n-jobs",
}

_UsageError: Any = typer.BadParameter.__base__  # of the copy of click in typer


class CommandGroup(TyperGroup):
    """The ``hashnlp`` command: wrong usage is one line, without a box, and each failure has its exit code."""

    def main(self, *args: Any, **options: Any) -> NoReturn:
        """Run the command line, and exit."""
        options["standalone_mode"] = False  # errors are raised, and exit codes returned
        try:
            sys.exit(super().main(*args, **options))
        except _UsageError as error:
            if type(error).__name__ != "NoArgsIsHelpError":  # its help was printed
                given = [str(argument) for argument in options.get("args") or (args[0] if args else sys.argv[1:])]
                command = error.ctx.command_path if error.ctx else self._path(given)
                names = _FASTTEXT_COMMANDS if given and given[0] in _FASTTEXT_COMMANDS else _FASTTEXT_OPTIONS
                name = next((argument for argument in given if argument in names), None)
                hint = "" if name is None else f" fastText's {name} is {names[name]} here."
                _fail(f"{_usage_message(error)}{hint} See: {command} --help", USAGE)
            sys.exit(USAGE)
        except ClosedStreamError as error:
            _fail(one_line(error), FAILURE)
        except BrokenPipeError:
            sys.exit(PIPE_CLOSED)
        except SystemExit as error:
            if isinstance(error.__context__, BrokenPipeError):  # rich and typer exit with 1
                sys.exit(PIPE_CLOSED)
            raise

    def _path(self, arguments: list[str]) -> str:
        """Return the command that some arguments name: ``hashnlp lm train``."""
        command: Any = self
        names = ["hashnlp"]
        for name in arguments:
            if name not in getattr(command, "commands", {}):
                break
            command = command.commands[name]
            names.append(name)
        return " ".join(names)


def reporting_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command: errors are one line on stderr, option groups are options, and ``--debug`` is added."""
    signature = inspect.signature(command, eval_str=True)
    annotations = {name: one.annotation for name, one in signature.parameters.items()}
    groups = {name: one for name, one in annotations.items() if isinstance(one, type) and issubclass(one, OptionGroup)}
    fields = {name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()}

    @functools.wraps(command)
    def reporting(*, debug: bool, **arguments: Any) -> None:
        try:
            with _raising_interrupts():
                for name, group in groups.items():
                    arguments[name] = group(**{field: arguments.pop(field) for field in fields[name]})
                command(**arguments)
                sys.stdout.flush()  # raises BrokenPipeError here rather than at exit
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            typer.echo("\nhashnlp: interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if debug:
                raise
            typer.echo(f"hashnlp: {one_line(error)}", err=True)
            raise typer.Exit(FAILURE) from error

    debug = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug)
    options = [one for name, one in signature.parameters.items() if name not in groups]
    options += [field for of_group in fields.values() for field in of_group.values()]
    parameters = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in [*options, debug]]
    reporting.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # typer reads it
    reporting.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return reporting


@contextmanager
def _raising_interrupts() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` even if the code inside converts it to another error, as imports do."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield  # only the main thread receives signals, and a background job none of the terminal
        return
    interrupted = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        if not interrupted:
            raise
    finally:
        signal.signal(signal.SIGINT, previous)
    if interrupted:
        raise KeyboardInterrupt


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"hashnlp: {message}", err=True)
    sys.exit(code)


def _usage_message(error: Any) -> str:
    """Return the message of a usage error; messages of pydantic are rephrased as the others."""
    parameter = getattr(error, "param", None)
    validation_errors = getattr(error.__cause__, "errors", None)  # of pydantic
    if parameter is None or validation_errors is None:
        message = " ".join(error.format_message().removeprefix("Invalid value: ").split())
        parameters = [] if error.ctx is None else error.ctx.command.params
        if type(error).__name__ == "NoSuchOption" and any(one.name == "settings" for one in parameters):
            message += "; parameters are set by --set NAME=VALUE, and listed by --parameters"
        return message if message.endswith((".", "?")) else f"{message}."
    [first, *_] = validation_errors()
    limits = first.get("ctx", {})
    expected = {
        "int_parsing": "an integer",
        "float_parsing": "a number",
        "greater_than_equal": f"{limits.get('ge')} or more",
        "less_than_equal": f"at most {limits.get('le')}",
    }.get(first["type"])
    choices = getattr(parameter.type_descriptor, "choices", None)
    if choices:
        expected = " or ".join(", ".join(choices).rsplit(", ", 1))
    name = max(parameter.opts, key=len)
    return f"{name}: expected {expected}, got {first['input']!r}." if expected else f"{name}: {first['msg']}."


def one_line(error: Exception) -> str:
    """Format an error as one line for the user."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        message = "out of memory."
    else:
        message = " ".join(str(error).split())
    if not isinstance(error, _EXPECTED):
        message = f"unexpected {type(error).__name__}: {message} (--debug prints the traceback)"
    return message
