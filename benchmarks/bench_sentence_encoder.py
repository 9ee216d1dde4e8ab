"""SGNNSentenceEncoder, trained on Wikipedia, beside TF-IDF, hashed bags of n-grams and itself before training.

Parts, each of which can be run alone (--part) and is added to the same JSON:

training        Each encoder and seed: seconds, the share in which a step waited for its batch, and the curve of what
                the weights are chosen by, the rank correlation on the first half of the STS benchmark's development
                part. The encoders are kept in a folder (--work); a training that was interrupted goes on from there.
similarity      Spearman's correlation of cosines and judgements on the first half, the second and the whole, of
                baselines and encoders.
classification  Logistic regression on frozen vectors, C = 1000 as in the source and C chosen on training rows: trec,
                sst2, and imdb by the means of a review's sentences.
speed           Sentences a second of the small encoder on two threads, and with each word projected by itself.
ablation        The small encoder with one thing changed at a time, each in so many seconds of its second stage.
report          The source's full network; only where it is asked for. It wants a GPU.

    python benchmarks/bench_sentence_encoder.py --data DIR --work FOLDER
    python benchmarks/bench_sentence_encoder.py --data DIR --work FOLDER --part similarity --models "TF-IDF, words"
    python benchmarks/bench_sentence_encoder.py --data DIR --work FOLDER --part report --device cuda
    python benchmarks/bench_sentence_encoder.py --data DIR --rows 300 --seeds 1     (a trial; writes no JSON)

Each figure is written as soon as it is there and is not measured again (unless --again).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from common import sentence_speed, sentence_tasks
from common.data import DataFolder, data_folder, read_text
from common.results_file import add_output_option, output_path, read_result, surroundings, write_result
from common.sentence_models import ABLATIONS, BASELINES, ENCODERS, REPORT, SMALL, train_encoder
from common.sentence_tables import tables

from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from sklearn_hashnlp.text import split_sentences

RESULT = "sentence_encoder.json"
PACKAGES = ("sklearn-hashnlp", "numpy", "numba", "scikit-learn", "scipy", "skorch", "torch")
PARTS = ("training", "similarity", "classification", "speed", "ablation")
MODELS = (*BASELINES, *ENCODERS)
TRAINED = "trained encoder"
SPEED_SENTENCES = 8_000
ABLATION_C = 10.0


class Bench:
    """Options, texts, models and the JSON of a run.

    Parameters
    ----------
    data : DataFolder
        The folder.
    path : Path or None
        Of the JSON.
    work : Path
        Where encoders are kept.
    options : Namespace
        Of the command line.
    """

    def __init__(self, data: DataFolder, path: Path | None, work: Path, options: argparse.Namespace) -> None:
        self.data, self.path, self.work, self.options = data, path, work, options
        self.result = read_result(path)
        self._fitted: dict[str, Any] = {}

    @cached_property
    def paragraphs(self) -> list[str]:
        """The training text."""
        return read_text(self.data, "wikipedia", "paragraphs.txt")

    @cached_property
    def pairs(self) -> sentence_tasks.Pairs:
        """Pairs of sentences that people have judged."""
        return sentence_tasks.read_pairs(self.data)

    def seeds(self, name: str) -> range:
        """Give the seeds of a model; a baseline needs one."""
        return range(1 if name in BASELINES else self.options.seeds)

    def model(self, name: str, seed: int) -> Any:
        """Give a baseline or an encoder of the settings by that name; the last one is held."""
        if name in BASELINES:
            return self._held(name, lambda: BASELINES[name](self.paragraphs))
        return self._held(f"{name} {seed}", lambda: self.encoder(name, ENCODERS[name], seed))

    def encoder(self, name: str, settings: dict[str, Any], seed: int, group: str = "training") -> SGNNSentenceEncoder:
        """Train an encoder, or take the one in the folder, and note what training it was like."""
        settings = {"n_jobs": self.options.jobs, "log_every": self.options.log_every} | settings
        watched = sentence_tasks.first_half(self.pairs)
        folder = self.work / f"{group} {name} {seed}".replace(" ", "-").replace(",", "").replace(":", "")
        encoder, training = train_encoder(self.paragraphs, settings, seed=seed, folder=folder, watched=watched)
        self.note(group, name, seed, training)
        return encoder

    def note(self, part: str, name: str, seed: int, found: dict[str, Any]) -> None:
        """Write a figure at once, beside what another run may have written meanwhile."""
        self.result = read_result(self.path) or self.result
        group = self.result.setdefault(part, {})
        group.update(surroundings(*PACKAGES))
        run = group.setdefault("models", {}).setdefault(name, {}).setdefault(str(seed), {})
        run.update(found)
        write_result(self.path, self.result)

    def is_known(self, part: str, name: str, seed: int, what: str) -> bool:
        """Tell whether the JSON has a figure that is not to be measured anew."""
        known = self.result.get(part, {}).get("models", {}).get(name, {}).get(str(seed), {})
        return what in known and not self.options.again

    def _held(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self._fitted:
            self._fitted.clear()
            self._fitted[key] = make()
        return self._fitted[key]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = make_parser()
    options = parser.parse_args(arguments)
    data, path = data_folder(parser, options), output_path(options, RESULT)
    with tempfile.TemporaryDirectory() as spare:
        bench = Bench(data, path, Path(spare) if options.work is None else options.work, options)
        # A model is made once and judged by all that is asked for.
        for model in [name for name in options.models if set(options.part) & {*PER_MODEL}]:
            for seed in bench.seeds(model):
                for part in PER_MODEL:
                    if part in options.part:
                        PER_MODEL[part](bench, model, seed)
        for part in RUN:
            if part in options.part:
                RUN[part](bench)
    print("\n\n".join(f"{name}\n\n{table}" for name, table in tables(bench.result).items()))
    if path is not None:
        print(f"Written: {path}")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("HASHNLP_DATA"),
        help="folder that holds wikipedia/paragraphs.txt, stsb/dev.csv and trec/, sst2/ and imdb/, each with train.csv "
        "and test.csv (default: the variable HASHNLP_DATA)",
    )
    parser.add_argument("--work", type=Path, help="folder to keep the encoders in (default: none are kept)")
    parser.add_argument(
        "--part", nargs="+", choices=[*PARTS, "report"], default=list(PARTS), help="default: all of ours"
    )
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help="default: all")
    parser.add_argument("--sets", nargs="+", choices=sentence_tasks.SETS, default=list(sentence_tasks.SETS))
    parser.add_argument("--ablations", nargs="+", choices=list(ABLATIONS), default=list(ABLATIONS), help="default: all")
    parser.add_argument("--seeds", type=int, default=3, help="of encoders (default: %(default)s)")
    parser.add_argument("--imdb-seeds", type=int, default=1, help="of its 600,000 sentences (default: %(default)s)")
    parser.add_argument("--ablation-seeds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--ablation-time", type=float, default=150.0, help="seconds (default: %(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of the source's network")
    parser.add_argument("--epochs", type=int, default=1, help="of the source's network (default: %(default)s)")
    parser.add_argument("--max-time", type=float, help="seconds for the source's network (default: no limit)")
    parser.add_argument("--jobs", type=int, default=1, help="threads that prepare batches (default: %(default)s)")
    parser.add_argument("--log-every", type=int, default=100, help="steps (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=5, help="of speed (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="measure anew what the JSON has already")
    parser.add_argument("--rows", type=int, help="so many rows of each file only: a trial")
    add_output_option(parser, RESULT)
    return parser


def training(bench: Bench, name: str, seed: int) -> None:
    if name in ENCODERS and not bench.is_known("training", name, seed, "seconds"):
        bench.model(name, seed)


def similarity(bench: Bench, name: str, seed: int) -> None:
    if not bench.is_known("similarity", name, seed, "whole"):
        judge_similarity(bench, bench.model(name, seed), "similarity", name, seed)


def judge_similarity(bench: Bench, model: Any, part: str, name: str, seed: int) -> None:
    found: dict[str, Any] = sentence_tasks.correlations(model, bench.pairs)
    print(f"{name}, {seed}:", ", ".join(f"{half} {value:.2f}" for half, value in found.items()), flush=True)
    bench.note(part, name, seed, found | {"columns": int(model.transform(["a"]).shape[1])})


def classification(bench: Bench, name: str, seed: int) -> None:
    for one in bench.options.sets:
        is_wanted = one != "imdb" or seed < bench.options.imdb_seeds
        if is_wanted and not bench.is_known("classification", name, seed, one):
            judge_classification(bench, bench.model(name, seed), "classification", name, seed, one)


def judge_classification(bench: Bench, model: Any, part: str, name: str, seed: int, one: str) -> None:
    start = time.perf_counter()
    found = sentence_tasks.classify(model, one, bench.data)
    shown = ", ".join(f"{key} {value:.2f}" for key, value in found.items())
    print(f"{name}, {seed}, {one}: {shown}, done in {time.perf_counter() - start:.0f} s", flush=True)
    bench.note(part, name, seed, {one: found})


def speed(bench: Bench) -> None:
    if bench.is_known("speed", TRAINED, 0, "times as long"):
        return
    encoder = bench.model(TRAINED, 0).set_params(n_jobs=2)
    sentences = [one for paragraph in bench.paragraphs for one in split_sentences(paragraph)][:SPEED_SENTENCES]
    bench.note("speed", TRAINED, 0, sentence_speed.measure(encoder, sentences, bench.options.turns))


def ablation(bench: Bench) -> None:
    """Judge what one change does: by the pairs, and by a classifier on rows of sst2 that are held out for choosing."""
    for seed, name in ablations_by_seed(bench):
        if bench.is_known("ablation", name, seed, "sst2"):
            continue
        settings = SMALL | {"max_time": bench.options.ablation_time} | ABLATIONS[name]
        encoder = bench.encoder(name, settings, seed, "ablation")
        judge_similarity(bench, encoder, "ablation", name, seed)
        bench.note("ablation", name, seed, {"sst2": sentence_tasks.held_out(encoder, "sst2", bench.data, ABLATION_C)})


def ablations_by_seed(bench: Bench) -> Iterator[tuple[int, str]]:
    """Give one seed of everything before the next."""
    return ((seed, name) for seed in range(bench.options.ablation_seeds) for name in bench.options.ablations)


def report(bench: Bench) -> None:
    options, name = bench.options, "the source's network"
    if bench.is_known("report", name, 0, options.sets[-1]):
        return
    settings = REPORT | {"device": options.device, "max_epochs": options.epochs, "max_time": options.max_time}
    encoder = bench.encoder(name, settings, 0, "report")
    judge_similarity(bench, encoder, "report", name, 0)
    for one in options.sets:
        judge_classification(bench, encoder, "report", name, 0, one)


PER_MODEL = {"training": training, "similarity": similarity, "classification": classification}
RUN = {"speed": speed, "ablation": ablation, "report": report}


if __name__ == "__main__":
    main()
