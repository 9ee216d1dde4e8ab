"""Size, agreement and accuracy of SGNN classifiers on TREC, quantized and exported as one file.

Projections of documents and of words, with hidden layers of 128 and of 256. Each network is trained
once; its pipeline is quantized and exported, and the file is imported as a module. Agreement is the
share of texts for which the predicted label is the same before and after quantization, on the test
set and on the whole data set; the file must predict the label of the quantized pipeline for each
test question. Its seconds are CPU time, after a first call, which reads the weights.

    python -m benchmarks run bench_on_device --data DIR
"""

from __future__ import annotations

import runpy
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.common.benchmark import BenchmarkParser, environment, write_result
from benchmarks.common.data import Rows
from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector, SGNNWordProjector
from sklearn_hashnlp.classifiers import export_predictor, quantize_classifier

RESULT = "on_device.json"
LEVELS = ("documents", "words")
HIDDEN_LAYERS = ((128, 128), (256, 256))
PACKAGES = ("sklearn-hashnlp", "numpy", "scikit-learn", "skorch", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = BenchmarkParser(__doc__, RESULT)
    _, data, path = parser.read(arguments)
    train, test = data.train("trec"), data.test("trec")
    result = environment(*PACKAGES) | {"set": "trec", "models": []}
    for hidden_layers in HIDDEN_LAYERS:
        for level in LEVELS:
            measured = {"level": level, "hidden layers": list(hidden_layers)} | measure(
                level, hidden_layers, train, test
            )
            result["models"].append(measured)
            print(", ".join(f"{name}: {value}" for name, value in measured.items()), flush=True)
            write_result(path, result)


def make(level: str, hidden_layers: tuple[int, ...]) -> Pipeline:
    counts, bits = CharNgramFeaturizer(), SGNNProjector()
    classifier = SGNNClassifier(hidden_layer_sizes=hidden_layers, random_state=0)
    before = [SGNNWordProjector(counts, bits)] if level == "words" else [counts, bits]
    return make_pipeline(*before, classifier)


def measure(level: str, hidden_layers: tuple[int, ...], train: Rows, test: Rows) -> dict[str, Any]:
    model = make(level, hidden_layers).fit(train.texts, train.labels)
    quantized = quantize_classifier(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.py"
        size = export_predictor(model, path)
        exported = runpy.run_path(str(path))
    exported["predict"](test.texts[:1])  # reads the weights
    start = time.process_time()
    labels = exported["predict"](test.texts)
    seconds = time.process_time() - start
    before, after = model.predict(test.texts), quantized.predict(test.texts)
    if not np.array_equal(labels, after):
        raise AssertionError(f"{level}, {hidden_layers}: the exported file predicts other labels")
    everything = [*train.texts, *test.texts]
    total = quantized[-1].size_report()[-1]
    return {
        "bytes before": total.before,
        "bytes after": total.after,
        "file bytes": size,
        "accuracy before": percent(before == test.labels),
        "accuracy after": percent(after == test.labels),
        "agreement, test": percent(before == after),
        "agreement, all": percent(model.predict(everything) == quantized.predict(everything)),
        "texts a processor second": len(test.texts) / seconds,
    }


def percent(correct: Any) -> float:
    return 100 * float(np.mean(correct))
