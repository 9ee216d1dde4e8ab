"""``hashnlp lm mix``: mix language models, with weights learned on validation text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions, ModelFolder
from sklearn_hashnlp.cli._screen import Screen, plain_table

if TYPE_CHECKING:
    from sklearn_hashnlp import InterpolatedLanguageModel


HELP = """\
Mix language models: the weighted sum of their probabilities, with the best weights on a validation file.

\b
  hashnlp lm mix network counts --valid valid.txt --model mixed
  hashnlp lm mix network counts --valid valid.txt -m mixed \\
      --train train.txt --cache 1000
  hashnlp lm score --model mixed test.txt --perplexity

The models are folders of hashnlp lm train with the same vocabulary; their training must not have used the validation \
file, but for --valid. --cache N adds a model that predicts the N most recent words again. --bins learns other weights \
for contexts that are frequent in the training text than for rare ones. Printed are the weight of each model and its \
perplexity on the validation file.

The folder of the mixture holds all models, and is a model for every other command.
"""


@reporting_errors
def mix(
    models: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of the models to mix, or ARPA files.")
    ],
    model: ModelFolder,
    reading: LineOptions,
    screen: Screen,
    valid: Annotated[Path, typer.Option(metavar="FILE", help="Validation sentences, one per line.")],
    train: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Training sentences, for --cache and --bins.")
    ] = None,
    cache: Annotated[
        int | None, typer.Option("--cache", metavar="N", min=1, help="Add a cache of the N most recent words.")
    ] = None,
    bins: Annotated[bool, typer.Option("--bins", help="Learn weights by the frequency of contexts.")] = False,
    context_length: Annotated[
        int | None, typer.Option(min=1, max=8, help="Words of these contexts. Default: 2.")
    ] = None,
) -> None:
    """Mix language models; the parameters are the options of the command."""
    if train is None and (cache is not None or bins):
        raise typer.BadParameter(f"{'--bins' if bins else '--cache'} needs --train, the sentences of the training.")
    if train is not None and cache is None and not bins:
        raise typer.BadParameter("--train needs --cache or --bins, which read the training sentences.")
    if context_length is not None and not bins:
        raise typer.BadParameter("--context-length is the length of the contexts of --bins; add --bins.")
    from sklearn_hashnlp.cli.lm._load_language_model import (
        Lowercase,
        check_sentences,
        load_language_model,
        sentence_reader,
    )
    from sklearn_hashnlp.persistence import save_model

    for path in (valid, train):
        if path is not None:
            check_sentences(path, reading)
    save_model(None, model, dry_run=True)
    from sklearn_hashnlp import CacheLanguageModel, InterpolatedLanguageModel

    members: list[Any] = [load_language_model(folder) for folder in models]
    names = [str(folder) for folder in models]
    lowercase = Lowercase(screen, members[0])
    train_sentences = None if train is None else [lowercase(line) for line in sentence_reader(train, reading)()]
    valid_sentences = [lowercase(line) for line in sentence_reader(valid, reading)()]
    if cache is not None:
        recent = CacheLanguageModel(
            cache_size=cache,
            vocabulary=members[0].vocabulary_,
            special_tokens=members[0].special_tokens_,
        )
        members.append(recent.fit(train_sentences))
        names.append("cache")
    mixture = InterpolatedLanguageModel(
        members, frequency_bins=bins, context_length=2 if context_length is None else context_length, prefit=True
    )
    mixture.fit(train_sentences if bins else None, X_valid=valid_sentences)
    save_model(mixture, model)
    _show_results(screen, mixture, names, valid_sentences, model)


def _show_results(
    screen: Screen, mixture: InterpolatedLanguageModel, names: list[str], valid: list[str], folder: Path
) -> None:
    """Print the weight and the perplexity of each model, and the perplexity of the mixture."""
    weights = mixture.weights_.reshape(-1, len(names)).mean(axis=0).tolist()  # of the bins
    perplexities = [one.perplexity(valid) for one in mixture.models_]
    perplexity = mixture.perplexity(valid)
    table = plain_table("model", ">weight", ">perplexity")
    rows = []
    for name, weight, alone in zip(names, weights, perplexities, strict=True):
        rows.append({"model": name, "weight": weight, "valid_perplexity": alone})
        table.add_row(name, f"{weight:.3f}", f"{alone:.2f}")
    table.add_row("mixture", "", f"{perplexity:.2f}", style="bold")
    report = {"model": str(folder), "models": rows, "valid_perplexity": perplexity}
    screen.result(report, [table, f"Saved in {folder}"], f"{perplexity:.4f}")
    command = "{hashnlp} lm score --model {path} FILE --perplexity"
    screen.next_step("compute its perplexity on test sentences", command, path=folder)
