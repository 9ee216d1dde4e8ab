"""``hashnlp convert``: a model of fastText as a model folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, Precision, SavedPrecision
from sklearn_hashnlp.cli._screen import Screen, command_name, counted

HELP = """\
Convert a supervised model of fastText, .bin or .ftz, to a model folder.

\b
  hashnlp convert spam.bin --model spam
  hashnlp predict --model spam new.txt --proba
  hashnlp test more.csv --model spam

The folder has the labels and probabilities of fastText, and quantized models stay as small as they are; fastText \
itself is not needed. --pipeline writes a vectorizer and a HashEmbeddingClassifier instead, for further training in \
Python; quantized numbers are then stored as floats, and a model of one-vs-all has other probabilities.
"""


@reporting_errors
def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="fastText's file, .bin or .ftz.")],
    model: ModelFolder,
    screen: Screen,
    pipeline: Annotated[
        bool, typer.Option("--pipeline", help="Write a pipeline that can be trained further with partial_fit.")
    ] = False,
    precision: SavedPrecision = Precision.float32,
) -> None:
    """Convert a model; the parameters are the options of the command."""
    from sklearn_hashnlp.persistence import load_fasttext, save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_replaceable(model)
    read = load_fasttext(file)
    converted: Any = read
    if pipeline:
        from sklearn_hashnlp.classifiers import from_fasttext

        converted = from_fasttext(read, exact=False)
    card = {"Converted from fastText": {"file": file.name} | read.arguments_}
    save_model(converted, model, precision=precision.value, card=card)
    n_bytes = sum(path.stat().st_size for path in model.iterdir() if path.is_file())
    report = {
        "model": str(model),
        "loss": read.loss_,
        "labels": read.classes_.tolist(),
        "n_words": read.n_words_,
        "bytes_before": file.stat().st_size,
        "bytes": n_bytes,
    }
    sizes = f"{counted(len(read.classes_), 'label')}, {counted(read.n_words_, 'word')}, {counted(n_bytes, 'byte')}"
    screen.result(report, [f"Wrote {model}: {sizes}"])
    screen.next_step("predict labels", f"{command_name()} predict --model {shlex.quote(str(model))}")
