"""The results of ``hashnlp lm train`` for a network, on the screen or as JSON."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli._screen import Screen, command_name, counted

if TYPE_CHECKING:
    from sklearn_hashnlp.language import HsigmoidLanguageModel


def show_results(screen: Screen, language_model: HsigmoidLanguageModel, model: Path, seconds: float) -> None:
    """Print the size and the perplexity of the model."""
    from sklearn_hashnlp.training._callbacks import format_perplexity

    history = language_model.history_
    epoch = history[-1] if history else {}
    if language_model.early_stopping:
        epoch = min(history, key=lambda entry: entry["valid_loss"])
    n_words = len(language_model.vocabulary_)
    if screen.as_json:
        report: dict[str, Any] = {
            "model": str(model),
            "n_words": n_words,
            "n_parameters": language_model.n_parameters_,
            "seconds": round(seconds, 3),
            "epoch": epoch.get("epoch"),
            "train_perplexity": epoch.get("train_perplexity"),
            "valid_perplexity": epoch.get("valid_perplexity"),
            "history": history,
            "log": language_model.log_,
        }
        screen.show_json(report)
        return
    if screen.quiet:
        if "valid_perplexity" in epoch:  # requested by --valid
            print(format_perplexity(epoch["valid_loss"], 4))
        return
    screen.show(
        f"Trained {counted(len(history), 'epoch')} with a vocabulary of {counted(n_words, 'word')} in {seconds:.1f} s"
    )
    if "valid_perplexity" in epoch:
        perplexity = format_perplexity(epoch["valid_loss"])
        screen.show(f"Validation perplexity {perplexity} after epoch {epoch['epoch']}", style="bold")
    screen.show(f"Saved in {model}")
    command, folder = command_name(), shlex.quote(str(model))
    screen.note("\nNext, generate sentences, or score some:")
    screen.note(f"  {command} lm sample --model {folder} --samples 5", style="bold")
    screen.note(f"  {command} lm score --model {folder} FILE", style="bold")
