"""Stories of people who combine modules, optimizers and callbacks in ways that once failed silently or late."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler

from sklearn_hashnlp.classifiers import SGNNClassifier
from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.nn import (
    NPLM,
    AttentionSeq2Seq,
    HashEmbedding,
    HashEmbeddingBag,
    HierarchicalSoftmax,
    SGNNProjection,
)
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD
from sklearn_hashnlp.trees import complete_tree

SENTENCES = ["the company said it rose", "the cat sat on the mat"] * 4


@pytest.fixture(scope="module")
def language_model():
    return HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, max_epochs=1, random_state=0).fit(SENTENCES)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"seed": 1}, "seed"),
        ({"hyperplanes": "sign"}, "hyperplanes"),
        ({"density": 0.5}, "density"),
        ({"output": "sign"}, "output"),
    ],
)
def test_a_checkpoint_is_not_loaded_above_other_random_projections(options, name):
    state = torch.nn.Sequential(SGNNProjection(2, 4), torch.nn.Linear(8, 2)).state_dict()
    other = torch.nn.Sequential(SGNNProjection(2, 4, **options), torch.nn.Linear(8, 2))
    with pytest.raises(ValueError, match=f"differs in {name} from this one"):
        other.load_state_dict(state)


def test_a_checkpoint_of_random_projections_needs_their_parameters():
    state = SGNNProjection(2, 4, seed=-1).state_dict()
    SGNNProjection(2, 4, seed=2**64 - 1).load_state_dict(state)
    with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
        SGNNProjection(2, 4).load_state_dict({})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggregation": "median"}, "aggregation='sum', this module has aggregation='median'"),
        ({"normalize": "l1"}, "normalize=None, this module has normalize='l1'"),
        ({"hash_rows": False}, "variant='improved', hash_rows=True, this module has variant='improved', hash_rows=F"),
    ],
)
def test_tables_are_not_loaded_into_a_bag_that_reads_them_otherwise(options, message):
    state = HashEmbeddingBag(20, 4, num_buckets=10).state_dict()
    with pytest.raises(ValueError, match=re.escape(message)):
        HashEmbeddingBag(20, 4, num_buckets=10, **options).load_state_dict(state)


@pytest.mark.parametrize("optimizer", [RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
@pytest.mark.parametrize("other", [RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
def test_the_state_of_another_optimizer_is_refused_when_it_is_loaded(optimizer, other):
    table = torch.nn.Embedding(3, 2)
    optimizers = optimizer(table.parameters()), other(table.parameters())
    table(torch.arange(3)).sum().backward()
    optimizers[1].step()
    if optimizer is other:
        optimizers[0].load_state_dict(optimizers[1].state_dict())
    else:
        with pytest.raises(ValueError, match=rf"^{optimizer.__name__}: the state is of another optimizer: .* is "):
            optimizers[0].load_state_dict(optimizers[1].state_dict())
    optimizers[0].step()


@pytest.mark.parametrize("optimizer", [RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
def test_the_state_of_an_optimizer_of_torch_is_refused(optimizer):
    options = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "params": [0]}
    with pytest.raises(ValueError, match=r"of another optimizer: average_after, steps is missing"):
        optimizer(torch.nn.Embedding(3, 2).parameters()).load_state_dict({"state": {}, "param_groups": [options]})


def test_strings_that_contain_the_end_symbol_are_refused():
    network, good = AttentionSeq2Seq(5, 2, 2, 2), torch.tensor([[1, 2]])
    ended = torch.tensor([[1, 4]])
    with pytest.raises(ValueError, match="source must be without the end symbol 4"):
        network.generate(ended)
    with pytest.raises(ValueError, match="target must be without the end symbol 4"):
        network(good, ended)


def test_a_linear_layer_is_no_output_layer():
    with pytest.raises(TypeError, match=r"must be an output layer such as FullSoftmax .*, got Linear"):
        AttentionSeq2Seq(5, 2, 2, 2, output=torch.nn.Linear(2, 5))


@pytest.mark.parametrize("start", ["the", ["the company"]])
def test_words_in_place_of_the_number_of_samples_get_a_clear_error(language_model, start):
    with pytest.raises(TypeError, match=r"n must be an integer; pass the words as start="):
        language_model.sample(start)


def test_the_start_of_a_sample_is_returned_whole(language_model):
    assert language_model.sample(1, start="a b c d", max_length=2) == [["a", "b", "c", "d"]]


def with_callback(callback, estimator=HsigmoidLanguageModel, **options):
    if estimator is SGNNClassifier:
        return SGNNClassifier(hidden_layer_sizes=(2,), max_epochs=2, callbacks=[callback], random_state=0, **options)
    sizes = {"order": 2, "embedding_dim": 2, "hidden_size": 2, "max_epochs": 2}
    return HsigmoidLanguageModel(**sizes, callbacks=[callback], random_state=0, **options)


def data_of(estimator):
    return (np.eye(4, dtype=np.float32), [0, 1, 0, 1]) if estimator is SGNNClassifier else (SENTENCES,)


@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        (HsigmoidLanguageModel, "Pass X_valid to fit, or set early_stopping='valid_loss'"),
        (SGNNClassifier, "Set early_stopping"),
    ],
)
def test_a_callback_without_its_validation_set_says_how_to_get_one(estimator, advice):
    with pytest.raises(ValueError, match=rf"The callback EarlyStopping needs a validation set: .*{advice}"):
        with_callback(EarlyStopping(), estimator).fit(*data_of(estimator))


@pytest.mark.parametrize("estimator", [HsigmoidLanguageModel, SGNNClassifier])
def test_two_schedules_of_the_learning_rate_are_not_multiplied_silently(estimator):
    schedule = LRScheduler("StepLR", step_size=1)
    with pytest.warns(UserWarning, match="Set a schedule with decay='constant'"):
        with_callback(schedule, estimator).fit(*data_of(estimator))
    with_callback(schedule, estimator, schedule=None).fit(*data_of(estimator))


def test_the_history_holds_what_callbacks_measured():
    scoring = EpochScoring(lambda net, X, y: np.float32(0.5), name="foo", on_train=True)
    plain = HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, max_epochs=1, random_state=0).fit(SENTENCES)
    assert list(plain.history_[0]) == ["epoch", "train_loss", "train_perplexity", "dur"]
    model = with_callback(scoring).fit(SENTENCES)
    assert [entry["foo"] for entry in model.history_] == [0.5, 0.5]
    assert {type(value) for entry in model.history_ for value in entry.values()} == {int, float}


def test_a_word_embedding_of_another_width_is_refused_by_the_network():
    with pytest.raises(ValueError, match=r"embedding_dim must be 6, the output_dim of the HashEmbedding .*, got 4"):
        NPLM(9, 2, 4, 2, output="softmax", embedding=HashEmbedding(9, 4, num_buckets=5))
    NPLM(9, 2, 6, 2, output="softmax", embedding=HashEmbedding(9, 4, num_buckets=5))


def test_a_checkpoint_is_assigned_to_an_output_layer_on_the_meta_device():
    layer, inputs = HierarchicalSoftmax(complete_tree(9), 4), torch.randn(3, 4)
    empty = HierarchicalSoftmax(complete_tree(9), 4, device="meta")
    empty.load_state_dict(layer.state_dict(), assign=True)
    assert torch.equal(empty(inputs, torch.arange(3)).loss, layer(inputs, torch.arange(3)).loss)
