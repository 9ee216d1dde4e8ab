"""Studies of optuna: in memory, and the journal file by which a later run continues."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from sklearn_hashnlp._posix import lock_file


@contextmanager
def open_journal(path: str | os.PathLike[str] | None, search: Any) -> Iterator[optuna.Study | None]:
    """Open the study of a search in a journal file, which is locked meanwhile; create them if they do not exist."""
    if path is None:
        yield None
        return
    with Path(path).open("a+b") as file:
        try:
            lock_file(file)
        except BlockingIOError:
            raise BlockingIOError(
                f"Another search is writing to {path}; wait until it has finished, or choose another file."
            ) from None
        file.seek(0)
        content = file.read()
        if content and not content.startswith(b'{"op_code"'):
            raise ValueError(f"{path} is not a journal of optuna. Choose another file.")
        file.truncate(content.rfind(b"\n") + 1)  # the last line may be incomplete
        try:
            storage = JournalStorage(JournalFileBackend(os.fspath(path)))
            study = make_study(study_name=joblib.hash(search), storage=storage, load_if_exists=True)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a journal of optuna: {error!r}. Choose another file.") from error
        yield study


def make_study(**options: Any) -> optuna.Study:
    """Create a study that maximizes and prunes by the median, without a line in optuna's log."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(direction="maximize", **options)
    finally:
        optuna.logging.set_verbosity(verbosity)
