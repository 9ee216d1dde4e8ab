"""Rows of language-model tables: networks with a learned tree, models, mixtures on three texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from benchmarks.runner.recipe import Result, Run, report_epochs
from benchmarks.runner.settings import same_settings, setting
from benchmarks.runner.table import Table, without_column

if TYPE_CHECKING:
    from sklearn_hashnlp.language import HsigmoidLanguageModel


class Texts(NamedTuple):
    """Sentences to train on, to choose by, and to test on."""

    train: list[str]
    valid: list[str]
    test: list[str]


@dataclass(frozen=True)
class NetworkSettings:
    """Settings of the network, chosen on the validation text of the Penn Treebank."""

    order: int = setting(5, "words of an n-gram: the context and the predicted word")
    embedding_dim: int = setting(128, "embedding dimension of the network")
    hidden_size: int = setting(400, "hidden size of the network")
    dropout: float = setting(0.5, "dropout probability of the hidden layer")
    embedding_dropout: float = setting(0.2, "dropout probability of the embeddings")
    n_direct: int = setting(2**24, "size of the table of hashed direct connections")
    far_context: int = setting(
        64, "words before the n-gram, also of earlier sentences, as a bag of words; 0: none"
    )
    epochs: int = setting(6, "epochs of the network; the best on the validation text is restored")
    batch_size: int = setting(512, "batch size, in predicted words")
    learning_rate: float = setting(0.3, "learning rate")
    direct_learning_rate: float = setting(
        4.0, "factor of the learning rate of hashed direct connections"
    )
    tree: Literal["learned", "cluster", "huffman"] = setting(
        "learned",
        "tree of the hierarchical softmax: learned by a small network before, or cluster, or "
        "huffman",
    )
    tree_epochs: int = setting(2, "epochs of the small network that the tree is learned from")


def train_network(
    settings: NetworkSettings,
    run: Run,
    texts: Texts,
    vocabulary: dict[str, int],
) -> HsigmoidLanguageModel:
    """Train a network with hashed direct connections; a small network may learn its tree first."""
    from sklearn_hashnlp.language import HsigmoidLanguageModel, LanguageSchedule, Regularization
    from sklearn_hashnlp.training import EarlyStopping

    tree: Any = settings.tree
    if settings.tree == "learned":
        first = HsigmoidLanguageModel(
            order=settings.order,
            embedding_dim=min(64, settings.embedding_dim),
            hidden_size=min(256, settings.hidden_size),
            tree="cluster",
            vocabulary=vocabulary,
            regularization=Regularization(0.3, 0.1, max_grad_norm=None),
            learning_rate=0.5,
            schedule=LanguageSchedule(warmup_steps=0),
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
        direct_connections=("hashed", settings.n_direct),
        far_context=settings.far_context,
        across_sentences=True,
        vocabulary=vocabulary,
        regularization=Regularization(
            settings.dropout, settings.embedding_dropout, max_grad_norm=None
        ),
        learning_rate=settings.learning_rate,
        schedule=LanguageSchedule(
            warmup_steps=0, direct_learning_rate=settings.direct_learning_rate
        ),
        max_epochs=settings.epochs,
        batch_size=settings.batch_size,
        early_stopping=EarlyStopping("valid_loss", patience=None),
        checkpoint_dir=run.folder / "checkpoints",
        resume=True,
        callbacks=[report_epochs(run)],
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
    run.log(
        f"{' + '.join(names)}: {result['valid_perplexity']:.1f} valid, "
        f"{result['test_perplexity']:.1f} test"
    )
    return result


def mixture_table(
    title: str,
    results: Sequence[Result],
    published: Mapping[Any, str],
    *,
    notes: Sequence[str],
    default: Any,
    text_settings: Sequence[str],  # published figures are of one text
) -> Table:
    """Make the table of models and mixtures, with published figures on the same text only."""
    per_token = "test_perplexity_per_token" in results[0]
    header = [
        "model",
        "seed",
        "weights",
        "validation perplexity",
        "test",
        *["test, per token"] * per_token,
        "published",
    ]
    rows = [
        [
            " + ".join(result["models"]),
            str(result["seed"]),
            format_weights(result["weights"]),
            f"{result['valid_perplexity']:.1f}",
            f"{result['test_perplexity']:.1f}",
            *([f"{result['test_perplexity_per_token']:.1f}"] if per_token else []),
            published.get((tuple(result["models"]), result.get("frequency_bins", False)), ""),
        ]
        for result in results
    ]
    table = Table(title, header, rows, notes)
    if same_settings(results[-1]["settings"], default, text_settings):
        return table
    return without_column(table, "published")._replace(notes=notes[:1])


def format_weights(weights: list[Any]) -> str:
    """Format the weights of a mixture."""
    if isinstance(weights[0], list):
        return f"in {len(weights)} bins"
    return "" if len(weights) == 1 else ", ".join(f"{weight:.2f}" for weight in weights)
