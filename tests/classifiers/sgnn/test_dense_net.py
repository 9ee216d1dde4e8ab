"""The net inside SGNNClassifier: scores of rows, and its way out and back."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sklearn_hashnlp.classifiers.sgnn import _dense_net
from sklearn_hashnlp.classifiers.sgnn._dense_net import dense_net_from_state, make_dense_net
from sklearn_hashnlp.classifiers.sgnn._dense_rows import DenseDataset
from sklearn_hashnlp.training._torch_scope import plain_torch, torch_seed

RNG = np.random.default_rng(0)
BITS = RNG.integers(0, 2, (2500, 40), dtype=np.uint8)
ARCHITECTURE = {
    "in_features": 40,
    "packed": False,
    "hidden_sizes": [16, 8],
    "num_classes": 3,
    "dropout": 0.5,
    "input_dropout": 0.2,
}


def make(**changes):
    net = make_dense_net(ARCHITECTURE | changes, "cpu")
    with plain_torch(), torch_seed(0):
        net.initialize()
        net.update_standardization(DenseDataset(np.packbits(BITS, axis=1) if changes.get("packed") else BITS))
    return net


def test_a_rows_scores_do_not_depend_on_its_neighbours():
    net = make()
    whole = net.score_rows(DenseDataset(BITS))
    assert (whole.shape, whole.dtype) == ((2500, 3), np.float64)
    for part in (slice(0, 1), slice(1000, 1100), slice(7, 2500)):
        np.testing.assert_array_equal(net.score_rows(DenseDataset(BITS[part])), whole[part])
    order = RNG.permutation(2500)
    np.testing.assert_array_equal(net.score_rows(DenseDataset(BITS[order])), whole[order])
    np.testing.assert_allclose(net.module_.eval()(torch.from_numpy(BITS)).detach(), whole, atol=1e-5)


def test_what_rows_are_standardised_by_does_not_depend_on_how_they_come():
    plain, packed = make(), make(packed=True)
    assert torch.equal(plain.module_.standardize.mean, packed.module_.standardize.mean)
    np.testing.assert_allclose(plain.module_.standardize.mean, BITS.mean(axis=0), rtol=1e-12)
    assert float(plain.module_.standardize.n_rows) == 2500
    np.testing.assert_array_equal(
        packed.score_rows(DenseDataset(np.packbits(BITS, axis=1))), plain.score_rows(DenseDataset(BITS))
    )


def test_no_more_rows_than_a_batch_are_unpacked_at_once(monkeypatch):
    net, widths = make(), []
    real = _dense_net.DenseNetwork.unpack

    def unpack(self, rows, *args):
        widths.append(len(rows))
        return real(self, rows, *args)

    monkeypatch.setattr(_dense_net.DenseNetwork, "unpack", unpack)
    net.score_rows(DenseDataset(BITS))
    net.update_standardization(DenseDataset(BITS))
    assert sorted(widths) == [452, 452, 1024, 1024, 1024, 1024]


def test_its_state_makes_the_same_net_and_leaves_torchs_generator():
    net = make()
    values, arrays = net.to_state()
    assert {name: values[name] for name in ("architecture", "device")} == {
        "architecture": ARCHITECTURE,
        "device": "cpu",
    }
    before = torch.random.get_rng_state()
    again = dense_net_from_state(values, arrays, [{"epoch": 1, "train_loss": 0.5}])
    assert torch.equal(torch.random.get_rng_state(), before)
    assert again.score_rows(DenseDataset(BITS)).tobytes() == net.score_rows(DenseDataset(BITS)).tobytes()
    assert again.history[0, "train_loss"] == 0.5
    with pytest.raises(ValueError, match="must have shape"):
        dense_net_from_state(values, arrays | {"head.7.weight": np.zeros((2, 2))}, [])
