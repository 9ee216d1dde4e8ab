import torch

from sklearn_hashnlp.sentences._sentence_net import TrainingState, trained_weights
from tests.sentence_texts import PARAGRAPHS, make


def test_the_training_state_keeps_the_weights_that_training_changes():
    net = make().fit(PARAGRAPHS).net_
    weights = trained_weights(net)
    assert set(weights) == {name for name, value in net.module_.named_parameters() if value.requires_grad}
    assert {"network.spelling.weight", "network.transformer.tables.tables.weight"}.isdisjoint(weights)
    state = TrainingState()
    state.note(0.5, net)
    with torch.no_grad():
        for parameter in net.module_.parameters():
            parameter += 1
    state.note(0.5, net)
    net.module_.load_state_dict(state.best_weights, strict=False)
    assert all(torch.equal(value, weights[name]) for name, value in trained_weights(net).items())
