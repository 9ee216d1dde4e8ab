"""Errors, of usage too, as one line on stderr and an exit code."""

from __future__ import annotations

import functools
import inspect
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from sklearn_hashnlp.cli._options import OptionGroup
from sklearn_hashnlp.cli._screen import Screen

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

_Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        envvar="HASHNLP_DEBUG",
        help="Print the traceback of an error.",
        show_envvar=False,
    ),
]
# Raised with a message for the user: wrong files and values, a missing extra or device.
_EXPECTED = (OSError, ValueError, ImportError, MemoryError, RuntimeError)
_UsageError: Any = typer.BadParameter.__base__  # of the copy of click in typer
_IN_SHELL_TERMS = {  # patterns in messages of the library, and what they are on the command line
    r"^Invalid value for '[^']*?(--[\w-]+)'[^:]*: ": r"\1: ",
    r"^Invalid value: ": "",
    r"^\w+\(device='cuda'\) needs a device .*": "--device cuda: torch finds no CUDA device. Use "
    "--device auto to train on a GPU only if there is one.",
    r"an instance of 'bool' or an instance of 'numpy.bool'": "True or False",
    r"^TextClassifier takes (\w+)=(.*) or a classifier, not both: set .*": "With --set "
    r"classifier__NAME=VALUE, all parameters of the classifier are set so: use --set "
    r"classifier__\1=\2 instead.",
    r"^HsigmoidLanguageModel\(resume=True\) needs checkpoint_dir,": "--resume needs "
    "--checkpoint-dir,",
    r"^HsigmoidLanguageModel: checkpoint_dir=(.*)\. Set resume=True to": (
        r"--checkpoint-dir \1. Use --resume to"
    ),
    r"^HsigmoidLanguageModel: checkpoint_dir=": "--checkpoint-dir ",
    r"^(HsigmoidLanguageModel cannot .*)give another folder than checkpoint_dir=": (
        r"\1use another --checkpoint-dir than "
    ),
}


class CommandGroup(TyperGroup):
    """The ``hashnlp`` command: wrong usage is one line, and each failure has its exit code."""

    def main(self, *args: Any, **options: Any) -> NoReturn:
        """Run the command line, and exit."""
        options["standalone_mode"] = False  # errors are raised, and exit codes returned
        try:
            sys.exit(super().main(*args, **options))
        except _UsageError as error:
            if type(error).__name__ != "NoArgsIsHelpError":  # its help was printed
                command = error.ctx.command_path if error.ctx else self._named_by(*args, **options)
                typer.echo(f"hashnlp: {_usage_message(error)} See: {command} --help", err=True)
            sys.exit(USAGE)
        except BrokenPipeError:
            sys.exit(PIPE_CLOSED)
        except SystemExit as error:
            if isinstance(error.__context__, BrokenPipeError):  # rich and typer exit with 1
                sys.exit(PIPE_CLOSED)
            raise

    def _named_by(self, args: Sequence[str] | None = None, **_options: Any) -> str:
        """Return the command in the arguments, for errors that do not know theirs."""
        command: Any = self
        path = ["hashnlp"]
        for word in sys.argv[1:] if args is None else args:
            command = getattr(command, "commands", {}).get(word)
            if command is None:
                break
            path.append(word)
        return " ".join(path)


def reporting_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command: errors are one line, groups of options are options, with ``--debug``."""
    signature = inspect.signature(command, eval_str=True)
    annotations = {name: one.annotation for name, one in signature.parameters.items()}
    groups = {
        name: one
        for name, one in annotations.items()
        if isinstance(one, type) and issubclass(one, OptionGroup)
    }
    fields = {
        name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()
    }

    @functools.wraps(command)
    def reporting(*, ctx: typer.Context, debug: bool, **arguments: Any) -> None:
        try:
            for name, group in groups.items():
                arguments[name] = group(**{field: arguments.pop(field) for field in fields[name]})
            screen = arguments.get("screen") or Screen(
                as_json=False, quiet=arguments.get("quiet", False)
            )
            with _raising_interrupts(), screen.warnings_as_notes():
                command(**arguments)
                sys.stdout.flush()  # raises BrokenPipeError here rather than at exit
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except typer.BadParameter as error:
            error.ctx = error.ctx or ctx
            raise
        except KeyboardInterrupt:
            typer.echo("\nhashnlp: interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if debug:
                raise
            typer.echo(f"hashnlp: {one_line(error)}", err=True)
            raise typer.Exit(FAILURE) from error

    options = [one for name, one in signature.parameters.items() if name not in groups]
    options += [field for of_group in fields.values() for field in of_group.values()]
    options += [
        inspect.Parameter(
            "debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug
        ),
        inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
    ]
    parameters = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    # typer reads it
    reporting.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    reporting.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    reporting.__doc__ = _help(command)
    return reporting


def _help(command: Callable[..., None]) -> str:
    """Return the docstring of a command as its help, with a line for each paragraph."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        f"\b\n{one}" if one.startswith("  ") else one.replace("\n", " ") for one in paragraphs
    )


@contextmanager
def _raising_interrupts() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` even if the code inside converts it to another error."""
    interrupted: list[int] = []

    def interrupt(number: int, _frame: object) -> None:
        interrupted.append(number)
        raise KeyboardInterrupt

    previous = signal.getsignal(signal.SIGINT)
    receives = previous is not signal.SIG_IGN  # as in the background
    if receives:
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        if not interrupted:
            raise
    finally:
        if receives:
            signal.signal(signal.SIGINT, previous)
    if interrupted:
        raise KeyboardInterrupt


def _usage_message(error: Any) -> str:
    """Return the message of a usage error; messages of pydantic are rephrased as the others."""
    parameter, cause = getattr(error, "param", None), error.__cause__
    if parameter is None or not hasattr(cause, "errors"):
        message = _in_shell_terms(error.format_message())
        parameters = [] if error.ctx is None else error.ctx.command.params
        if type(error).__name__ == "NoSuchOption" and any(
            one.name == "settings" for one in parameters
        ):
            message += "; parameters are set by --set NAME=VALUE, and listed by --parameters"
        return message if message.endswith((".", "?")) else f"{message}."
    [first, *_] = cause.errors()
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
    return (
        f"{name}: expected {expected}, got {first['input']!r}."
        if expected
        else f"{name}: {first['msg']}."
    )


def _in_shell_terms(message: str) -> str:
    """Return a message as one line, with options where the library names parameters."""
    message = " ".join(message.split())
    for pattern, shown in _IN_SHELL_TERMS.items():
        message = re.sub(pattern, shown, message)
    return message


def one_line(error: Exception) -> str:
    """Format an error as one line for the user."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        message = "out of memory."
    else:
        message = _in_shell_terms(str(error))
    if not isinstance(error, _EXPECTED):
        message = f"unexpected {type(error).__name__}: {message} (--debug prints the traceback)"
    return message
