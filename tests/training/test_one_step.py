"""One step of each trainer against plain formulas in float64, within the rounding of float32."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback

from sklearn_hashnlp.classifiers import EmbeddingTables, HashEmbeddingClassifier, SGNNClassifier
from sklearn_hashnlp.classifiers.hash_embedding._compiled_step import CompiledStep
from sklearn_hashnlp.optim import RowwiseSGD
from sklearn_hashnlp.sentences import Objectives
from tests.contract.estimators import BITS, COUNTS, LABELS
from tests.language.hsigmoid import small_models
from tests.oracles import first_step as oracle
from tests.sentence_texts import PARAGRAPHS
from tests.sentence_texts import make as make_encoder

_EPS = {"sgd": 0.0, "adagrad": 1e-4, "adam": 1e-8}


class FirstStep(Callback):
    """Draws all weights before the first step, and keeps them, the batch and the options of the optimizer."""

    def on_train_begin(self, net: Any, **_: Any) -> None:
        generator = torch.Generator().manual_seed(0)
        for parameter in net.module_.parameters():
            if parameter.requires_grad:
                parameter.data.normal_(std=0.3, generator=generator)
        self.module = copy.deepcopy(net.module_)

    def on_batch_begin(self, net: Any, batch: Any = None, **_: Any) -> None:
        self.batch = batch

    def on_batch_end(self, net: Any, **_: Any) -> None:
        groups = {parameter: group for group in net.optimizer_.param_groups for parameter in group["params"]}
        self.groups = {name: groups[part] for name, part in net.module_.named_parameters() if part in groups}

    def weights(self) -> oracle.Weights:
        named = self.module.named_parameters()
        return {name: part.detach().double().requires_grad_(part.requires_grad) for name, part in named}

    def check(self, net: Any, weights: oracle.Weights, *, optimizer: str, tables: set[str], n_terms: int) -> None:
        """Compare each parameter with its update by the gradients that ``weights`` hold."""
        trained = dict(net.module_.named_parameters())
        relative = []
        for name, weight in weights.items():
            after = trained[name].detach().double()
            if weight.grad is None:
                assert torch.equal(after, weight.detach()), name
                continue
            options = {"lr": self.groups[name]["lr"], "eps": self.groups[name].get("eps", 0.0)}
            options |= {"optimizer": optimizer, "by_row": name in tables, "n_terms": n_terms}
            expected, tolerance = oracle.first_update(weight.detach(), weight.grad, **options)
            error = (after - expected).abs()
            assert (error <= tolerance).all(), f"{name}: {(error / tolerance).max():.1f} times the tolerance"
            moved = weight.grad != 0
            relative += (tolerance / (expected - weight.detach()).abs())[moved].flatten().tolist()
        assert np.median(relative) < 1e-3  # most weights are held to three digits of their step and more


def hash_embeddings(recorder: FirstStep, **options: Any) -> HashEmbeddingClassifier:
    settings = {"n_buckets": 30, "n_embeddings": 200, "embedding_dim": 4, "n_hashes": 2, "schedule": None}
    settings |= {"max_epochs": 1, "batch_size": 1000, "learning_rate": 0.1, "callbacks": [recorder], "random_state": 0}
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
    scores = oracle.documents(weights, rows, step.module.bag) @ weights["head.0.weight"].T + weights["head.0.bias"]
    oracle.LOSSES["softmax"](scores, targets).mean().backward()
    step.check(net, weights, optimizer="sgd", tables=set(), n_terms=sum(COUNTS.shape))


@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
@pytest.mark.parametrize("loss", ["softmax", "ova"])
def test_dense_network(loss: str, optimizer: str) -> None:
    step = FirstStep()
    options: dict[str, Any] = {"hidden_layer_sizes": (12, 6), "dropout": 0.0, "input_dropout": 0.0, "max_epochs": 1}
    options |= {"batch_size": 1000, "learning_rate": 0.01, "schedule": None, "random_state": 0}
    model = SGNNClassifier(**options, loss=loss, optimizer=optimizer, callbacks=[step]).fit(BITS, LABELS)
    weights, (rows, targets) = step.weights(), step.batch
    oracle.LOSSES[loss](oracle.perceptron(weights, rows.values, step.module), targets).mean().backward()
    step.check(model.net_, weights, optimizer=optimizer, tables=set(), n_terms=sum(BITS.shape))


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
@pytest.mark.parametrize("output", ["hsigmoid", "softmax", "adaptive"])
def test_language_model(output: str, optimizer: str) -> None:
    step = FirstStep()
    options = {"max_epochs": 1, "batch_size": 10**6, "direct_connections": False, "callbacks": [step]}
    model = small_models.make(**options, output=output, optimizer=optimizer).fit(small_models.SENTENCES)
    weights, (context, target) = step.weights(), step.batch
    oracle.language_loss(weights, context, target, step.module).backward()
    tables = {"embedding.weight", "output_layer.weight"} if output == "hsigmoid" else {"embedding.weight"}
    step.check(model.net_, weights, optimizer=optimizer, tables=tables, n_terms=len(target))


@pytest.mark.parametrize("loss", ["bxent", "infonce", "proximity", "vmf"])
def test_sentence_encoder(loss: str) -> None:
    step = FirstStep()
    options = {"max_epochs": 1, "batch_size": 10**6, "learning_rate": 0.01, "callbacks": [step], "word_steps": 0}
    objectives = Objectives(loss=loss, masked_weight=0.5, word_weight=0.5)
    model = make_encoder(**options, objectives=objectives).fit(PARAGRAPHS)
    module, batch = copy.deepcopy(step.module).double(), step.batch
    words = batch.batch._replace(projections=batch.batch.projections.double(), weights=batch.batch.weights.double())
    loss64 = model.net_.criterion_.compute(module, batch._replace(batch=words), epoch=0, progress=batch.progress)
    loss64.backward()
    weights = dict(module.named_parameters())
    step.check(model.net_, weights, optimizer="adam", tables=set(), n_terms=words.words.numel())
