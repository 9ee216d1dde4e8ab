r"""The text classifier with and without the vectors of a pretrained encoder.

Encoders, none of which sees a label:

Wikipedia            Trained on paragraphs of Wikipedia; only the part that depends on the use of
                     words.
and own texts        Trained on these and on all training texts of the data set, without their
                     labels.
teacher              Fitted to the vectors of a Transformer, as by bench_sentence_teacher.py, for
                     sentences of Wikipedia and parts of them; only with --teacher-vectors, the
                     folder where that script has put them.

Each data set is cut to random samples of its training rows; the accuracy is that on all test rows,
the mean over the seeds. The weight of the vectors was chosen on training rows.

    python -m benchmarks run bench_pretrained --data DIR --teacher-vectors FOLDER
    python -m benchmarks run bench_pretrained --data DIR --sets trec --sizes 250 \
        --encoders Wikipedia

Each result is written when it is measured and not measured again (unless --again is given).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.benchmark import BenchmarkParser, environment, read_result, write_result
from benchmarks.common.data import TITLES, DataFolder, Rows, read_text
from benchmarks.common.pages import table
from benchmarks.common.samples import add_sample_options, bootstrap
from benchmarks.language import sentence_teacher
from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.sentences import DistilledSentenceEncoder, SGNNSentenceEncoder

RESULT = "pretrained.json"
PAGE = "model_selection.md"
ALONE = "without"
COLUMNS = {
    ALONE: "n-grams",
    "Wikipedia": "Wikipedia",
    "and own texts": "and own texts",
    "teacher": "teacher",
}
SETS = ("trec", "sst2", "atis", "swda", "ag_news")
SIZES = {"250": "250", "1000": "1,000", "4000": "4,000", "0": "all"}
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "scipy", "torch")
WIKIPEDIA = "Wikipedia"
OWN = "and own texts"
TEACHER = "teacher"
WINDOWS = 53_248

Encoder = DistilledSentenceEncoder | SGNNSentenceEncoder


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    add_sample_options(parser, SETS)
    names = [WIKIPEDIA, OWN, TEACHER]
    parser.add_choices("--encoders", names)
    parser.add_argument("--teacher-vectors", type=Path, help="folder of the teacher's vectors")
    options, data, path = parser.read(arguments)
    result = read_result(path)
    encoders: dict[str, Encoder] = {}
    for name in options.sets:
        train, test = data.train(name), data.test(name)
        encoders.pop(OWN, None)
        for size in options.sizes:
            cells = result.setdefault("sets", {}).setdefault(name, {}).setdefault(str(size), {})
            if size >= len(train.texts):
                continue
            known = None
            for model in (ALONE, *options.encoders):
                if (model in cells and not options.again) or (
                    model == TEACHER and options.teacher_vectors is None
                ):
                    continue
                if model != ALONE and model not in encoders:
                    encoders[model] = fitted(model, data, train, options)
                correct, seconds = measure(encoders.get(model), size, train, test, options.seeds)
                known = correct if model == ALONE else known
                result |= environment(*PACKAGES)
                cells[model] = {
                    "accuracy": 100 * float(correct.mean()),
                    "cpu seconds": seconds,
                    "seeds": options.seeds,
                }
                if known is not None and model != ALONE:
                    cells[model]["interval"] = bootstrap(
                        100 * (correct.mean(axis=0) - known.mean(axis=0))
                    )
                print(f"{name}, {size or 'all'} rows, {model}: {cells[model]}", flush=True)
                write_result(path, result)
    print(markdown(result))


def fitted(name: str, data: DataFolder, train: Rows, options: argparse.Namespace) -> Encoder:
    """Train an encoder, and select the part of its vectors that n-grams do not have."""
    if name == TEACHER:
        vectors = sentence_teacher.TeacherVectors(
            options.teacher_vectors, data, None, {"windows": WINDOWS}
        )
        return DistilledSentenceEncoder(n_jobs=-1).fit(*vectors.training())
    texts = read_text(data, "wikipedia", "paragraphs.txt")
    encoder = SGNNSentenceEncoder(n_jobs=-1, random_state=0).fit(
        texts + (train.texts if name == OWN else [])
    )
    return encoder.set_params(context_weight=1.0)


def measure(
    encoder: Encoder | None, size: int, train: Rows, test: Rows, n_seeds: int
) -> tuple[NDArray[np.bool_], float]:
    """Return whether each test row is predicted correctly, per seed, and the training seconds."""
    correct, seconds = [], []
    labels = np.array(test.labels)
    for seed in range(n_seeds):
        rows = train.sample(size or None, seed)
        start = time.process_time()
        model = TextClassifier(pretrained=encoder, random_state=seed).fit(rows.texts, rows.labels)
        seconds.append(time.process_time() - start)
        correct.append(np.asarray(model.predict(test.texts) == labels))
    return np.stack(correct), statistics.median(seconds)


def markdown(result: dict[str, Any]) -> str:
    """Return the table: a row per data set and number of training rows, a column per encoder."""
    sets = result.get("sets", {})
    measured = {model for sizes in sets.values() for cells in sizes.values() for model in cells}
    columns = [column for column in COLUMNS if column in measured]
    rows = [
        (TITLES[name], SIZES[size], *(_cell(sets[name][size].get(column)) for column in columns))
        for name in SETS
        for size in SIZES
        if sets.get(name, {}).get(size)
    ]
    return table(("", "texts", *(COLUMNS[column] for column in columns)), rows)


def _cell(cell: dict[str, Any] | None) -> str:
    return "" if cell is None else f"{cell['accuracy']:.2f}"


TABLES = {"pretrained": markdown}
