"""``hashnlp lm train --model-type kneser-ney``: a language model that counts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.cli._screen import Screen, command_name, counted

if TYPE_CHECKING:
    from sklearn_hashnlp import KneserNeyLanguageModel

_OPTIONS_OF_COUNTS = frozenset({"min_ngram_counts", "arpa"})
_OPTIONS = _OPTIONS_OF_COUNTS | {  # and those that both types of model have
    *("data", "model", "model_type", "valid", "order", "lowercase", "max_vocabulary", "min_count", "seed"),
    *("start_token", "end_token", "unknown_token", "as_json", "quiet", "debug"),
}


def check_options(context: typer.Context, *, counts: bool) -> None:
    """Raise an error for an option on the command line that the type of model does not have."""
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        if counts and name not in _OPTIONS:
            raise typer.BadParameter(f"--model-type kneser-ney has no {max(parameter.opts, key=len)}.")
        if not counts and name in _OPTIONS_OF_COUNTS:
            raise typer.BadParameter(f"{max(parameter.opts, key=len)} needs --model-type kneser-ney.")


def train_counts(
    screen: Screen,
    data: Path,
    model: Path,
    *,
    valid: Path | None,
    order: int,
    lowercase: bool,
    max_vocabulary: int | None,
    min_count: int,
    special_tokens: tuple[str, str, str],
    min_ngram_counts: str | None,
    arpa: Path | None,
) -> None:
    """Train and save a model on files that have been checked."""
    from sklearn_hashnlp.cli.lm._loading import sentence_reader
    from sklearn_hashnlp.language import KneserNeyLanguageModel
    from sklearn_hashnlp.language._arpa import check_arpa_path
    from sklearn_hashnlp.persistence import save_model
    from sklearn_hashnlp.persistence._model_folder import check_replaceable

    check_replaceable(model)
    if arpa is not None and (model.is_dir() or model not in arpa.parents):  # the folder of a new model is still missing
        check_arpa_path(arpa)
    language_model = KneserNeyLanguageModel(
        order=order,
        min_ngram_counts=_parse_counts(min_ngram_counts),
        max_features=max_vocabulary,
        min_count=min_count,
        special_tokens=special_tokens,
    )
    started = clock()
    with screen.progress() as progress:
        progress.add_task("Counting n-grams", total=None)
        language_model.fit(sentence_reader(data, lowercase=lowercase))
        seconds = clock() - started
        save_model(language_model, model)
        if arpa is not None:
            language_model.save_arpa(arpa)
        valid_perplexity = (
            None if valid is None else language_model.perplexity(sentence_reader(valid, lowercase=lowercase))
        )
    _show_results(screen, language_model, model, arpa, seconds, valid_perplexity)


def _parse_counts(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(count) for count in text.replace(",", " ").split()]
    except ValueError:
        raise typer.BadParameter(f"--min-ngram-counts takes numbers such as 1,1,2, got {text!r}.") from None


def _show_results(
    screen: Screen,
    language_model: KneserNeyLanguageModel,
    model: Path,
    arpa: Path | None,
    seconds: float,
    valid_perplexity: float | None,
) -> None:
    n_words, n_ngrams = len(language_model.vocabulary_), language_model.n_ngrams_
    if screen.as_json:
        screen.show_json(
            {
                "model": str(model),
                "n_words": n_words,
                "n_ngrams": n_ngrams,
                "discounts": language_model.discounts_.tolist(),
                "seconds": round(seconds, 3),
                "valid_perplexity": valid_perplexity,
            }
        )
        return
    if screen.quiet:
        if valid_perplexity is not None:  # requested by --valid
            print(f"{valid_perplexity:.4f}")
        return
    screen.show(
        f"Counted {counted(sum(n_ngrams), 'n-gram')} with a vocabulary of {counted(n_words, 'word')} in {seconds:.1f} s"
    )
    if valid_perplexity is not None:
        screen.show(f"Validation perplexity {valid_perplexity:.2f}", style="bold")
    screen.show(f"Saved in {model}" + ("" if arpa is None else f" and {arpa}"))
    command, folder = command_name(), shlex.quote(str(model))
    screen.note("\nNext, generate sentences, or score some:")
    screen.note(f"  {command} lm sample --model {folder} --samples 5", style="bold")
    screen.note(f"  {command} lm score --model {folder} FILE", style="bold")
