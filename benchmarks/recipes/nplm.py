"""The recipe ``nplm``: the network of a post on Bengio's language model, on the Penn Treebank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.recipes.texts import read_sentences, treebank_folder
from benchmarks.runner.recipe import Recipe, Result, Run, report_epochs
from benchmarks.runner.settings import STDLIB, setting
from benchmarks.runner.table import Table, tables_by_settings

if TYPE_CHECKING:
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
        }
        run.log(
            f"{name}: {result['valid_perplexity']:.1f} valid, {result['test_perplexity']:.1f} test"
        )
        yield result


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
    ]
    notes = [
        f"{results[0]['settings']['num_epochs']} epochs; the loss is the average over an epoch's "
        "training batches. The post states no figures."
    ]
    return [
        Table(
            "The network of the post on the Penn Treebank",
            header,
            [_row(result) for result in results],
            notes,
        )
    ]


def _row(result: Result) -> list[str]:
    epochs = result["epochs"]
    return [
        result["network"],
        str(result["seed"]),
        f"{result['n_parameters']:,}",
        f"{sum(epoch['seconds'] for epoch in epochs) / len(epochs):.1f}",
        f"{epochs[0]['train_loss']:.2f}",
        f"{epochs[-1]['train_loss']:.2f}",
        f"{result['valid_perplexity']:.1f}",
        f"{result['test_perplexity']:.1f}",
    ]


NPLM = Recipe(
    name="nplm",
    summary="Bengio's language model as a post writes it in TensorFlow, on the Penn Treebank",
    description=_DESCRIPTION,
    settings=NplmSettings(),
    quick=_QUICK,
    run=_run,
    n_results=_n_results,
    report=_report,
)
