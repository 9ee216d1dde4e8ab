import pytest
import torch

from sklearn_hashnlp.sentences._sentence_net import TrainingState, load_weights, trained_weights
from tests.sentence_texts import PARAGRAPHS, make


def test_the_training_state_keeps_the_weights_that_training_changes():
    net = make().fit(PARAGRAPHS).net_
    weights = trained_weights(net)
    assert set(weights) == {
        name for name, value in net.module_.named_parameters() if value.requires_grad
    }
    assert {"network.spelling.weight", "network.transformer.tables.tables.weight"}.isdisjoint(
        weights
    )
    state = TrainingState()
    state.note(0.5, net)
    with torch.no_grad():
        for parameter in net.module_.parameters():
            parameter += 1
    state.note(0.5, net)
    load_weights(net, state.best_weights)
    assert all(torch.equal(value, weights[name]) for name, value in trained_weights(net).items())


def test_weights_of_another_net_are_refused():
    net = make().fit(PARAGRAPHS).net_
    load_weights(net, {})  # without scoring there is no best epoch
    with pytest.raises(ValueError, match=r"no weights named network\.renamed"):
        load_weights(net, {"network.renamed": torch.zeros(1)})
