"""Errors as one line on stderr and an exit code."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

FAILURE = 1
INTERRUPTED = 130
PIPE_CLOSED = 141

_Debug = Annotated[
    bool, typer.Option("--debug", envvar="HASHNLP_DEBUG", help="Print the traceback of an error.", show_envvar=False)
]

# Raised with a message for the user: wrong files and values, a missing extra or device.
_EXPECTED = (OSError, ValueError, ImportError, MemoryError, RuntimeError)


def reporting_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command to print errors as one line on stderr, and add the option ``--debug``."""

    @functools.wraps(command)
    def reporting(*, debug: bool, **arguments: Any) -> None:
        try:
            command(**arguments)
            sys.stdout.flush()  # raises BrokenPipeError here rather than at exit
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            typer.echo("\nhashnlp: interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # The interpreter flushes stdout again at exit, which must not fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except Exception as error:
            if debug:
                raise
            typer.echo(f"hashnlp: {one_line(error)}", err=True)
            raise typer.Exit(FAILURE) from error

    signature = inspect.signature(command, eval_str=True)
    debug = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug)
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in signature.parameters.values()]
    reporting.__signature__ = signature.replace(parameters=[*parameters, debug])  # type: ignore[attr-defined]  # typer reads it
    reporting.__annotations__ = {parameter.name: parameter.annotation for parameter in [*parameters, debug]}
    return reporting


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
