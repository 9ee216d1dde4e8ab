"""One step of each trainer against plain formulas in float64, within the rounding of float32."""

import copy
from typing import Any

import pytest

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier, SGNNClassifier
from sklearn_hashnlp.classifiers.hash_embedding._compiled_step import CompiledStep
from sklearn_hashnlp.optim import RowwiseSGD
from sklearn_hashnlp.sentences import Objectives
from tests.contract.estimators import BITS, COUNTS, LABELS
from tests.language.hsigmoid import small_models
from tests.oracles import first_step as oracle
from tests.sentence_texts import PARAGRAPHS
from tests.sentence_texts import make as make_encoder
from tests.training.first_step import FirstStep


def hash_embeddings(recorder: FirstStep, **options: Any) -> HashEmbeddingClassifier:
    settings = {
        "n_buckets": 30,
        "n_embeddings": 200,
        "embedding_dim": 4,
        "n_hashes": 2,
        "schedule": None,
    }
    settings |= {
        "max_epochs": 1,
        "batch_size": 1000,
        "learning_rate": 0.1,
        "callbacks": [recorder],
        "random_state": 0,
    }
    settings |= {"loss": "softmax"}
    return HashEmbeddingClassifier(**settings | options).fit(COUNTS, LABELS)


@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"variant": "paper", "normalize": "l1"},
        {"variant": "standard", "normalize": None},
        {"aggregation": "concat", "embedding": EmbeddingTables(append_weight=False)},
        {"loss": "ova"},
        {"loss": "hinge"},
        {"loss": "hsigmoid", "tree": "huffman"},
    ],
    ids=str,
)
def test_hash_embeddings(options: dict[str, Any], optimizer: str) -> None:
    step = FirstStep()
    net = hash_embeddings(step, optimizer=optimizer, **options).net_
    weights, (rows, targets) = step.weights(), step.batch
    vectors = oracle.documents(weights, rows, step.module.bag)
    if "tree" in options:
        head = {name.removeprefix("head.0."): weight for name, weight in weights.items()}
        losses = oracle.tree_losses(head, vectors, targets, step.module.head.softmax.tree)
    else:
        scores = vectors @ weights["head.0.weight"].T + weights["head.0.bias"]
        losses = oracle.LOSSES[options.get("loss", "softmax")](scores, targets)
    losses.mean().backward()
    tables = {"bag.pool", "bag.importance"} | ({"head.0.weight"} if "tree" in options else set())
    step.check(net, weights, optimizer=optimizer, tables=tables, n_terms=sum(COUNTS.shape))


def test_compiled_gradient_descent() -> None:
    step = FirstStep()
    net = hash_embeddings(step).net_
    net.module_.load_state_dict(step.module.state_dict())
    optimizer = net.optimizer_ = RowwiseSGD(net.module_.parameters(), lr=0.5)
    for batch, take_step in CompiledStep(net.module_, optimizer).steps([step.batch]):
        assert batch is step.batch
        take_step()
    step.on_batch_end(net)
    weights, (rows, targets) = step.weights(), step.batch
    scores = (
        oracle.documents(weights, rows, step.module.bag) @ weights["head.0.weight"].T
        + weights["head.0.bias"]
    )
    oracle.LOSSES["softmax"](scores, targets).mean().backward()
    step.check(net, weights, optimizer="sgd", tables=set(), n_terms=sum(COUNTS.shape))


@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
@pytest.mark.parametrize("loss", ["softmax", "ova"])
def test_dense_network(loss: str, optimizer: str) -> None:
    step = FirstStep()
    options: dict[str, Any] = {
        "hidden_layer_sizes": (12, 6),
        "dropout": 0.0,
        "input_dropout": 0.0,
        "max_epochs": 1,
    }
    options |= {"batch_size": 1000, "learning_rate": 0.01, "schedule": None, "random_state": 0}
    model = SGNNClassifier(**options, loss=loss, optimizer=optimizer, callbacks=[step]).fit(
        BITS, LABELS
    )
    weights, (rows, targets) = step.weights(), step.batch
    oracle.LOSSES[loss](
        oracle.perceptron(weights, rows.values, step.module), targets
    ).mean().backward()
    step.check(model.net_, weights, optimizer=optimizer, tables=set(), n_terms=sum(BITS.shape))


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
@pytest.mark.parametrize("output", ["hsigmoid", "softmax", "adaptive"])
def test_language_model(output: str, optimizer: str) -> None:
    step = FirstStep()
    options = {
        "max_epochs": 1,
        "batch_size": 10**6,
        "direct_connections": False,
        "callbacks": [step],
    }
    model = small_models.make(**options, output=output, optimizer=optimizer).fit(
        small_models.SENTENCES
    )
    weights, (context, target) = step.weights(), step.batch
    oracle.language_loss(weights, context, target, step.module).backward()
    tables = (
        {"embedding.weight", "output_layer.weight"}
        if output == "hsigmoid"
        else {"embedding.weight"}
    )
    step.check(model.net_, weights, optimizer=optimizer, tables=tables, n_terms=len(target))


@pytest.mark.parametrize("loss", ["bxent", "infonce", "proximity", "vmf"])
def test_sentence_encoder(loss: str) -> None:
    step = FirstStep()
    options = {
        "max_epochs": 1,
        "batch_size": 10**6,
        "learning_rate": 0.01,
        "callbacks": [step],
        "word_steps": 0,
    }
    objectives = Objectives(loss=loss, masked_weight=0.5, word_weight=0.5)
    model = make_encoder(**options, objectives=objectives).fit(PARAGRAPHS)
    module, batch = copy.deepcopy(step.module).double(), step.batch
    words = batch.batch._replace(
        projections=batch.batch.projections.double(), weights=batch.batch.weights.double()
    )
    loss64 = model.net_.criterion_.compute(
        module, batch._replace(batch=words), epoch=0, progress=batch.progress
    )
    loss64.backward()
    weights = dict(module.named_parameters())
    step.check(model.net_, weights, optimizer="adam", tables=set(), n_terms=words.words.numel())
