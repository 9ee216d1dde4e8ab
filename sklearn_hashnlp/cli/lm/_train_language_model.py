"""``hashnlp lm train``: train a language model on a text file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions, ModelFolder, OptionGroup
from sklearn_hashnlp.cli._parameters import Bundles, Training, check_parameters, parameters_option, set_parameters
from sklearn_hashnlp.cli._screen import Screen, bold, counted, format_perplexity
from sklearn_hashnlp.cli.lm._lm_options import SentenceFile

HELP = """\
Train a model that predicts the next word on a text file with one sentence per line, and save it.

\b
  hashnlp lm train train.txt --model lm
  hashnlp lm train train.txt -m lm --valid valid.txt \\
      --set early_stopping=valid_loss
  hashnlp lm train train.txt -m lm --set tree=cluster \\
      --set direct_connections=hashed --set hidden_size=512
  hashnlp lm train train.txt -m lm --set regularization__dropout=0.5
  hashnlp lm train train.txt -m lm --set max_features=10000 --lowercase
  hashnlp lm train train.txt -m lm --checkpoint-dir checkpoints
  hashnlp lm train train.txt -m lm --checkpoint-dir checkpoints --resume
  hashnlp lm train train.txt -m lm --model-type kneser-ney
  hashnlp lm train --parameters

The network is a neural n-gram model: embeddings of the previous words, a hidden layer, and a hierarchical softmax; \
the time per word grows with the logarithm of the vocabulary size. It is an HsigmoidLanguageModel: --set NAME=VALUE \
sets any of its parameters, and --parameters lists them; values are checked before FILE is read.

The perplexity printed after every epoch is the number of equally probable words that would be as hard to predict; \
lower is better. When the perplexity on --valid no longer falls, the model overfits: --set early_stopping=valid_loss \
stops there and keeps the weights of the best epoch, --set early_stopping__patience=3 after three epochs without \
improvement. To lower the perplexity, try first: --set tree=cluster, --set direct_connections=hashed, a larger --set \
hidden_size=512.

--model-type kneser-ney counts n-grams instead, with modified Kneser-Ney smoothing: the usual baseline. It is a \
KneserNeyLanguageModel: --set min_ngram_counts=1,1,2 drops rare n-grams.

An existing model in DIR is replaced when training has finished; Ctrl-C keeps it. With --checkpoint-dir the model is \
also saved after every epoch, and after an interruption the same command with --resume continues.
"""


@dataclass(frozen=True)
class LanguageOptions(OptionGroup):
    """The options of the command that no other has."""

    valid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Validation sentences, scored after every epoch.")
    ] = None
    model_type: Annotated[
        Literal["network", "kneser-ney"],
        typer.Option(help="network: a neural network. kneser-ney: n-gram counts, in seconds."),
    ] = "network"
    order: Annotated[int, typer.Option(min=2, help="Length of the n-grams: context words and predicted word.")] = 5
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Lowercase the sentences; the other commands then do so, too.")
    ] = False
    max_time: Annotated[float | None, typer.Option(metavar="SECONDS", help="Maximum training time.")] = None
    log_every: Annotated[
        int | None, typer.Option(min=1, metavar="STEPS", help="Print perplexities every STEPS steps of an epoch.")
    ] = None
    checkpoint_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for a checkpoint after every epoch: epoch-00001, ... The last and the best are kept.",
        ),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the training in --checkpoint-dir, if there is one.")
    ] = False
    arpa: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="kneser-ney: save the model in the ARPA format of KenLM and SRILM, too; .gz, .bz2 or .xz compresses.",
        ),
    ] = None

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

    stopping = EarlyStopping("valid_loss", patience=2, validation_fraction=0.1)  # of early_stopping="valid_loss"
    return {"early_stopping": stopping, "regularization": Regularization(), "schedule": LanguageSchedule()}


@reporting_errors
def train(
    data: SentenceFile,
    model: ModelFolder,
    options: LanguageOptions,
    training: Training,
    reading: LineOptions,
    screen: Screen,
    parameters: Annotated[bool, parameters_option(_models)] = False,  # noqa: ARG001 - its callback prints and exits
) -> None:
    """Train a language model; the parameters are the options of the command."""
    counts = options.model_type == "kneser-ney"
    if counts:
        of_networks = ("max_time", "log_every", "checkpoint_dir", "resume")
        training.refuse("--model-type kneser-ney", **{name: getattr(options, name) for name in of_networks})
    if options.arpa is not None and not counts:
        raise typer.BadParameter("--arpa needs --model-type kneser-ney.")
    from sklearn_hashnlp.cli.lm._load_language_model import check_sentences, sentence_reader
    from sklearn_hashnlp.persistence import save_model

    language_model: Any
    if counts:
        from sklearn_hashnlp.language import KneserNeyLanguageModel

        language_model = KneserNeyLanguageModel(order=options.order)
        set_parameters(language_model, training.settings or [], {})
    else:
        from sklearn_hashnlp.language import HsigmoidLanguageModel

        language_model = HsigmoidLanguageModel(order=options.order, resume=options.resume)
        folder = None if options.checkpoint_dir is None else str(options.checkpoint_dir)
        training.configure(language_model, _bundles(), checkpoint_dir=folder, callbacks=options.callbacks())
    check_parameters(language_model)
    for path in (data, options.valid):
        if path is not None:
            check_sentences(path, reading)
    save_model(None, model, dry_run=True)

    def read(path: Path) -> Callable[[], Iterator[str]]:
        return sentence_reader(path, reading, lowercase=options.lowercase)

    sentences, valid = read(data), None if options.valid is None else read(options.valid)
    if counts:
        _train_counts(screen, language_model, sentences, valid, model, options.arpa)
    else:
        _train_network(screen, language_model, sentences, valid, model)
    samples, scores = "{hashnlp} lm sample --model {path} --samples 5", "{hashnlp} lm score --model {path} FILE"
    screen.next_step("generate sentences, or score some", samples, scores, path=model)


def _train_network(screen: Screen, network: Any, sentences: Any, valid: Any, model: Path) -> None:
    """Train a network with a progress bar, save it, and show its figures."""
    from sklearn_hashnlp.cli._progress import shown_training
    from sklearn_hashnlp.persistence import save_model

    checkpoints = network.checkpoint_dir
    folder = checkpoints[0] if isinstance(checkpoints, tuple | list) else checkpoints
    if folder is not None and not network.resume:
        _check_no_checkpoints(Path(folder))
    started = perf_counter()
    try:
        with shown_training(screen, network, "Reading", perplexity=True):
            network.fit(sentences, X_valid=valid)
    except KeyboardInterrupt:
        if folder is not None:
            screen.note(f"Finished epochs are saved in {folder}; --resume continues from there.")
        raise
    seconds = perf_counter() - started
    save_model(network, model)
    history, stopping = network.history_, network.early_stopping
    epoch = history[-1] if history else {}
    if history and stopping and getattr(stopping, "restore_best", True):
        epoch = min(history, key=lambda entry: entry["valid_loss"])
    n_words = len(network.vocabulary_)
    report: dict[str, Any] = {
        "model": str(model),
        "n_words": n_words,
        "n_parameters": network.n_parameters_,
        "seconds": round(seconds, 3),
        **{name: epoch.get(name) for name in ("epoch", "train_perplexity", "valid_perplexity")},
        "history": history,
        "log": network.log_,
    }
    trained = f"Trained {counted(len(history), 'epoch')} with a vocabulary of {counted(n_words, 'word')}"
    lines: list[Any] = [f"{trained} in {seconds:.1f} s"]
    figure = None
    if "valid_perplexity" in epoch:
        perplexity, figure = (format_perplexity(epoch["valid_loss"], n_digits) for n_digits in (2, 4))
        lines.append(bold(f"Validation perplexity {perplexity} after epoch {epoch['epoch']}"))
    screen.result(report, [*lines, f"Saved in {model}"], figure)


def _check_no_checkpoints(folder: Path) -> None:
    """Raise an error for a checkpoint folder of an earlier training, before the sentences are read."""
    epochs = sorted(folder.glob("epoch-*"))
    if epochs:
        raise FileExistsError(
            f"{folder} contains {epochs[0].name} of an earlier training; use --resume to continue it, or another "
            "--checkpoint-dir."
        )


def _train_counts(screen: Screen, counts: Any, sentences: Any, valid: Any, model: Path, arpa: Path | None) -> None:
    """Count n-grams, save the model and its ARPA file, and show its figures."""
    from sklearn_hashnlp.persistence import save_model

    started, perplexity = perf_counter(), None
    with screen.bar("Counting n-grams"):
        counts.fit(sentences)
        seconds = perf_counter() - started
        if arpa is not None and model not in arpa.parents:  # or else in the folder of the model, which may be new
            counts.save_arpa(arpa)
        save_model(counts, model)
        if arpa is not None and model in arpa.parents:
            counts.save_arpa(arpa)
        if valid is not None:
            perplexity = counts.perplexity(valid)
    n_words, n_ngrams = len(counts.vocabulary_), counts.n_ngrams_
    report = {
        "model": str(model),
        "n_words": n_words,
        "n_ngrams": n_ngrams,
        "discounts": counts.discounts_.tolist(),
        "seconds": round(seconds, 3),
        "valid_perplexity": perplexity,
    }
    total = f"{counted(sum(n_ngrams), 'n-gram')} with a vocabulary of {counted(n_words, 'word')}"
    lines: list[Any] = [f"Counted {total} in {seconds:.1f} s"]
    if perplexity is not None:
        lines.append(bold(f"Validation perplexity {perplexity:.2f}"))
    lines.append(f"Saved in {model}" if arpa is None else f"Saved in {model} and {arpa}")
    screen.result(report, lines, None if perplexity is None else f"{perplexity:.4f}")
