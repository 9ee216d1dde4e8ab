"""``hashnlp convert``: a model of fastText as a model folder, and the reverse."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import SavedPrecision
from sklearn_hashnlp.cli._screen import Screen, counted

HELP = """\
Convert a supervised model of fastText, .bin or .ftz, to a model folder, or a model folder to such a file.

\b
  hashnlp convert spam.bin --model spam
  hashnlp predict --model spam new.txt --proba
  hashnlp test more.csv --model spam
  hashnlp train mails.csv --model mails --fasttext
  hashnlp convert mails --model mails.bin

The folder predicts fastText's labels and probabilities; fastText itself is not needed. load_model reads it in Python \
as a pipeline that can be trained further. The numbers of a quantized model take four bytes each; --precision int8 \
stores one byte.

From the folder of a model that was converted, or trained with --fasttext, a file is written that fastText reads; the \
input matrix of an .ftz file is quantized.
"""


@reporting_errors
def convert(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="fastText's file, .bin or .ftz, or the folder of a model.")
    ],
    model: Annotated[
        Path, typer.Option("--model", "-m", metavar="TARGET", help="Folder of the model, or the file to write.")
    ],
    screen: Screen,
    precision: SavedPrecision = "float32",
) -> None:
    """Convert a model; the parameters are the options of the command."""
    if not source.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(source))
    if source.is_dir():
        if precision != "float32":
            raise typer.BadParameter("--precision is for model folders; an .ftz file is quantized.")
        _to_file(source, model, screen)
    else:
        _to_folder(source, model, screen, precision)


def _to_file(folder: Path, file: Path, screen: Screen) -> None:
    from sklearn_hashnlp.classifiers import save_fasttext
    from sklearn_hashnlp.cli._pipelines import load_classifier

    if file.suffix not in (".bin", ".ftz"):
        raise typer.BadParameter(f"fastText's files end with .bin or .ftz, got --model {file}.")
    model = load_classifier(folder)
    try:
        save_fasttext(model, file)
    except TypeError as error:
        kind = type(model).__name__
        raise ValueError(
            f"{folder} is a {kind}, which fastText cannot compute: train a model by hashnlp train --fasttext."
        ) from error
    _show(screen, _report(model, file) | {"bytes": file.stat().st_size})
    screen.next_step("predict labels with fastText", "fasttext predict-prob {path} texts.txt", path=file)


def _to_folder(file: Path, folder: Path, screen: Screen, precision: SavedPrecision) -> None:
    from sklearn_hashnlp.classifiers import load_fasttext
    from sklearn_hashnlp.persistence import save_model

    save_model(None, folder, dry_run=True)
    model = load_fasttext(file)
    save_model(model, folder, precision=precision, card={"Converted from fastText": {"file": file.name}})
    n_bytes = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    _show(screen, _report(model, folder) | {"bytes_before": file.stat().st_size, "bytes": n_bytes})
    screen.next_step("predict labels", "{hashnlp} predict --model {path}", path=folder)


def _report(model: Any, written: Path) -> dict[str, Any]:
    labels, n_words = model.classes_.tolist(), model[0].n_words_
    return {"model": str(written), "loss": model[-1].loss_, "labels": labels, "n_words": n_words}


def _show(screen: Screen, report: dict[str, Any]) -> None:
    sizes = (("label", len(report["labels"])), ("word", report["n_words"]), ("byte", report["bytes"]))
    text = ", ".join(counted(number, name) for name, number in sizes)
    screen.result(report, [f"Wrote {report['model']}: {text}"])
