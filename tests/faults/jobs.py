"""Jobs that write files, as small as can be, each with what must hold after it was killed at any
moment.
"""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
from sklearn_hashnlp.persistence import load_model, save_model
from tests import sentence_texts
from tests.language.hsigmoid import small_models

FILMS = [
    ("good", "fine and funny"),
    ("bad", "long and dull"),
    ("good", "so warm"),
    ("bad", "far too long"),
] * 5
N_BATCHES = 4


class Job(ABC):
    """A job that is run again after each kill, until it ends by itself."""

    name: str

    def prepare(self, folder: Path) -> None:  # noqa: B027 - most jobs need nothing
        """Write what the job needs before its first run."""

    @abstractmethod
    def run(self, folder: Path) -> None:
        """Run, from where an earlier run was killed if the job can be resumed."""

    @abstractmethod
    def check(self, folder: Path) -> None:
        """Check that all files that can be loaded are whole."""

    @abstractmethod
    def result(self, folder: Path) -> bytes:
        """Return the result of a run that has ended, to compare the last bit."""

    def finish(self, folder: Path) -> bytes:
        """Run to the end, in this process."""
        self.run(folder)
        return self.result(folder)


def small_classifier(**options: Any) -> HashEmbeddingClassifier:
    return HashEmbeddingClassifier(
        n_buckets=500, n_embeddings=1000, embedding_dim=8, random_state=0, **options
    )


def rows() -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    return scipy.sparse.csr_matrix(
        generator.poisson(0.2, (120, 200)).astype(np.float32)
    ), generator.integers(0, 3, 120)


class SaveModel(Job):
    """Two models are saved in turn in one folder."""

    name = "save_model"

    def prepare(self, folder: Path) -> None:
        X, y = rows()
        self.X = X
        self.models = [small_classifier(max_epochs=epochs).fit(X, y) for epochs in (1, 2)]
        self.scores = {model.decision_function(X).tobytes() for model in self.models}
        save_model(self.models[0], folder / "model")

    def run(self, folder: Path) -> None:
        for number in range(12):
            save_model(self.models[number % 2], folder / "model", precision="float32")

    def check(self, folder: Path) -> None:
        assert self.result(folder) in self.scores

    def result(self, folder: Path) -> bytes:
        return bytes(load_model(folder / "model").decision_function(self.X).tobytes())


class Classifier(Job):
    """A loop over ``partial_fit`` that saves the model with its training state after each batch."""

    name = "classifier: partial_fit"

    def run(self, folder: Path) -> None:
        X, y = rows()
        saved = folder / "model"
        model = (
            load_model(saved)
            if saved.exists() and any(saved.glob("*.json"))
            else small_classifier()
        )
        done = len(model.history_) if hasattr(model, "history_") else 0
        for batch in range(done, N_BATCHES):
            model.partial_fit(X[batch::N_BATCHES], y[batch::N_BATCHES], classes=[0, 1, 2])
            save_model(model, saved, training_state=True)

    def check(self, folder: Path) -> None:
        if (folder / "model" / "weights.safetensors").exists():
            assert 1 <= len(load_model(folder / "model").history_) <= N_BATCHES

    def result(self, folder: Path) -> bytes:
        return bytes(load_model(folder / "model").decision_function(rows()[0]).tobytes())


class LanguageModel(Job):
    """A neural language model with a checkpoint after every epoch."""

    name = "language model"

    def run(self, folder: Path) -> None:
        self._make(folder).fit(small_models.SENTENCES, X_valid=small_models.VALID)

    def check(self, folder: Path) -> None:
        for path in folder.glob("checkpoints/epoch-*"):
            assert len(load_model(path).history_) == int(path.name.removeprefix("epoch-"))

    def result(self, folder: Path) -> bytes:
        # nothing is left to train
        model = self._make(folder).fit(small_models.SENTENCES, X_valid=small_models.VALID)
        assert not list(folder.glob("checkpoints/.unfinished*"))
        return (
            small_models.bytes_of(model)
            + json.dumps([entry["valid_loss"] for entry in model.history_]).encode()
        )

    def _make(self, folder: Path) -> Any:
        options = {
            "early_stopping": "valid_loss",
            "optimizer": "adam",
            "learning_rate": 0.01,
            "max_epochs": 5,
        }
        options |= {"regularization__dropout": 0.3}
        return small_models.make(**options, checkpoint_dir=folder / "checkpoints", resume=True)


class SentenceEncoder(Job):
    """A sentence encoder with a checkpoint after every step."""

    name = "sentence encoder"

    def run(self, folder: Path) -> None:
        self._fit(folder)

    def check(self, folder: Path) -> None:
        if (folder / "encoder" / "weights.safetensors").exists():
            load_model(folder / "encoder")

    def result(self, folder: Path) -> bytes:
        encoder = self._fit(folder)  # nothing is left to train
        return sentence_texts.bytes_of(encoder) + json.dumps(encoder.log_).encode()

    def _fit(self, folder: Path) -> Any:
        options: dict[str, Any] = {
            "checkpoint_dir": folder / "encoder",
            "checkpoint_every": 0,
            "resume": True,
        }
        return sentence_texts.make(**options, n_jobs=1).fit(sentence_texts.PARAGRAPHS)


def bench(*arguments: object) -> None:
    """Run ``python -m benchmarks`` in this process."""
    from benchmarks.commands.main import main

    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"benchmarks ended with exit code {end.code}") from end


class Experiments(Job):
    """``python -m benchmarks run`` of a recipe that keeps a file between its results."""

    name = "python -m benchmarks run"

    def prepare(self, folder: Path) -> None:
        here = str(Path(__file__).parents[1] / "benchmarks")
        if here not in sys.path:
            sys.path.insert(0, here)
        import counting_recipe

        from benchmarks.commands.registry import RECIPES

        RECIPES["counting"] = replace(counting_recipe.COUNTING, run=_count)

    def run(self, folder: Path) -> None:
        bench("run", "counting", "-o", folder / "found.jsonl", "--seeds", 3, "--quiet")

    def check(self, folder: Path) -> None:
        from benchmarks.runner.results_file import read_results

        if (folder / "found.jsonl").exists():
            found = [
                (result["seed"], result["step"]) for result in read_results(folder / "found.jsonl")
            ]
            assert len(found) == len(set(found)) <= 12

    def result(self, folder: Path) -> bytes:
        from benchmarks.runner.results_file import read_results

        found = read_results(folder / "found.jsonl")
        assert not (folder / "found.jsonl.parts").exists()
        return json.dumps(
            [(result["seed"], result["step"], result["value"]) for result in found]
        ).encode()


def _count(_settings: Any, run: Any) -> Iterator[dict[str, Any]]:
    """Yield numbers, each computed from the previous one, which is in a file that is written before
    its result.
    """
    value = (
        int((run.folder / f"value-{len(run.previous)}").read_text())
        if run.previous
        else run.seed + 2
    )
    for step in range(len(run.previous), 4):
        time.sleep(0.003)
        value = value * 31 % 1009
        unfinished = run.folder / "unfinished"
        unfinished.write_text(str(value))
        unfinished.replace(run.folder / f"value-{step + 1}")
        yield {"value": value}


JOBS: list[type[Job]] = [
    SaveModel,
    Classifier,
    LanguageModel,
    SentenceEncoder,
    Experiments,
]
