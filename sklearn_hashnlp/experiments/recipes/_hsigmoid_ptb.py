"""The recipe ``hsigmoid-ptb``: a 5-gram network over the Penn Treebank with a hierarchical sigmoid."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn_hashnlp.experiments._recipe import Recipe, Result, Run
from sklearn_hashnlp.experiments._run import PlannedRun
from sklearn_hashnlp.experiments._settings import setting, split_by_settings
from sklearn_hashnlp.experiments._table import Table

if TYPE_CHECKING:
    from sklearn_hashnlp.language import HsigmoidLanguageModel


_DESCRIPTION = """\
A network predicts the fifth word from the four before it, with a complete binary tree of sigmoids as its output layer.
After PaddlePaddle's model "Hsigmoid" (https://github.com/PaddlePaddle/models, hsigmoid), whose network this is: one
table of word vectors for the four places, a sigmoid hidden layer with dropout 0.5, its weights normal with standard
deviation 1 / sqrt(8 embedding_dim), the vectors' with 0.001, twice the step size for its bias; one <s> before each
sentence, so that its first three words are not predicted. It trains on train.txt and tests on valid.txt, prints both
losses every 100 iterations, and saves the model after every pass.

Then every saved pass predicts each of these words of valid.txt from the true words before it: as the source's decoder
does, at each node to the right where the probability is above 0.5 (greedy), and by exact search for the most probable
word.

Perplexities are over the words that are predicted, </s> and <unk> among them, and not those of a model that predicts
every word.

The source says neither how long vectors and hidden layer are nor how it trains. Vectors of 32, a hidden layer of 256,
10 passes and row-wise AdaGrad, from 0.1 linearly down, with 256 windows a step are this recipe's; optimiser and step
size were chosen on valid.txt among a few. About three minutes on two idle cores.

It needs the Penn Treebank as Tomas Mikolov prepared it, train.txt and valid.txt in one folder: name it by
--set data=FOLDER, or put it as ptb/ into the folder that the variable HASHNLP_DATA names."""


@dataclass(frozen=True)
class HsigmoidPtbSettings:
    """What can be changed about the experiment; the metadata of each field say what it is."""

    data: str = setting("", "folder with train.txt and valid.txt; empty: ptb in the folder of HASHNLP_DATA", place=True)
    checkpoint_dir: str = setting(
        "", "folder that keeps, in a folder for each run, a model a pass; empty: none is kept", place=True
    )
    order: int = setting(5, "words of an n-gram: the context and the word after it")
    embedding_dim: int = setting(32, "length of a word's vector")
    hidden_size: int = setting(256, "width of the hidden layer")
    dropout: float = setting(0.5, "share of the hidden layer that is dropped in training")
    bias_learning_rate: float = setting(2.0, "the step size of the hidden layer's bias is multiplied by this")
    tree: str = setting("complete", "the source's; or huffman, cluster, balanced, random, two_level")
    passes: int = setting(10, "passes over train.txt")
    batch_size: int = setting(256, "windows of a training step")
    optimizer: str = setting("adagrad", "adagrad or adam")
    learning_rate: float = setting(0.5, "step size")
    schedule: str = setting("linear", "linear: the step size falls to 0 over the passes; or constant")
    log_every: int = setting(100, "iterations after which the losses are printed")
    n_train: int = setting(0, "sentences of train.txt to learn from; 0: all")
    n_valid: int = setting(0, "sentences of valid.txt to test on; 0: all")


_QUICK = HsigmoidPtbSettings(
    embedding_dim=8, hidden_size=16, passes=2, batch_size=64, log_every=10, n_train=500, n_valid=50
)


def _run(settings: HsigmoidPtbSettings, run: Run) -> Iterator[Result]:
    # Training goes on with the passes in its folder; what is known is decoded once more, which takes a second a pass.
    return islice(_run_whole(settings, run), len(run.known), None)


def _run_whole(settings: HsigmoidPtbSettings, run: Run) -> Iterator[Result]:
    from sklearn_hashnlp.language._windows import sentence_windows
    from sklearn_hashnlp.persistence import load_model

    folder = _folder(settings)
    train = _read(folder / "train.txt", settings.n_train)
    valid = _read(folder / "valid.txt", settings.n_valid)
    passes = _folder_of_passes(settings, run)
    model = _train(settings, run, passes, train, valid)
    vocabulary = model.vocabulary_
    windows = [
        window for sentence in valid for window in sentence_windows(sentence, order=settings.order, padding="reference")
    ]
    contexts = [context for context, _ in windows]
    expected = [word if word in vocabulary else "<unk>" for _, word in windows]
    for entry in model.history_:
        number = entry["epoch"]
        saved = load_model(passes / f"epoch-{number:05d}")
        hits = {search: _share(saved.predict(contexts, search).tolist(), expected) for search in ("greedy", "exact")}
        run.tell(f"pass {number}: hit rate {hits['greedy']:.2%} greedy, {hits['exact']:.2%} exact")
        yield {
            "part": "pass",
            "pass": number,
            "seconds": round(entry["dur"], 3),
            **{name: entry[name] for name in ("train_loss", "valid_loss", "train_perplexity", "valid_perplexity")},
            "n_words": len(expected),
            "n_vocabulary": len(vocabulary) - 1,
            "hit_rate_greedy": hits["greedy"],
            "hit_rate_exact": hits["exact"],
            "log": [
                [line["step"], round(line["train_loss"], 5), round(line["valid_loss"], 5)]
                for line in model.log_
                if line["epoch"] == number
            ],
        }


def _folder_of_passes(settings: HsigmoidPtbSettings, run: Run) -> Path:
    if not settings.checkpoint_dir:
        return run.folder / "passes"
    # Training goes on with what it finds there, and asks for no seed: each run must find its own.
    name = PlannedRun(HSIGMOID_PTB, settings, run.seed).short_name
    return Path(settings.checkpoint_dir) / f"seed-{run.seed}-{name}"


def _n_results(settings: HsigmoidPtbSettings) -> int:
    return settings.passes


def _train(
    settings: HsigmoidPtbSettings, run: Run, passes: Path, train: list[str], valid: list[str]
) -> HsigmoidLanguageModel:
    from sklearn_hashnlp.language import HsigmoidLanguageModel
    from sklearn_hashnlp.training._callbacks import LanguageProgress

    model = HsigmoidLanguageModel(
        order=settings.order,
        embedding_dim=settings.embedding_dim,
        hidden_size=settings.hidden_size,
        tree=settings.tree,
        activation="sigmoid",
        dropout=settings.dropout,
        embedding_dropout=0.0,
        init="reference",
        padding="reference",
        optimizer=settings.optimizer,
        learning_rate=settings.learning_rate,
        bias_learning_rate=settings.bias_learning_rate,
        learning_rate_schedule=settings.schedule,
        max_epochs=settings.passes,
        batch_size=settings.batch_size,
        log_every=settings.log_every,
        checkpoint_dir=passes,
        keep="all",
        resume=True,
        callbacks=[LanguageProgress(run.tell, lambda done, total, _text: run.move(done, total))],
        random_state=run.seed,
    )
    return model.fit(train, X_valid=valid)


def _folder(settings: HsigmoidPtbSettings) -> Path:
    if settings.data:
        return Path(settings.data)
    if "HASHNLP_DATA" not in os.environ:
        raise ValueError(
            "hsigmoid-ptb needs a folder with train.txt and valid.txt: name it by --set data=FOLDER, or put it as ptb/ "
            "into the folder that the variable HASHNLP_DATA names."
        )
    return Path(os.environ["HASHNLP_DATA"]) / "ptb"


def _read(path: Path, n_sentences: int) -> list[str]:
    from itertools import islice

    from sklearn_hashnlp.datasets._lines import read_lines

    sentences = list(islice((line for line in read_lines(path) if not line.isspace()), n_sentences or None))
    if not sentences:
        raise ValueError(f"{path} holds no sentence; expected one a line, words apart by blanks.")
    return sentences


def _share(found: list[str], expected: list[str]) -> float:
    return sum(one == other for one, other in zip(found, expected, strict=True)) / len(expected)


def _report(results: Sequence[Result]) -> list[Table]:
    header = ["pass", "seed", "seconds", "perplexity on train", "on valid", "words hit: greedy", "exact"]
    tables = []
    for what, found in split_by_settings(results):
        rows = [
            [
                str(result["pass"]),
                str(result["seed"]),
                f"{result['seconds']:.1f}",
                f"{result['train_perplexity']:.1f}",
                f"{result['valid_perplexity']:.1f}",
                f"{result['hit_rate_greedy']:.2%}",
                f"{result['hit_rate_exact']:.2%}",
            ]
            for result in found
        ]
        best = min(found, key=lambda result: result["valid_loss"])
        note = f"Best on valid.txt: pass {best['pass']} of seed {best['seed']}, {best['n_words']:,} words predicted"
        title = "5-gram network on the Penn Treebank"
        tables.append(Table(f"{title} ({what})" if what else title, header, rows, [note]))
    return tables


HSIGMOID_PTB = Recipe(
    name="hsigmoid-ptb",
    summary="Next words of the Penn Treebank by a 5-gram network with a tree of sigmoids",
    description=_DESCRIPTION,
    settings=HsigmoidPtbSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=_report,
)
