"""``hashnlp lm mix``: mix language models, with weights learned on validation text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LineOptions, ModelFolder
from sklearn_hashnlp.cli._screen import Screen, plain_table
from sklearn_hashnlp.cli.lm._load_language_model import (
    Lowercase,
    check_sentences,
    load_language_model,
    sentence_reader,
)

if TYPE_CHECKING:
    pass


@reporting_errors
def mix(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of the models to mix, or ARPA files."),
    ],
    model: ModelFolder,
    reading: LineOptions,
    screen: Screen,
    valid: Annotated[
        Path, typer.Option(metavar="FILE", help="Validation sentences, one per line.")
    ],
) -> None:
    """Mix language models: the weighted sum of their probabilities, with the best weights on a
    validation file.

      hashnlp lm mix network counts --valid valid.txt --model mixed
      hashnlp lm score --model mixed test.txt --perplexity

    The models are folders of hashnlp lm train with the same vocabulary; their training must not
    have used the validation file, but for --valid. Printed are the weight of each model and its
    perplexity on the validation file.

    The folder of the mixture holds all models, and is a model for every other command.
    """
    from sklearn_hashnlp.language import InterpolatedLanguageModel
    from sklearn_hashnlp.persistence import save_model

    check_sentences(valid, reading)
    save_model(None, model, dry_run=True)
    members = [load_language_model(folder) for folder in models]
    lowercase = Lowercase(screen, members[0])
    sentences = [lowercase(line) for line in sentence_reader(valid, reading)()]
    mixture = InterpolatedLanguageModel(members, prefit=True).fit(X_valid=sentences)
    save_model(mixture, model)
    perplexity = mixture.perplexity(sentences)
    table = plain_table("model", ">weight", ">perplexity")
    rows = []
    for folder, member, weight in zip(models, members, mixture.weights_.tolist(), strict=True):
        alone = member.perplexity(sentences)
        rows.append({"model": str(folder), "weight": weight, "valid_perplexity": alone})
        table.add_row(str(folder), f"{weight:.3f}", f"{alone:.2f}")
    table.add_row("mixture", "", f"{perplexity:.2f}", style="bold")
    report = {"model": str(model), "models": rows, "valid_perplexity": perplexity}
    screen.result(report, [table, f"Saved in {model}"], f"{perplexity:.4f}")
    command = "{hashnlp} lm score --model {path} FILE --perplexity"
    screen.next_step("compute its perplexity on test sentences", command, path=model)
