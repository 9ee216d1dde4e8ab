"""Rows of tables of language models: networks with a learned tree, models and mixtures scored on three texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.runner.recipe import Result, Run

if TYPE_CHECKING:
    from sklearn_hashnlp.language import HsigmoidLanguageModel


class Texts(NamedTuple):
    """Sentences to train on, to choose by, and to test on."""

    train: list[str]
    valid: list[str]
    test: list[str]


def train_network(
    settings: Any,  # of a recipe
    run: Run,
    texts: Texts,
    vocabulary: dict[str, int],
) -> HsigmoidLanguageModel:
    """Train a network with hashed direct connections, whose tree a small network may learn before."""
    from sklearn_hashnlp.language import HsigmoidLanguageModel
    from sklearn_hashnlp.training._callbacks import LanguageProgress

    tree: Any = settings.tree
    if settings.tree == "learned":
        first = HsigmoidLanguageModel(
            order=settings.order,
            embedding_dim=min(64, settings.embedding_dim),
            hidden_size=min(256, settings.hidden_size),
            tree="cluster",
            dropout=0.3,
            embedding_dropout=0.1,
            vocabulary=vocabulary,
            learning_rate=0.5,
            warmup_steps=0,
            max_grad_norm=None,
            max_epochs=settings.tree_epochs,
            batch_size=settings.batch_size,
            random_state=run.seed,
        )
        tree = first.fit(texts.train).learned_tree(texts.train)
    model = HsigmoidLanguageModel(
        order=settings.order,
        embedding_dim=settings.embedding_dim,
        hidden_size=settings.hidden_size,
        tree=tree,
        direct_connections="hashed",
        n_direct=settings.n_direct,
        far_context=settings.far_context,
        across_sentences=True,
        dropout=settings.dropout,
        embedding_dropout=settings.embedding_dropout,
        vocabulary=vocabulary,
        learning_rate=settings.learning_rate,
        direct_learning_rate=settings.direct_learning_rate,
        warmup_steps=0,
        max_grad_norm=None,
        max_epochs=settings.epochs,
        batch_size=settings.batch_size,
        early_stopping=True,
        n_iter_no_change=None,
        checkpoint_dir=run.folder / "checkpoints",
        resume=True,
        callbacks=[LanguageProgress(run.log, lambda done, total, _text: run.progress(done, total))],
        random_state=run.seed,
    )
    return model.fit(texts.train, X_valid=texts.valid)


def score_row(names: tuple[str, ...], model: Any, texts: Texts, seconds: float, run: Run) -> Result:
    """Score the validation and the test text by one model or mixture."""
    result = {
        "part": "model",
        "models": list(names),
        "weights": model.weights_.tolist(),
        "valid_perplexity": model.perplexity(texts.valid),
        "test_perplexity": model.perplexity(texts.test),
        "n_words": len(model._windows(texts.test)),
        "n_vocabulary": len(model.vocabulary_) - 1,
        "seconds": round(seconds, 3),
    }
    run.log(f"{' + '.join(names)}: {result['valid_perplexity']:.1f} valid, {result['test_perplexity']:.1f} test")
    return result


def format_weights(weights: list[Any]) -> str:
    """Format the weights of a mixture."""
    if isinstance(weights[0], list):
        return f"in {len(weights)} bins"
    return "" if len(weights) == 1 else ", ".join(f"{weight:.2f}" for weight in weights)
