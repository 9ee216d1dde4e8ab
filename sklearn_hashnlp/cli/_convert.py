"""``hashnlp convert``: a model of fastText as a model folder, and the reverse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import SavedPrecision
from sklearn_hashnlp.cli._pipelines import load_classifier
from sklearn_hashnlp.cli._screen import Screen, counted


@reporting_errors
def convert(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="fastText's file, .bin or .ftz, or the folder of a model.")
    ],
    target: Annotated[
        Path, typer.Option("--model", "-m", metavar="TARGET", help="Folder of the model, or the file to write.")
    ],
    screen: Screen,
    precision: SavedPrecision = "float32",
) -> None:
    """Convert a supervised model of fastText, .bin or .ftz, to a model folder, or a model folder to
    such a file.

      hashnlp convert spam.bin --model spam
      hashnlp predict --model spam new.txt --proba
      hashnlp test more.csv --model spam
      hashnlp train mails.csv --model mails --fasttext
      hashnlp convert mails --model mails.bin

    The folder predicts fastText's labels and probabilities; fastText itself is not needed.
    load_model reads it in Python as a pipeline that can be trained further. The numbers of a
    quantized model take four bytes each; --precision int8 stores one byte.

    From the folder of a model that was converted, or trained with --fasttext, a file is written
    that fastText reads; the input matrix of an .ftz file is quantized.
    """
    from sklearn_hashnlp.classifiers import load_fasttext, save_fasttext
    from sklearn_hashnlp.persistence import save_model

    if not source.is_dir():
        save_model(None, target, dry_run=True)
        model = load_fasttext(source)
        save_model(model, target, precision=precision, card={"Converted from fastText": {"file": source.name}})
        n_bytes = sum(path.stat().st_size for path in target.iterdir() if path.is_file())
        sizes = {"bytes_before": source.stat().st_size, "bytes": n_bytes}
        next_step = "predict labels", "{hashnlp} predict --model {path}"
    elif precision != "float32":
        raise typer.BadParameter("--precision is for model folders; an .ftz file is quantized.")
    elif target.suffix not in (".bin", ".ftz"):
        raise typer.BadParameter(f"fastText's files end with .bin or .ftz, got --model {target}.")
    else:
        model = load_classifier(source)
        try:
            save_fasttext(model, target)
        except TypeError as error:
            raise ValueError(
                f"{source} is a {type(model).__name__}, which fastText cannot compute: train a model by hashnlp train "
                "--fasttext."
            ) from error
        sizes = {"bytes": target.stat().st_size}
        next_step = "predict labels with fastText", "fasttext predict-prob {path} texts.txt"
    labels, n_words = model.classes_.tolist(), model[0].n_words_
    report = {"model": str(target), "loss": model[-1].loss_, "labels": labels, "n_words": n_words} | sizes
    numbers = (("label", len(labels)), ("word", n_words), ("byte", sizes["bytes"]))
    screen.result(report, [f"Wrote {target}: {', '.join(counted(number, name) for name, number in numbers)}"])
    screen.next_step(*next_step, path=target)
