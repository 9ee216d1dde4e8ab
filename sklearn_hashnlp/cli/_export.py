"""``hashnlp export`` and ``convert``: models as Python files, and from and to fastText's files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, SavedPrecision
from sklearn_hashnlp.cli._pipelines import last_step, load_classifier
from sklearn_hashnlp.cli._screen import Screen, counted, plain_table


@reporting_errors
def export(
    model: ModelFolder,
    screen: Screen,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write, such as model.py, or folder.")
    ],
    precision: SavedPrecision = "float32",
) -> None:
    """Export a classifier as a Python file, or a folder, that needs only numpy and starts in a
    fraction of a second.

      hashnlp train mails.csv --model spam
      hashnlp export --model spam spam.py
      hashnlp export --model spam spam_predictor --precision int8
      python spam.py "You have won"
      python spam_predictor --proba < texts.txt

    DIR is a model of hashnlp train with any loss but hsigmoid, or a saved pipeline of a
    HashingNgramVectorizer and a HashEmbeddingClassifier without hidden layers. A name that ends
    with .py is one file; any other is a folder, for models of more than 5 MB: its weights are read
    only when they are used.

    A self-governing neural network (train --sgnn, or a pipeline that ends with SGNNClassifier) is
    quantized to 8 bits: with two hidden layers of 128 units its file has about 160 kB, with two of
    256 about 340 kB. The size of each part before and after quantization is printed.

    The result can be imported as a module; it has predict(texts), predict_proba(texts) and CLASSES.
    Its size is printed.
    """
    pipeline = load_classifier(model)
    screen.note(f"Exporting {model} to {file}")  # it takes seconds
    from sklearn_hashnlp.classifiers import (
        HashEmbeddingClassifier,
        export_predictor,
        quantize_classifier,
    )

    try:
        size = export_predictor(pipeline, file, precision=precision)
    except TypeError as error:
        raise ValueError(f"{model} cannot be exported: {error}") from error
    lines: list[Any] = []
    report: dict[str, Any] = {"file": str(file), "bytes": size, "parts": []}
    if not isinstance(last_step(getattr(pipeline, "pipeline_", pipeline)), HashEmbeddingClassifier):
        table = plain_table("bytes", ">before", ">after")
        for part in quantize_classifier(pipeline)[-1].size_report():
            table.add_row(part.part, f"{part.before:,}", f"{part.after:,}")
            report["parts"].append(part._asdict())
        lines.append(table)
    screen.result(report, [*lines, f"Wrote {file}: {size:,} bytes"])
    screen.next_step(
        "wherever Python and numpy are installed", 'python {path} "some text"', path=file
    )


@reporting_errors
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="fastText's file, .bin or .ftz, or the folder of a model."
        ),
    ],
    target: Annotated[
        Path,
        typer.Option(
            "--model", "-m", metavar="TARGET", help="Folder of the model, or the file to write."
        ),
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
        save_model(
            model,
            target,
            precision=precision,
            card={"Converted from fastText": {"file": source.name}},
        )
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
                f"{source} is a {type(model).__name__}, which fastText cannot compute: train a "
                "model by hashnlp train --fasttext."
            ) from error
        sizes = {"bytes": target.stat().st_size}
        next_step = "predict labels with fastText", "fasttext predict-prob {path} texts.txt"
    labels, n_words = model.classes_.tolist(), model[0].n_words_
    report = {
        "model": str(target),
        "loss": model[-1].loss_,
        "labels": labels,
        "n_words": n_words,
    } | sizes
    numbers = (("label", len(labels)), ("word", n_words), ("byte", sizes["bytes"]))
    screen.result(
        report, [f"Wrote {target}: {', '.join(counted(number, name) for name, number in numbers)}"]
    )
    screen.next_step(*next_step, path=target)
