"""The recipe ``hsigmoid-ptb``: a 5-gram network with hierarchical softmax on the Penn Treebank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmarks.recipes.texts import read_sentences, treebank_folder
from benchmarks.runner.recipe import Recipe, Result, Run, report_epochs
from benchmarks.runner.run import PlannedRun
from benchmarks.runner.settings import STDLIB, setting
from benchmarks.runner.table import Table, tables_by_settings

if TYPE_CHECKING:
    from sklearn_hashnlp.language import HsigmoidLanguageModel


_DESCRIPTION = """\
A network predicts the fifth word from the four before it, with a hierarchical softmax over a
complete binary tree as its output layer. The reference implementation is PaddlePaddle's model
"Hsigmoid" (https://github.com/PaddlePaddle/models, hsigmoid). Its network: word embeddings shared
by the four positions, a sigmoid hidden layer with dropout 0.5, initial weights from a normal
distribution with standard deviation 1 / sqrt(8 embedding_dim), and 0.001 for the embeddings, twice
the learning rate for the bias; one <s> before each sentence, so that its first three words are not
predicted. It trains on train.txt and validates on valid.txt, logs both losses every 1,000 steps,
and saves a checkpoint after every epoch. Sizes and training are taken from the reference's
train.py: embedding dimension 32, hidden size 256, Adam with the constant learning rate 0.003,
weight decay 0.0008, batches of 64 windows and 30 epochs.

Every checkpoint then predicts each of these words of valid.txt from the true words before it:
greedily as the reference's decoder does, which goes right at each node where the probability is
above 0.5, and by exact search for the most probable word.

Perplexities are over the predicted words, including </s> and <unk>; they cannot be compared with a
model that predicts every word.

Differences: Adam is row-wise; the weight decay applies to the embeddings, too, and not to biases;
<unk> is ordered by its frequency among the words, and <s> has no leaf in the tree; the reference
logs every 100 steps. Half an hour of processor time.

It needs the Penn Treebank as Tomas Mikolov prepared it, train.txt and valid.txt in one folder: pass
it by --set data=FOLDER, or name it ptb/ in the folder that the environment variable HASHNLP_DATA
names."""


@dataclass(frozen=True)
class HsigmoidPtbSettings:
    """Settings of the experiment; the metadata of each field describe it."""

    data: str = setting(
        "",
        "folder with train.txt and valid.txt; empty: ptb in the folder that HASHNLP_DATA names",
        recorded=False,
    )
    checkpoint_dir: str = setting(
        "",
        "folder for checkpoints, one subfolder per run; empty: they are deleted after the run",
        recorded=False,
    )
    order: int = setting(5, "words of an n-gram: the context and the predicted word")
    embedding_dim: int = setting(32, "embedding dimension")
    hidden_size: int = setting(256, "hidden size")
    dropout: float = setting(0.5, "dropout probability of the hidden layer")
    bias_learning_rate: float = setting(
        2.0, "factor on the learning rate of the hidden layer's bias"
    )
    # A copy of the language model's names, since its module loads torch; the model refuses unknown
    # names.
    tree: Literal[
        "balanced", "binary_cluster", "cluster", "complete", "huffman", "random", "two_level"
    ] = setting(
        "complete", "complete as in the reference; or huffman, cluster, balanced, random, two_level"
    )
    epochs: int = setting(30, "epochs on train.txt")
    batch_size: int = setting(64, "batch size, in windows")
    optimizer: Literal["adagrad", "adam"] = setting("adam", "adagrad or adam")
    learning_rate: float = setting(0.003, "learning rate")
    schedule: Literal["linear", "constant"] = setting(
        "constant", "learning rate schedule: linear, to 0 after the last epoch; or constant"
    )
    weight_decay: float = setting(0.0008, "weight decay")
    log_every: int = setting(1000, "training steps between two log entries")
    n_train: int = setting(0, "training sentences; 0: all")
    n_valid: int = setting(0, "validation sentences; 0: all")


_QUICK = HsigmoidPtbSettings(
    data=STDLIB, embedding_dim=8, hidden_size=16, epochs=2, log_every=10, n_train=500, n_valid=50
)


def _run(settings: HsigmoidPtbSettings, run: Run) -> Iterator[Result]:
    # Training resumes from the checkpoints in its folder; previous results are computed again, in a
    # second per epoch.
    return islice(_run_whole(settings, run), len(run.previous), None)


def _run_whole(settings: HsigmoidPtbSettings, run: Run) -> Iterator[Result]:
    from sklearn_hashnlp.language._tokenizer import sentence_windows
    from sklearn_hashnlp.persistence import load_model

    folder = treebank_folder(settings.data, HSIGMOID_PTB.name, run.folder)
    train = read_sentences(folder / "train.txt", settings.n_train)
    valid = read_sentences(folder / "valid.txt", settings.n_valid)
    checkpoints = _checkpoint_folder(settings, run)
    model = _train(settings, run, checkpoints, train, valid)
    vocabulary = model.vocabulary_
    windows = [
        window
        for sentence in valid
        for window in sentence_windows(sentence, order=settings.order, padding="reference")
    ]
    contexts = [context for context, _ in windows]
    expected = [word if word in vocabulary else "<unk>" for _, word in windows]
    for entry in model.history_:
        epoch = entry["epoch"]
        saved = load_model(checkpoints / f"epoch-{epoch:05d}")
        hit_rates = {
            search: _accuracy(saved.predict(contexts, search).tolist(), expected)
            for search in ("greedy", "exact")
        }
        run.log(
            f"epoch {epoch}: hit rate {hit_rates['greedy']:.2%} greedy, {hit_rates['exact']:.2%} "
            "exact"
        )
        yield {
            "part": "epoch",
            "epoch": epoch,
            "seconds": round(entry["dur"], 3),
            **{
                name: entry[name]
                for name in ("train_loss", "valid_loss", "train_perplexity", "valid_perplexity")
            },
            "n_words": len(expected),
            "n_vocabulary": len(vocabulary) - 1,
            "hit_rate_greedy": hit_rates["greedy"],
            "hit_rate_exact": hit_rates["exact"],
            "log": [
                [line["step"], round(line["train_loss"], 5), round(line["valid_loss"], 5)]
                for line in model.log_
                if line["epoch"] == epoch
            ],
        }


def _checkpoint_folder(settings: HsigmoidPtbSettings, run: Run) -> Path:
    if not settings.checkpoint_dir:
        return run.folder / "checkpoints"
    # Training resumes from any checkpoint in its folder, even of another seed: each run needs a
    # separate folder.
    name = PlannedRun(HSIGMOID_PTB, settings, run.seed).folder_name
    return Path(settings.checkpoint_dir) / f"seed-{run.seed}-{name}"


def _n_results(settings: HsigmoidPtbSettings) -> int:
    return settings.epochs


def _train(
    settings: HsigmoidPtbSettings, run: Run, checkpoints: Path, train: list[str], valid: list[str]
) -> HsigmoidLanguageModel:
    from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization
    from sklearn_hashnlp.training import StepLog

    model = HsigmoidLanguageModel(
        order=settings.order,
        embedding_dim=settings.embedding_dim,
        hidden_size=settings.hidden_size,
        tree=settings.tree,
        hidden_layer="sigmoid",
        init="reference",
        padding="reference",
        regularization=Regularization(
            settings.dropout, 0.0, weight_decay=settings.weight_decay, max_grad_norm=None
        ),
        optimizer=settings.optimizer,
        learning_rate=settings.learning_rate,
        schedule=LanguageSchedule(
            settings.schedule, 0, bias_learning_rate=settings.bias_learning_rate
        ),
        max_epochs=settings.epochs,
        batch_size=settings.batch_size,
        checkpoint_dir=(checkpoints, "all"),
        resume=True,
        callbacks=[
            StepLog(settings.log_every),
            report_epochs(run),
        ],
        random_state=run.seed,
    )
    return model.fit(train, X_valid=valid)


def _accuracy(predicted: list[str], expected: list[str]) -> float:
    return sum(word == true for word, true in zip(predicted, expected, strict=True)) / len(expected)


def _report(results: Sequence[Result]) -> list[Table]:
    return tables_by_settings(results, _tables)


def _tables(results: Sequence[Result]) -> list[Table]:
    header = [
        "epoch",
        "seed",
        "seconds",
        "training perplexity",
        "validation",
        "hit rate, greedy",
        "exact",
    ]
    rows = [
        [
            str(result["epoch"]),
            str(result["seed"]),
            f"{result['seconds']:.1f}",
            f"{result['train_perplexity']:.1f}",
            f"{result['valid_perplexity']:.1f}",
            f"{result['hit_rate_greedy']:.2%}",
            f"{result['hit_rate_exact']:.2%}",
        ]
        for result in results
    ]
    best = min(results, key=lambda result: result["valid_loss"])
    note = (
        f"Best on valid.txt: epoch {best['epoch']} of seed {best['seed']}, {best['n_words']:,} "
        "predicted words"
    )
    return [Table("5-gram network on the Penn Treebank", header, rows, [note])]


HSIGMOID_PTB = Recipe(
    name="hsigmoid-ptb",
    summary=(
        "Next-word prediction on the Penn Treebank by a 5-gram network with a hierarchical softmax"
    ),
    description=_DESCRIPTION,
    settings=HsigmoidPtbSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=_report,
)
