"""``hashnlp predict``: predict the labels of texts, one per line or in a column of a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, TextFile, TextOptions
from sklearn_hashnlp.cli._prediction_output import Prediction, PredictionWriter, open_output, output_format
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.reading._lines import BATCH_SIZE, batches
from sklearn_hashnlp.cli.reading._text_formats import TextSource

HELP = """\
Predict the labels of new texts: lines, or a column of a table.

\b
  echo "Win a prize now!" | hashnlp predict --model spam
  hashnlp predict --model spam new.txt --top 3 --proba > labels.tsv
  hashnlp predict --model spam mails.csv --text-column body --output out.csv
  hashnlp predict --model spam mails.jsonl --output out.jsonl
  hashnlp predict --model spam new.txt --threshold 0.9
  hashnlp predict --model spam new.txt --json | jq .label

FILE is read as by train: .csv, .tsv and .jsonl are tables; their rows are kept, with the columns predicted_label and \
probability added (multiple labels are separated by |). Any other file, and stdin, has one text per line, and an empty \
line is an empty text; --format overrides this. Files may be compressed as .gz, .bz2, .xz, .zip.

Each line gets one line of output: its most probable label. Labels and probabilities are separated by tabs, the most \
probable first. A model with multiple labels per text prints all labels of probability 0.5 or more.

--top 3 prints the three most probable labels. --threshold 0.9 prints all labels with at least this probability, or an \
empty line if there are none. Both together print at most three labels, each with at least this probability.

With --json each line is an object with "label" and "probability" (null if no label reaches the threshold), and with \
--top or --threshold also "top", a list of such objects; for a table it has the columns of the row, too.
"""

_MULTILABEL_THRESHOLD = 0.5
# Number of texts from which on the whole model is loaded: it is twenty times as fast, and loading it takes the time of
# predicting about this number of texts.
_MANY_TEXTS = 20_000


@reporting_errors
def predict(
    model: ModelFolder,
    reading: TextOptions,
    screen: Screen,
    file: TextFile = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: stdout.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            "-k",
            metavar="K",
            min=1,
            help="Print the K most probable labels. Default: 1, or all that reach --threshold.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="P", min=0.0, max=1.0, help="Print only labels with at least this probability."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", "-p", help="Print the probability after each label.")] = False,
) -> None:
    """Predict labels; the parameters are the options of the command."""
    source = TextSource(file, reading)
    written = output_format(output, source.kind, as_json=screen.as_json)
    predictor = Predictor(model)
    if threshold is None and top is None and predictor.multilabel:
        threshold = _MULTILABEL_THRESHOLD
    lists = top is not None or threshold is not None
    k = top or (1 if threshold is None else predictor.n_labels)
    with (
        source.open(screen, action="Predicting", bar=True if output is not None else None) as (texts, table, ready),
        open_output(screen, output, file) as stream,
    ):
        writer = PredictionWriter(
            stream, written, source.kind, reading, as_json=screen.as_json, lists=lists, proba=proba
        )
        n_texts = 0
        for batch in batches(texts, BATCH_SIZE, ready):
            predictions = predictor.predict_topk([text.text for text in batch], k, threshold or 0.0)
            if not n_texts:
                writer.begin(None if table is None else table.header)
            writer.write(batch, predictions)
            n_texts += len(batch)
        if table is not None:
            if not n_texts and table.header:
                writer.begin(table.header)
            table.report(n_texts)


class Predictor:
    """A saved classifier of texts: with numpy alone for few texts of a linear model, else the whole model."""

    def __init__(self, folder: Path) -> None:
        from sklearn_hashnlp.classifiers.export._linear_predictor import model_of_document
        from sklearn_hashnlp.classifiers.export._standalone_linear import DAMAGE, LinearTextPredictor
        from sklearn_hashnlp.persistence._folder_files import read_folder

        self._folder = folder
        self._n_texts = 0
        document, arrays = read_folder(folder)
        try:
            self._model: Any = LinearTextPredictor(*model_of_document(document["model"], arrays))
            self._is_light, self.multilabel = True, bool(self._model.multilabel)
        except (*DAMAGE, ValueError, re.error):  # another kind of model, or a damaged one, which load_model describes
            self._load()
        self.n_labels = len(self._model.classes_)

    def _load(self) -> None:
        from sklearn_hashnlp.cli._pipelines import is_multilabel, load_classifier

        self._model = load_classifier(self._folder)
        self._is_light, self.multilabel = False, is_multilabel(self._model)

    def predict_topk(self, texts: list[str], k: int, threshold: float) -> list[Prediction]:
        """Return the most probable labels of each text with their probabilities, of at least a threshold."""
        if self._is_light and self._n_texts + len(texts) > _MANY_TEXTS:
            self._load()
        self._n_texts += len(texts)
        model = self._model
        if not self._is_light and hasattr(model, "steps") and hasattr(model[-1], "predict_topk"):
            model, texts = model[-1], model[:-1].transform(texts)
        if hasattr(model, "predict_topk"):
            return model.predict_topk(texts, k, threshold)  # type: ignore[no-any-return]  # of any model
        from sklearn_hashnlp.classifiers._base import label_pairs, largest

        return label_pairs(model.classes_.tolist(), *largest(model.predict_proba(texts), k), threshold)
