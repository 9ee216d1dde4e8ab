"""``hashnlp lm train``: train a language model on a text file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions, ModelFolder, OptionGroup
from sklearn_hashnlp.cli._parameters import Bundles, Training, parameters_option, set_parameters
from sklearn_hashnlp.cli._progress import shown_training
from sklearn_hashnlp.cli._screen import Screen, bold, counted, format_perplexity
from sklearn_hashnlp.cli.lm._load_language_model import check_sentences, sentence_reader


@dataclass(frozen=True)
class LanguageOptions(OptionGroup):
    """The options of the command that no other has."""

    valid: Path | None = typer.Option(
        None, metavar="FILE", help="Validation sentences, scored after every epoch."
    )
    model_type: Literal["network", "kneser-ney"] = typer.Option(
        "network", help="network: a neural network. kneser-ney: n-gram counts, in seconds."
    )
    order: int = typer.Option(
        5, min=2, help="Length of the n-grams: context words and predicted word."
    )
    lowercase: bool = typer.Option(
        False, "--lowercase", help="Lowercase the sentences; the other commands then do so, too."
    )
    max_time: float | None = typer.Option(None, metavar="SECONDS", help="Maximum training time.")
    log_every: int | None = typer.Option(
        None, min=1, metavar="STEPS", help="Print perplexities every STEPS steps of an epoch."
    )
    checkpoint_dir: Path | None = typer.Option(
        None,
        metavar="DIR",
        help="Folder for a checkpoint after every epoch: epoch-00001, ... The last and the best "
        "are kept.",
    )
    resume: bool = typer.Option(
        False, "--resume", help="Continue the training in --checkpoint-dir, if there is one."
    )
    arpa: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="kneser-ney: save the model in the ARPA format of KenLM and SRILM, too; .gz, .bz2 or "
        ".xz compresses.",
    )

    def callbacks(self) -> list[Any]:
        """Return the callbacks of ``--max-time`` and ``--log-every``."""
        from sklearn_hashnlp.training import StepLog, TimeLimit

        limit = [] if self.max_time is None else [TimeLimit(self.max_time)]
        return [*limit, *([] if self.log_every is None else [StepLog(self.log_every)])]


def _models() -> Iterator[tuple[str, Any, Bundles]]:
    from sklearn_hashnlp.language import HsigmoidLanguageModel, KneserNeyLanguageModel

    yield "hashnlp lm train", HsigmoidLanguageModel(), _bundles()
    yield "\nhashnlp lm train --model-type kneser-ney", KneserNeyLanguageModel(), {}


def _bundles() -> Bundles:
    from sklearn_hashnlp.language import LanguageSchedule, Regularization
    from sklearn_hashnlp.training import EarlyStopping

    # of early_stopping="valid_loss"
    stopping = EarlyStopping("valid_loss", patience=2, validation_fraction=0.1)
    return {
        "early_stopping": stopping,
        "regularization": Regularization(),
        "schedule": LanguageSchedule(),
    }


def _untrained(options: LanguageOptions, training: Training) -> Any:
    """Return the language model with the parameters of the options."""
    counts = options.model_type == "kneser-ney"
    if counts:
        of_networks = ("max_time", "log_every", "checkpoint_dir", "resume")
        training.refuse(
            "--model-type kneser-ney", **{name: getattr(options, name) for name in of_networks}
        )
    elif options.arpa is not None:
        raise typer.BadParameter("--arpa needs --model-type kneser-ney.")
    from sklearn_hashnlp.language import HsigmoidLanguageModel, KneserNeyLanguageModel

    if counts:
        counting = KneserNeyLanguageModel(order=options.order)
        set_parameters(counting, training.settings or [], {})
        return counting
    network = HsigmoidLanguageModel(order=options.order, resume=options.resume)
    folder = None if options.checkpoint_dir is None else str(options.checkpoint_dir)
    training.configure(network, _bundles(), checkpoint_dir=folder, callbacks=options.callbacks())
    return network


@reporting_errors
def train(
    data: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Sentences, one per line; also .gz, .bz2, .xz, .zip."),
    ],
    model: ModelFolder,
    options: LanguageOptions,
    training: Training,
    reading: LineOptions,
    screen: Screen,
    # its callback prints and exits
    parameters: Annotated[bool, parameters_option(_models)] = False,  # noqa: ARG001
) -> None:
    r"""Train a model that predicts the next word on a text file with one sentence per line,
    and save it.

      hashnlp lm train train.txt --model lm
      hashnlp lm train train.txt -m lm --valid valid.txt \
          --set early_stopping=valid_loss
      hashnlp lm train train.txt -m lm --set tree=cluster \
          --set direct_connections=hashed --set hidden_size=512
      hashnlp lm train train.txt -m lm --set regularization__dropout=0.5
      hashnlp lm train train.txt -m lm --set max_features=10000 --lowercase
      hashnlp lm train train.txt -m lm --checkpoint-dir checkpoints
      hashnlp lm train train.txt -m lm --checkpoint-dir checkpoints --resume
      hashnlp lm train train.txt -m lm --model-type kneser-ney
      hashnlp lm train --parameters

    The network is a neural n-gram model: embeddings of the previous words, a hidden layer, and a
    hierarchical softmax; the time per word grows with the logarithm of the vocabulary size. It is
    an HsigmoidLanguageModel: --set NAME=VALUE sets any of its parameters, and --parameters lists
    them; values are checked before FILE is read.

    The perplexity printed after every epoch is the number of equally probable words that would be
    as hard to predict; lower is better. When the perplexity on --valid no longer falls, the model
    overfits: --set early_stopping=valid_loss stops there and keeps the weights of the best epoch,
    --set early_stopping__patience=3 after three epochs without improvement. To lower the
    perplexity, try first: --set tree=cluster, --set direct_connections=hashed, a larger --set
    hidden_size=512.

    --model-type kneser-ney counts n-grams instead, with modified Kneser-Ney smoothing: the usual
    baseline. It is a KneserNeyLanguageModel: --set min_ngram_counts=1,1,2 drops rare n-grams.

    An existing model in DIR is replaced when training has finished; Ctrl-C keeps it. With
    --checkpoint-dir the model is also saved after every epoch, and after an interruption the same
    command with --resume continues.
    """
    from sklearn_hashnlp.persistence import save_model

    language_model = _untrained(options, training)
    counts = options.model_type == "kneser-ney"
    for path in (data, options.valid):
        if path is not None:
            check_sentences(path, reading)
    save_model(None, model, dry_run=True)
    sentences, valid = (
        None if path is None else sentence_reader(path, reading, lowercase=options.lowercase)
        for path in (data, options.valid)
    )
    started = perf_counter()
    if counts:
        with screen.bar("Counting n-grams"):
            language_model.fit(sentences)
    else:
        try:
            with shown_training(screen, language_model, "Reading", perplexity=True):
                language_model.fit(sentences, X_valid=valid)
        except KeyboardInterrupt:
            checkpoints = language_model.checkpoint_dir
            folder = checkpoints[0] if isinstance(checkpoints, tuple | list) else checkpoints
            if folder is not None:
                screen.note(
                    f"Finished epochs are saved in {folder}; --resume continues from there."
                )
            raise
    seconds = perf_counter() - started
    if options.arpa is not None:  # first, for an error leaves the model of before
        language_model.save_arpa(options.arpa)
    save_model(language_model, model)
    what, results = (
        _count_results(language_model, valid) if counts else _network_results(language_model)
    )
    n_words = len(language_model.vocabulary_)
    report = {"model": str(model), "n_words": n_words, "seconds": round(seconds, 3)} | results
    lines: list[Any] = [
        f"{what} with a vocabulary of {counted(n_words, 'word')} in {seconds:.1f} s"
    ]
    figure = None
    if (perplexity := results["valid_perplexity"]) is not None:
        figure = format_perplexity(math.log(perplexity), 4)
        epoch = f" after epoch {results['epoch']}" if "epoch" in results else ""
        lines.append(
            bold(f"Validation perplexity {format_perplexity(math.log(perplexity))}{epoch}")
        )
    lines.append(
        f"Saved in {model}" if options.arpa is None else f"Saved in {model} and {options.arpa}"
    )
    screen.result(report, lines, figure)
    samples, scores = (
        "{hashnlp} lm sample --model {path} --samples 5",
        "{hashnlp} lm score --model {path} FILE",
    )
    screen.next_step("generate sentences, or score some", samples, scores, path=model)


def _network_results(network: Any) -> tuple[str, dict[str, Any]]:
    """Return a summary, and the results of the last epoch, or of the best if it is kept."""
    history, stopping = network.history_, network.early_stopping
    epoch = history[-1] if history else {}
    if history and stopping and getattr(stopping, "restore_best", True):
        epoch = min(history, key=lambda entry: entry["valid_loss"])
    results = {name: epoch.get(name) for name in ("epoch", "train_perplexity", "valid_perplexity")}
    results |= {"n_parameters": network.n_parameters_, "history": history, "log": network.log_}
    return f"Trained {counted(len(history), 'epoch')}", results


def _count_results(counts: Any, valid: Any) -> tuple[str, dict[str, Any]]:
    """Return what was done, and the n-grams, the discounts and the perplexity."""
    perplexity = None if valid is None else counts.perplexity(valid)
    results = {
        "n_ngrams": counts.n_ngrams_,
        "discounts": counts.discounts_.tolist(),
        "valid_perplexity": perplexity,
    }
    return f"Counted {counted(sum(counts.n_ngrams_), 'n-gram')}", results
