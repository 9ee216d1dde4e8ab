"""The recipe ``nplm``: the network of a post on Bengio's language model, on the Penn Treebank."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.recipes.texts import read_sentences, treebank_folder
from benchmarks.runner.recipe import Recipe, Result, Run, report_epochs
from benchmarks.runner.settings import STDLIB, setting
from benchmarks.runner.table import Table, tables_by_settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sklearn_hashnlp.language import HsigmoidLanguageModel

_DESCRIPTION = """\
The neural language model of Bengio and others (2003) as the post "Learning to Implement Papers:
Neural Language Model in Tensorflow" (2017) writes it, line by line: word vectors and H uniform
between -1 and 1, d and U between 0 and 1, b all 1, direct connections W normal with mean -1 and
standard deviation 1 if there are any; y = b + W x + U tanh(d + H x), a softmax over all words, and
plain gradient descent at a constant learning rate, without clipping, weight decay and dropout. The
loss is averaged over every 1,000 steps and over every epoch.

The post states neither sizes nor a learning rate, a text or a figure. Here it is trained on the
first 5,000 sentences of train.txt of the Penn Treebank, in three epochs; sizes are in the range of
the paper's, and the learning rate was chosen from a few on valid.txt. It applies to the mean loss
of a batch: the post's rate, for the sum, times the batch size.

After the post's network, without and with W, come two of the same sizes without W: one that differs
in the initialization alone (small weights; b starts at the frequencies of the words), and one that
has a tree for a softmax and AdaGrad, too. With W the loss starts far above the loss of equal
probabilities.

The post asks which of three translations sounds most like English. Each network ranks them by the
mean log-probability of a word, and so do counts, a Kneser-Ney model of the same order, and the
mixture of the counts and of the last network, with weights for valid.txt.

Three epochs are far from the end of the training with the post's initial values: --set
num_epochs=30 shows it, and report --plot draws the losses.

Every word of a sentence and </s> count; <unk> is a word of the text. It needs train.txt, valid.txt
and test.txt as Tomas Mikolov prepared them in one folder: pass it by --set data=FOLDER, or name it
ptb/ in the folder that the environment variable HASHNLP_DATA names. About seven minutes of
processor time, most of them for the softmax."""

_POST: dict[str, Any] = {"output": "softmax", "init": "uniform", "optimizer": "sgd"}
_NETWORKS: dict[str, dict[str, Any]] = {
    "the post": _POST,
    "the post, with W": _POST | {"direct_connections": True},
    "small initial weights": _POST | {"init": "default"},
    "tree and AdaGrad": {
        "output": "hsigmoid",
        "tree": "cluster",
        "init": "default",
        "optimizer": "adagrad",
    },
}
# The translations of the post, in the form of the Penn Treebank
CANDIDATES = ("i love nlp", "i really like nlp", "i like well the nlp")


@dataclass(frozen=True)
class NplmSettings:
    """Settings of the experiment, described by each field's metadata and named as in the post."""

    data: str = setting(
        "",
        "folder with train.txt, valid.txt and test.txt; empty: ptb in the folder that "
        "HASHNLP_DATA names",
        recorded=False,
    )
    num_steps: int = setting(4, "words of the context: k in the post")
    embed_dim: int = setting(50, "embedding dimension")
    hidden_dim: int = setting(100, "hidden size")
    num_epochs: int = setting(3, "epochs")
    batch_size: int = setting(64, "batch size, in predicted words")
    lr: float = setting(0.5, "learning rate of gradient descent")
    adagrad_lr: float = setting(0.5, "learning rate of AdaGrad")
    log_every: int = setting(1000, "steps over which the loss is averaged")
    n_train: int = setting(5000, "training sentences; 0: all")
    n_valid: int = setting(0, "validation sentences; 0: all")
    n_test: int = setting(0, "test sentences; 0: all")


_QUICK = NplmSettings(
    data=STDLIB,
    embed_dim=4,
    hidden_dim=8,
    num_epochs=2,
    lr=0.1,
    log_every=20,
    n_train=300,
    n_valid=30,
    n_test=30,
)


def _run(settings: NplmSettings, run: Run) -> Iterator[Result]:
    folder = treebank_folder(settings.data, NPLM.name, run.folder)
    train = read_sentences(folder / "train.txt", settings.n_train)
    valid = read_sentences(folder / "valid.txt", settings.n_valid)
    test = read_sentences(folder / "test.txt", settings.n_test)
    for index, (name, options) in enumerate(_NETWORKS.items()):
        if index < len(run.previous):
            continue
        model = _model(settings, run, options)
        model.fit(train, X_valid=valid)
        result = {
            "part": "network",
            "network": name,
            "n_parameters": model.n_parameters_,
            "n_vocabulary": len(model.vocabulary_) - 1,
            "epochs": [
                {
                    "epoch": entry["epoch"],
                    "seconds": round(entry["dur"], 3),
                    "train_loss": entry["train_loss"],
                    "valid_loss": entry["valid_loss"],
                }
                for entry in model.history_
            ],
            "log": [
                [line["epoch"], line["step"], round(line["train_loss"], 5)] for line in model.log_
            ],
            "valid_perplexity": model.history_[-1]["valid_perplexity"],
            "test_perplexity": model.perplexity(test),
            "ranking": {name: _scores(model)},
        }
        if index + 1 == len(_NETWORKS):
            result["ranking"] |= _rank_by_counts(model, train, valid)
        run.log(
            f"{name}: {result['valid_perplexity']:.1f} valid, {result['test_perplexity']:.1f} test"
        )
        yield result


def _scores(model: Any) -> list[float]:
    """Return the mean log-probability of a word of each translation."""
    return [float(model.rank([candidate])[1][0]) for candidate in CANDIDATES]


def _rank_by_counts(
    network: HsigmoidLanguageModel, train: list[str], valid: list[str]
) -> dict[str, list[float]]:
    """Return the scores of a Kneser-Ney model, and of its mixture with a network."""
    from sklearn_hashnlp.language import InterpolatedLanguageModel, KneserNeyLanguageModel

    counts = KneserNeyLanguageModel(order=network.order, vocabulary=network.vocabulary_).fit(train)
    mixture = InterpolatedLanguageModel([counts, network], prefit=True).fit(train, X_valid=valid)
    return {"counts": _scores(counts), "counts and tree": _scores(mixture)}


def _model(settings: NplmSettings, run: Run, options: dict[str, Any]) -> HsigmoidLanguageModel:
    """Return the model of one network; all other settings are the same for all networks."""
    from sklearn_hashnlp.language import HsigmoidLanguageModel
    from sklearn_hashnlp.training import StepLog

    return HsigmoidLanguageModel(
        order=settings.num_steps + 1,
        embedding_dim=settings.embed_dim,
        hidden_size=settings.hidden_dim,
        hidden_layer="tanh",
        padding="full",
        regularization=None,
        learning_rate=settings.lr if options["optimizer"] == "sgd" else settings.adagrad_lr,
        schedule=None,
        max_epochs=settings.num_epochs,
        batch_size=settings.batch_size,
        callbacks=[
            StepLog(settings.log_every),
            report_epochs(run),
        ],
        random_state=run.seed,
        **options,
    )


def _n_results(_settings: NplmSettings) -> int:
    return len(_NETWORKS)


def _report(results: Sequence[Result]) -> list[Table]:
    return tables_by_settings(results, _tables)


def _tables(results: Sequence[Result]) -> list[Table]:
    header = [
        "network",
        "seed",
        "parameters",
        "s per epoch",
        "loss, epoch 1",
        "last",
        "valid. perplexity",
        "test",
        "lowest valid.",
        "epoch",
    ]
    notes = [
        f"{results[0]['settings']['num_epochs']} epochs; the loss is the average over an epoch's "
        "training batches. The post states no figures."
    ]
    tables = [
        Table(
            "The network of the post on the Penn Treebank",
            header,
            [_row(result) for result in results],
            notes,
        )
    ]
    rows = [
        [name, str(result["seed"]), *(f"{score:.2f}" for score in scores)]
        for result in results
        for name, scores in result.get("ranking", {}).items()
    ]
    if rows:
        note = (
            "Mean log-probability of a word and of the end; the largest sounds most like English."
        )
        tables.append(
            Table(
                "The three translations of the post", ["model", "seed", *CANDIDATES], rows, [note]
            )
        )
    return tables


def _row(result: Result) -> list[str]:
    epochs = result["epochs"]
    best = min(epochs, key=lambda epoch: epoch["valid_loss"])
    return [
        result["network"],
        str(result["seed"]),
        f"{result['n_parameters']:,}",
        f"{sum(epoch['seconds'] for epoch in epochs) / len(epochs):.1f}",
        f"{epochs[0]['train_loss']:.2f}",
        f"{epochs[-1]['train_loss']:.2f}",
        f"{result['valid_perplexity']:.1f}",
        f"{result['test_perplexity']:.1f}",
        f"{math.exp(best['valid_loss']):.1f}",
        str(best["epoch"]),
    ]


def _plot(results: Sequence[Result], figure: Figure) -> None:
    """Draw the losses of training and validation by epoch, of the results with most epochs."""
    last = max(result["settings"]["num_epochs"] for result in results)
    shown = [result for result in results if result["settings"]["num_epochs"] == last]
    figure.set_size_inches(9, 4)
    panels = figure.subplots(1, 2, sharey=True)
    colors = dict(zip(_NETWORKS, ("#c44e52", "#dd8452", "#4c72b0", "#55a868"), strict=True))
    for ax, part, title in zip(
        panels, ("train_loss", "valid_loss"), ("training", "validation"), strict=True
    ):
        for result in shown:
            name = result["network"]
            label = name if result["seed"] == shown[0]["seed"] else None
            epochs = result["epochs"]
            losses = [epoch[part] for epoch in epochs]
            numbers = [epoch["epoch"] for epoch in epochs]
            ax.plot(numbers, losses, color=colors[name], label=label)
        ax.axhline(math.log(shown[0]["n_vocabulary"]), color="gray", linestyle=":", linewidth=1)
        ax.set(title=title, xlabel="epoch")
    panels[0].set_ylabel("loss")
    panels[1].legend(fontsize="small")


NPLM = Recipe(
    name="nplm",
    summary="Bengio's language model as a post writes it in TensorFlow, on the Penn Treebank",
    description=_DESCRIPTION,
    settings=NplmSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=_report,
    plot=_plot,
)
