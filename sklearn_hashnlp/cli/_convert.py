"""``hashnlp convert``: a model of fastText as a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, SavedPrecision
from sklearn_hashnlp.cli._screen import Screen, counted

HELP = """\
Convert a supervised model of fastText, .bin or .ftz, to a model folder.

\b
  hashnlp convert spam.bin --model spam
  hashnlp predict --model spam new.txt --proba
  hashnlp test more.csv --model spam

The folder predicts fastText's labels and probabilities; fastText itself is not needed. load_model reads it in Python \
as a pipeline that can be trained further. The numbers of a quantized model take four bytes each; --precision int8 \
stores one byte.
"""


@reporting_errors
def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="fastText's file, .bin or .ftz.")],
    model: ModelFolder,
    screen: Screen,
    precision: SavedPrecision = "float32",
) -> None:
    """Convert a model; the parameters are the options of the command."""
    from sklearn_hashnlp.classifiers._load_fasttext import fasttext_pipeline
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._fasttext_file import read_fasttext
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_replaceable(model)
    content = read_fasttext(file)
    labels, n_words = sorted(content.labels.tolist()), content.dictionary.n_words
    card = {"Converted from fastText": {"file": file.name} | content.arguments}
    save_model(fasttext_pipeline(content), model, precision=precision, card=card)
    n_bytes = sum(path.stat().st_size for path in model.iterdir() if path.is_file())
    report = {
        "model": str(model),
        "loss": content.arguments["loss"],
        "labels": labels,
        "n_words": n_words,
        "bytes_before": file.stat().st_size,
        "bytes": n_bytes,
    }
    sizes = f"{counted(len(labels), 'label')}, {counted(n_words, 'word')}, {counted(n_bytes, 'byte')}"
    screen.result(report, [f"Wrote {model}: {sizes}"])
    screen.next_step("predict labels", "{hashnlp} predict --model {path}", path=model)
