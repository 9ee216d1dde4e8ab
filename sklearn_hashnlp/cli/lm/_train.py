"""``hashnlp lm train``: train a language model on a text file."""

# ruff: noqa: ARG001 - make_network and callbacks_of read the options from the context

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ComputeDevice, Device, Json, ModelFolder, Quiet, Seed, check_device
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.lm._network import callbacks_of, make_network
from sklearn_hashnlp.cli.lm._options import (
    Activation,
    Architecture,
    DirectConnections,
    Embedding,
    Init,
    Keep,
    ModelType,
    Optimizer,
    OutputLayer,
    Padding,
    Schedule,
    TreeKind,
)
from sklearn_hashnlp.cli.lm._train_counts import check_options, train_counts
from sklearn_hashnlp.cli.lm._training_results import show_results

if TYPE_CHECKING:
    from sklearn_hashnlp import HsigmoidLanguageModel


HELP = """\
Train a model that predicts the next word on a text file with one sentence per line, and save it.

\b
  hashnlp lm train train.txt --model lm
  hashnlp lm train train.txt -m lm --valid valid.txt --early-stopping
  hashnlp lm train train.txt -m lm --tree cluster --direct-connections hashed
  hashnlp lm train train.txt -m lm --checkpoint-dir checkpoints
  hashnlp lm train train.txt -m lm --checkpoint-dir checkpoints --resume
  hashnlp lm train train.txt -m lm --model-type kneser-ney

The network is a neural n-gram model: embeddings of the previous words, a hidden layer, and a hierarchical softmax, \
whose cost grows with the logarithm of the vocabulary size. The perplexity printed after every epoch is the number of \
equally probable words that would be as hard to predict; lower is better. When the perplexity on --valid no longer \
falls, the model overfits (--early-stopping stops there and keeps the weights of the best epoch).

--model-type kneser-ney counts n-grams instead, with modified Kneser-Ney smoothing: the usual model to compare with.

To lower the perplexity, try first: --tree cluster, --direct-connections hashed, a larger --hidden-size.

An existing model in DIR is replaced when training has finished; Ctrl-C keeps it. With --checkpoint-dir the model is \
also saved after every epoch, and after an interruption the same command with --resume continues.
"""

_NETWORK, _VOCABULARY, _TRAINING, _CHECKPOINTS = "Network", "Vocabulary", "Training", "Checkpoints"


@reporting_errors
def train(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Sentences, one per line, UTF-8; also .gz, .bz2, .xz, .zip.", show_default=False
        ),
    ],
    model: ModelFolder,
    valid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Validation sentences, scored after every epoch.", show_default=False),
    ] = None,
    model_type: Annotated[
        ModelType,
        typer.Option(
            help="network: a neural network. kneser-ney: n-gram counts with Kneser-Ney smoothing, in seconds; it has "
            "none of the options of network and training."
        ),
    ] = ModelType.network,
    order: Annotated[
        int,
        typer.Option(min=2, help="Length of the n-grams: context words and predicted word.", rich_help_panel=_NETWORK),
    ] = 5,
    embedding_dim: Annotated[int, typer.Option(min=1, help="Size of the word vectors.", rich_help_panel=_NETWORK)] = 64,
    hidden_size: Annotated[int, typer.Option(min=1, help="Size of the hidden layer.", rich_help_panel=_NETWORK)] = 256,
    output: Annotated[
        OutputLayer,
        typer.Option(
            help="hsigmoid: hierarchical softmax, fast for any vocabulary. softmax: full softmax, slow. adaptive: "
            "adaptive softmax, in between.",
            rich_help_panel=_NETWORK,
        ),
    ] = OutputLayer.hsigmoid,
    tree: Annotated[
        TreeKind,
        typer.Option(
            help="Tree of hsigmoid. cluster groups similar words; learned trains a small network first, and predicts "
            "best.",
            rich_help_panel=_NETWORK,
        ),
    ] = TreeKind.huffman,
    direct_connections: Annotated[
        DirectConnections,
        typer.Option(
            help="dense: the output layer also reads the word vectors. hashed: hashed n-gram features of the context "
            "(hsigmoid only).",
            rich_help_panel=_NETWORK,
        ),
    ] = DirectConnections.none,
    n_direct: Annotated[
        int,
        typer.Option(
            min=1, max=2**31 - 1, help="Number of weights of hashed direct connections.", rich_help_panel=_NETWORK
        ),
    ] = 2**22,
    arch: Annotated[
        Architecture,
        typer.Option(
            help="plain: one hidden layer. modern: residual blocks with layer normalization.",
            rich_help_panel=_NETWORK,
        ),
    ] = Architecture.plain,
    n_blocks: Annotated[
        int, typer.Option(min=1, help="Number of residual blocks of --arch modern.", rich_help_panel=_NETWORK)
    ] = 1,
    far_context: Annotated[
        int,
        typer.Option(
            min=0, help="Words before the n-gram that also count, as a bag of words.", rich_help_panel=_NETWORK
        ),
    ] = 0,
    across_sentences: Annotated[
        bool,
        typer.Option(
            "--across-sentences",
            help="Let --far-context reach into the sentences before: the file is one text in order.",
            rich_help_panel=_NETWORK,
        ),
    ] = False,
    tie_weights: Annotated[
        bool,
        typer.Option(
            "--tie-weights",
            help="Use the word vectors as the weights of the output layer (--output softmax only).",
            rich_help_panel=_NETWORK,
        ),
    ] = False,
    activation: Annotated[
        Activation, typer.Option(help="Activation function of the hidden layer.", rich_help_panel=_NETWORK)
    ] = Activation.tanh,
    init: Annotated[
        Init, typer.Option(help="Initialization of word vectors and hidden layer.", rich_help_panel=_NETWORK)
    ] = Init.default,
    embedding: Annotated[
        Embedding,
        typer.Option(
            help="table: a vector per word of the vocabulary. hash: hash embeddings, for unknown words, too. "
            "sgnn: from the characters of a word, for unknown words, too.",
            rich_help_panel=_NETWORK,
        ),
    ] = Embedding.table,
    lowercase: Annotated[
        bool,
        typer.Option(
            "--lowercase",
            help="Lowercase the sentences; the other commands then do so, too.",
            rich_help_panel=_VOCABULARY,
        ),
    ] = False,
    max_vocabulary: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum size of the vocabulary: less frequent words are <unk>.",
            show_default=False,
            rich_help_panel=_VOCABULARY,
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Words with fewer occurrences are <unk>.", rich_help_panel=_VOCABULARY)
    ] = 1,
    start_token: Annotated[
        str, typer.Option(metavar="TOKEN", help="Token of the start of a sentence.", rich_help_panel=_VOCABULARY)
    ] = "<s>",
    end_token: Annotated[
        str, typer.Option(metavar="TOKEN", help="Token of the end of a sentence.", rich_help_panel=_VOCABULARY)
    ] = "</s>",
    unknown_token: Annotated[
        str,
        typer.Option(
            metavar="TOKEN", help="Token of unknown words; also where FILE has it already.", rich_help_panel=_VOCABULARY
        ),
    ] = "<unk>",
    min_ngram_counts: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="kneser-ney: the occurrences that n-grams of 1, 2, ... words need, such as 1,1,2. Default: 1.",
            show_default=False,
            rich_help_panel=_VOCABULARY,
        ),
    ] = None,
    arpa: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="kneser-ney: save the model in the ARPA format of KenLM and SRILM, too; .gz, .bz2 or .xz compresses.",
            show_default=False,
        ),
    ] = None,
    padding: Annotated[
        Padding,
        typer.Option(
            help="full: predict every word. reference: only words with a whole context before them.",
            rich_help_panel=_VOCABULARY,
        ),
    ] = Padding.full,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of epochs. Default: auto, 5.", show_default=False, rich_help_panel=_TRAINING),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Words per batch. Default: auto, 32 to 512 by the size of the text.",
            show_default=False,
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    optimizer: Annotated[
        Optimizer,
        typer.Option(help="Optimizer.", rich_help_panel=_TRAINING),
    ] = Optimizer.adagrad,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Learning rate; lower it if training diverges. Default: auto, 0.5 for adagrad, 0.002 for adam, a "
            "quarter of the batch size's square root for sgd.",
            show_default=False,
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    bias_learning_rate: Annotated[
        float,
        typer.Option(
            min=0.0, help="Factor of the learning rate for the bias of the hidden layer.", rich_help_panel=_TRAINING
        ),
    ] = 1.0,
    direct_learning_rate: Annotated[
        float,
        typer.Option(
            min=0.0, help="Factor of the learning rate for hashed direct connections.", rich_help_panel=_TRAINING
        ),
    ] = 1.0,
    schedule: Annotated[
        Schedule, typer.Option(help="linear: the learning rate decays to 0.", rich_help_panel=_TRAINING)
    ] = Schedule.linear,
    warmup_steps: Annotated[
        int,
        typer.Option(min=0, help="Steps over which the learning rate rises at first.", rich_help_panel=_TRAINING),
    ] = 100,
    weight_decay: Annotated[
        float, typer.Option(min=0.0, help="Decoupled weight decay, not of biases.", rich_help_panel=_TRAINING)
    ] = 0.0,
    max_grad_norm: Annotated[
        float,
        typer.Option(
            min=0.0, help="Clip the norm of all gradients together; 0: do not clip.", rich_help_panel=_TRAINING
        ),
    ] = 0.5,
    dropout: Annotated[
        float,
        typer.Option(min=0.0, max=0.99, help="Dropout rate of the hidden layer.", rich_help_panel=_TRAINING),
    ] = 0.35,
    embedding_dropout: Annotated[
        float, typer.Option(min=0.0, max=0.99, help="Dropout rate of the word vectors.", rich_help_panel=_TRAINING)
    ] = 0.1,
    word_dropout: Annotated[
        float,
        typer.Option(min=0.0, max=0.99, help="Dropout rate of whole words of the window.", rich_help_panel=_TRAINING),
    ] = 0.0,
    early_stopping: Annotated[
        bool,
        typer.Option(
            "--early-stopping",
            help="Stop when the validation perplexity no longer falls, and keep the weights of the best epoch.",
            rich_help_panel=_TRAINING,
        ),
    ] = False,
    patience: Annotated[
        int,
        typer.Option(
            min=1, help="Epochs without improvement before --early-stopping stops.", rich_help_panel=_TRAINING
        ),
    ] = 2,
    validation_fraction: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="Fraction of FILE used for validation by --early-stopping without --valid.",
            rich_help_panel=_TRAINING,
        ),
    ] = 0.1,
    max_time: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="SECONDS", help="Maximum training time.", show_default=False, rich_help_panel=_TRAINING
        ),
    ] = None,
    log_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="STEPS",
            help="Print training and validation perplexity every STEPS steps.",
            show_default=False,
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    checkpoint_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to save the model in after every epoch, as epoch-00001, epoch-00002, ...",
            show_default=False,
            rich_help_panel=_CHECKPOINTS,
        ),
    ] = None,
    keep: Annotated[
        Keep, typer.Option(help="Epochs to keep there besides the last.", rich_help_panel=_CHECKPOINTS)
    ] = Keep.best,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue the training in --checkpoint-dir, if there is one.",
            rich_help_panel=_CHECKPOINTS,
        ),
    ] = False,
    seed: Seed = 0,
    device: ComputeDevice = Device.cpu,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a language model; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    check_options(context, counts=model_type is ModelType.kneser_ney)
    if resume and checkpoint_dir is None:
        raise typer.BadParameter("--resume needs --checkpoint-dir.")
    if direct_connections is DirectConnections.hashed and output is not OutputLayer.hsigmoid:
        raise typer.BadParameter(f"--direct-connections hashed needs --output hsigmoid, not {output.value}.")
    if tie_weights and output is not OutputLayer.softmax:
        raise typer.BadParameter(f"--tie-weights needs --output softmax, not {output.value}.")
    if across_sentences and far_context == 0:
        raise typer.BadParameter("--across-sentences needs --far-context, the number of words that it adds.")
    if n_blocks > 1 and arch is not Architecture.modern:
        raise typer.BadParameter(f"--n-blocks {n_blocks} needs --arch modern, not {arch.value}.")
    for name, value in (
        ("--learning-rate", learning_rate),
        ("--bias-learning-rate", bias_learning_rate),
        ("--direct-learning-rate", direct_learning_rate),
        ("--validation-fraction", validation_fraction),
        ("--max-time", max_time),
    ):
        if value == 0:
            raise typer.BadParameter(f"{name} must be greater than 0.")
    from sklearn_hashnlp.cli.lm._loading import check_no_checkpoints, check_sentences

    check_sentences(data)
    if valid is not None:
        check_sentences(valid)
    if model_type is ModelType.kneser_ney:
        train_counts(
            screen,
            data,
            model,
            valid=valid,
            order=order,
            lowercase=lowercase,
            max_vocabulary=max_vocabulary,
            min_count=min_count,
            special_tokens=(start_token, end_token, unknown_token),
            min_ngram_counts=min_ngram_counts,
            arpa=arpa,
        )
        return
    check_device(device)
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_replaceable(model)
    if checkpoint_dir is not None and not resume:
        check_no_checkpoints(checkpoint_dir)
    language_model, callbacks = make_network(context.params), callbacks_of(context.params)
    started = clock()
    try:
        _fit(screen, language_model, callbacks, data, valid, lowercase=lowercase)
    except KeyboardInterrupt:
        if checkpoint_dir is not None:
            screen.note(f"Finished epochs are saved in {checkpoint_dir}; --resume continues from there.")
        raise
    seconds = clock() - started
    save_model(language_model, model)
    show_results(screen, language_model, model, seconds)


def _fit(
    screen: Screen,
    language_model: HsigmoidLanguageModel,
    callbacks: list[Any],
    data: Path,
    valid: Path | None,
    *,
    lowercase: bool,
) -> None:
    """Fit with a progress bar."""
    from sklearn_hashnlp.cli.lm._loading import sentence_reader
    from sklearn_hashnlp.training._callbacks import LanguageProgress

    try:
        with screen.progress() as progress:
            task = progress.add_task("Reading", total=None)

            def update(done: int, total: int, text: str) -> None:
                progress.update(task, completed=done, total=total, description=text)

            language_model.set_params(callbacks=[*callbacks, LanguageProgress(screen.note, update)])
            X_valid = None if valid is None else sentence_reader(valid, lowercase=lowercase)
            language_model.fit(sentence_reader(data, lowercase=lowercase), X_valid=X_valid)
    finally:
        language_model.set_params(callbacks=None)  # not saved with the model
