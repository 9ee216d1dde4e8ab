"""Predictions of a layer of which only the log-probabilities are known."""

import pytest
import torch

from sklearn_hashnlp.nn._softmax_layers import SoftmaxLayer


class Table(SoftmaxLayer):
    """Its input is the probabilities themselves."""

    n_classes = 3

    def log_prob(self, input):  # noqa: A002 - torch's name for it
        return input.log()


PROBABILITIES = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]])


def test_the_most_probable_classes():
    assert Table().predict(PROBABILITIES).tolist() == [1, 0]
    log_probs, classes = Table().topk(PROBABILITIES, 2)
    assert classes.tolist() == [[1, 2], [0, 2]]
    torch.testing.assert_close(log_probs.exp(), torch.tensor([[0.7, 0.2], [0.5, 0.3]]))


@pytest.mark.parametrize("k", [0, 4])
def test_a_wrong_number_of_classes_is_told(k):
    with pytest.raises(ValueError, match=f"Table: k must be between 1 and n_classes=3, got {k}"):
        Table().topk(PROBABILITIES, k)


def test_draws_have_the_probabilities():
    rows = PROBABILITIES[:1].expand(20_000, 3)
    drawn = Table().sample(rows, generator=torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=3) / len(rows)
    torch.testing.assert_close(shares, PROBABILITIES[0], atol=0.015, rtol=0)
