"""Errors as one line and an exit code that scripts can use."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer

FAILURE = 1
INTERRUPTED = 130
PIPE_CLOSED = 141

_Debug = Annotated[
    bool, typer.Option("--debug", envvar="HASHNLP_DEBUG", help="Show where an error arose.", show_envvar=False)
]

# What is raised with a message for the user: wrong files and values, a missing extra, a device that is not there.
_EXPECTED = (OSError, ValueError, ImportError, MemoryError, RuntimeError)


def reporting_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command report errors as one line on stderr, and give it the option ``--debug``."""

    @functools.wraps(command)
    def reported(*, debug: bool, **arguments: Any) -> None:
        try:
            command(**arguments)
            sys.stdout.flush()  # so that a closed pipe shows here and not at the very end
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            typer.echo("\nhashnlp: interrupted.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # The interpreter flushes once more when it ends; that must not fail as well.
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
    reported.__signature__ = signature.replace(parameters=[*parameters, debug])  # type: ignore[attr-defined]  # where typer looks for it
    reported.__annotations__ = {parameter.name: parameter.annotation for parameter in [*parameters, debug]}
    return reported


@contextmanager
def noticing_interrupts() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` at the end if Ctrl-C came and the code inside took it for a normal end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals
        return
    noticed = False

    def notice(_number: int, _frame: FrameType | None) -> None:
        nonlocal noticed
        noticed = True
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, notice)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if noticed:
        raise KeyboardInterrupt


def one_line(error: Exception) -> str:
    """Write an error as one line for the user."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        message = f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        message = "there is not enough memory."
    else:
        message = " ".join(str(error).split())
    if not isinstance(error, _EXPECTED):
        message = f"unexpected {type(error).__name__}: {message} (--debug shows where)"
    return message
