"""``hashnlp lm train``: from a text file to a language model's folder."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import noticing_interrupts, reporting_errors
from sklearn_hashnlp.cli._options import ComputeDevice, Device, Json, ModelFolder, Quiet, Seed
from sklearn_hashnlp.cli._screen import Screen, command_name
from sklearn_hashnlp.cli.lm._options import (
    Activation,
    DirectConnections,
    Embedding,
    Init,
    Keep,
    Optimizer,
    OutputLayer,
    Padding,
    Schedule,
    TreeKind,
)

if TYPE_CHECKING:
    from sklearn_hashnlp import HsigmoidLanguageModel


HELP = """\
Learn to predict the next word from a text file, a sentence a line, and save the model.

\b
  hashnlp lm train train.txt --model lm
  hashnlp lm train train.txt --valid valid.txt --model lm --tree cluster --early-stopping
  hashnlp lm train train.txt --valid valid.txt --model lm --direct-connections hashed --dropout 0.2
  hashnlp lm train train.txt --model lm --checkpoint-dir passes --keep all
  hashnlp lm train train.txt --model lm --checkpoint-dir passes --keep all --resume

The words before a word are looked up in a table of vectors, a hidden layer reads these, and a tree of small decisions \
tells the next word, so that a million words cost little more than a thousand. On the way it tells the perplexity: \
as if the model had to guess among so many words each time. It falls while the model learns; where that on --valid no \
longer falls, more epochs only learn by heart (--early-stopping ends there, with the best ones' weights).

What to try first for a lower perplexity: --tree cluster, --direct-connections hashed, more --dropout the smaller the \
text, a larger --hidden-size.

A model that is in DIR is replaced when the new one is complete. Ctrl-C leaves it as it was; with --checkpoint-dir, \
the passes that were finished are there, each a model of its own, and the same command with --resume goes on.
"""

_NETWORK, _WORDS, _TRAINING, _CHECKPOINTS = "The network", "The words", "Training", "Checkpoints"


@reporting_errors
def train(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Sentences, one a line, UTF-8; also .gz, .bz2, .xz, .zip.", show_default=False
        ),
    ],
    model: ModelFolder,
    valid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Sentences to measure every epoch by.", show_default=False),
    ] = None,
    order: Annotated[
        int,
        typer.Option(min=2, help="Words that are looked at, the predicted one included.", rich_help_panel=_NETWORK),
    ] = 5,
    embedding_dim: Annotated[
        int, typer.Option(min=1, help="Length of a word's vector.", rich_help_panel=_NETWORK)
    ] = 64,
    hidden_size: Annotated[int, typer.Option(min=1, help="Width of the hidden layer.", rich_help_panel=_NETWORK)] = 256,
    output: Annotated[
        OutputLayer,
        typer.Option(
            help="hsigmoid: a tree, fast with any number of words. softmax: a score for each word, slow. adaptive: in "
            "between.",
            rich_help_panel=_NETWORK,
        ),
    ] = OutputLayer.hsigmoid,
    tree: Annotated[
        TreeKind,
        typer.Option(
            help="Of hsigmoid. cluster brings words together that are used alike, and predicts best.",
            rich_help_panel=_NETWORK,
        ),
    ] = TreeKind.huffman,
    direct_connections: Annotated[
        DirectConnections,
        typer.Option(
            help="Whether the output also reads the vectors (dense), or adds weights of the last word, the last two, "
            "... (hashed; for hsigmoid).",
            rich_help_panel=_NETWORK,
        ),
    ] = DirectConnections.none,
    n_direct: Annotated[
        int,
        typer.Option(min=1, max=2**31 - 1, help="Weights of hashed direct connections.", rich_help_panel=_NETWORK),
    ] = 2**22,
    activation: Annotated[
        Activation, typer.Option(help="Of the hidden layer.", rich_help_panel=_NETWORK)
    ] = Activation.tanh,
    init: Annotated[
        Init, typer.Option(help="How vectors and hidden layer start.", rich_help_panel=_NETWORK)
    ] = Init.default,
    embedding: Annotated[
        Embedding,
        typer.Option(
            help="table: a vector for each known word. hash: hash embeddings, also of words never seen. "
            "sgnn: from the characters of words, also never seen.",
            rich_help_panel=_NETWORK,
        ),
    ] = Embedding.table,
    max_vocabulary: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Learn only so many words, the most frequent; the others are <unk>.",
            show_default=False,
            rich_help_panel=_WORDS,
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Words that occur less often are <unk>.", rich_help_panel=_WORDS)
    ] = 1,
    padding: Annotated[
        Padding,
        typer.Option(
            help="full: every word is predicted. reference: only words with a whole context before them.",
            rich_help_panel=_WORDS,
        ),
    ] = Padding.full,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the sentences.", rich_help_panel=_TRAINING)] = 5,
    batch_size: Annotated[int, typer.Option(min=1, help="Words a step.", rich_help_panel=_TRAINING)] = 512,
    optimizer: Annotated[
        Optimizer,
        typer.Option(help="adam wants a smaller --learning-rate, such as 0.002.", rich_help_panel=_TRAINING),
    ] = Optimizer.adagrad,
    learning_rate: Annotated[
        float, typer.Option(min=0.0, help="Step size; smaller if training diverges.", rich_help_panel=_TRAINING)
    ] = 0.5,
    bias_learning_rate: Annotated[
        float,
        typer.Option(min=0.0, help="Step size of the hidden layer's bias, multiplied.", rich_help_panel=_TRAINING),
    ] = 1.0,
    direct_learning_rate: Annotated[
        float,
        typer.Option(min=0.0, help="That of hashed direct connections, multiplied.", rich_help_panel=_TRAINING),
    ] = 1.0,
    schedule: Annotated[
        Schedule, typer.Option(help="linear: the step size falls to 0 at the end.", rich_help_panel=_TRAINING)
    ] = Schedule.linear,
    dropout: Annotated[
        float,
        typer.Option(min=0.0, max=0.99, help="Share of the hidden layer that is dropped.", rich_help_panel=_TRAINING),
    ] = 0.25,
    embedding_dropout: Annotated[
        float, typer.Option(min=0.0, max=0.99, help="Share of the vectors that is dropped.", rich_help_panel=_TRAINING)
    ] = 0.0,
    early_stopping: Annotated[
        bool,
        typer.Option(
            "--early-stopping",
            help="Stop when the validation perplexity no longer falls, and keep the best epoch's weights.",
            rich_help_panel=_TRAINING,
        ),
    ] = False,
    patience: Annotated[
        int,
        typer.Option(
            min=1, help="Epochs without a better one before --early-stopping stops.", rich_help_panel=_TRAINING
        ),
    ] = 2,
    validation_fraction: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="Share of FILE that --early-stopping measures by where there is no --valid.",
            rich_help_panel=_TRAINING,
        ),
    ] = 0.1,
    max_time: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="SECONDS", help="Stop after that time.", show_default=False, rich_help_panel=_TRAINING
        ),
    ] = None,
    log_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="STEPS",
            help="Tell training and validation perplexity every so many steps.",
            show_default=False,
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    checkpoint_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Save the model after every pass here, as pass-00001, pass-00002, ...",
            show_default=False,
            rich_help_panel=_CHECKPOINTS,
        ),
    ] = None,
    keep: Annotated[
        Keep, typer.Option(help="Which passes stay there, beside the last.", rich_help_panel=_CHECKPOINTS)
    ] = Keep.best,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with the training in --checkpoint-dir, if there is one.",
            rich_help_panel=_CHECKPOINTS,
        ),
    ] = False,
    seed: Seed = 0,
    device: ComputeDevice = Device.cpu,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a language model; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet)
    if resume and checkpoint_dir is None:
        raise typer.BadParameter("--resume goes on with what is in --checkpoint-dir; give that, too.")
    if resume and early_stopping and keep is Keep.last:
        raise typer.BadParameter(
            "--early-stopping returns to the best pass; with --resume it needs --keep best or all."
        )
    if direct_connections is DirectConnections.hashed and output is not OutputLayer.hsigmoid:
        raise typer.BadParameter(f"--direct-connections hashed needs --output hsigmoid, not {output.value}.")
    for name, value in (
        ("--learning-rate", learning_rate),
        ("--bias-learning-rate", bias_learning_rate),
        ("--direct-learning-rate", direct_learning_rate),
        ("--validation-fraction", validation_fraction),
        ("--max-time", max_time),
    ):
        if value == 0:
            raise typer.BadParameter(f"{name} must be above 0.")
    from sklearn_hashnlp.cli._pipelines import check_device
    from sklearn_hashnlp.cli.lm._loading import check_sentences, check_without_passes

    check_sentences(data)
    if valid is not None:
        check_sentences(valid)
    check_device(device.value)
    from sklearn_hashnlp import HsigmoidLanguageModel
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_replaceable(model)
    if checkpoint_dir is not None and not resume:
        check_without_passes(checkpoint_dir)
    language_model = HsigmoidLanguageModel(
        order=order,
        embedding_dim=embedding_dim,
        hidden_size=hidden_size,
        output=output.value,
        tree=tree.value,
        direct_connections={"none": False, "dense": True, "hashed": "hashed"}[direct_connections.value],
        n_direct=n_direct,
        activation=activation.value,
        dropout=dropout,
        embedding_dropout=embedding_dropout,
        init=init.value,
        embedding=embedding.value,
        max_vocabulary=max_vocabulary,
        min_count=min_count,
        padding=padding.value,
        optimizer=optimizer.value,
        learning_rate=learning_rate,
        bias_learning_rate=bias_learning_rate,
        direct_learning_rate=direct_learning_rate,
        learning_rate_schedule=schedule.value,
        max_epochs=epochs,
        max_time=max_time,
        batch_size=batch_size,
        early_stopping=early_stopping,
        validation_fraction=validation_fraction,
        n_iter_no_change=patience,
        log_every=log_every,
        checkpoint_dir=None if checkpoint_dir is None else str(checkpoint_dir),
        keep=keep.value,
        resume=resume,
        device=device.value,
        random_state=seed,
    )
    started = time.perf_counter()
    _fit(screen, language_model, data, valid)
    seconds = time.perf_counter() - started
    save_model(language_model, model)
    _report(screen, language_model, model, seconds)


def _fit(screen: Screen, language_model: HsigmoidLanguageModel, data: Path, valid: Path | None) -> None:
    """Fit, showing how far it is."""
    from sklearn_hashnlp.cli.lm._loading import sentences_of
    from sklearn_hashnlp.training._callbacks import LanguageProgress

    try:
        with noticing_interrupts(), screen.progress() as progress:
            task = progress.add_task("Reading", total=None)

            def move(done: int, total: int, text: str) -> None:
                progress.update(task, completed=done, total=total, description=text)

            language_model.set_params(callbacks=[LanguageProgress(screen.note, move)])
            language_model.fit(sentences_of(data), X_valid=None if valid is None else sentences_of(valid))
    except KeyboardInterrupt:
        if language_model.checkpoint_dir is not None:
            screen.note(f"Finished passes are in {language_model.checkpoint_dir}; --resume goes on with them.")
        raise
    finally:
        language_model.set_params(callbacks=None)  # a saved model has no use for them


def _report(screen: Screen, language_model: HsigmoidLanguageModel, model: Path, seconds: float) -> None:
    """Return what came out."""
    history = language_model.history_
    kept = history[-1] if history else {}
    if language_model.early_stopping:
        kept = min(history, key=lambda entry: entry["valid_loss"])
    n_words = len(language_model.vocabulary_)
    if screen.as_json:
        report: dict[str, Any] = {
            "model": str(model),
            "n_words": n_words,
            "n_parameters": language_model.n_parameters_,
            "seconds": round(seconds, 3),
            "epoch": kept.get("epoch"),
            "train_perplexity": kept.get("train_perplexity"),
            "valid_perplexity": kept.get("valid_perplexity"),
            "history": history,
            "log": language_model.log_,
        }
        screen.put_json(report)
        return
    if screen.quiet:
        if "valid_perplexity" in kept:  # what --valid asked for
            print(f"{kept['valid_perplexity']:.4f}")
        return
    screen.show(f"Trained {len(history)} epochs on {n_words:,} different words in {seconds:.1f} s")
    if "valid_perplexity" in kept:
        screen.show(f"Validation perplexity {kept['valid_perplexity']:.2f} after epoch {kept['epoch']}", style="bold")
    screen.show(f"Saved in {model}")
    called, folder = command_name(), shlex.quote(str(model))
    screen.note("\nNext, let it make up sentences, or score some:")
    screen.note(f"  {called} lm sample --model {folder} --number 5", style="bold")
    screen.note(f"  {called} lm score --model {folder} FILE", style="bold")
