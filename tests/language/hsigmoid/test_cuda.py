"""Training on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from sklearn_hashnlp.persistence import load_model
from tests.language.hsigmoid.small_models import SENTENCES, VALID, VARIED, losses, make


@pytest.mark.gpu
@pytest.mark.parametrize("options", VARIED, ids=str)
def test_on_cuda(tmp_path, options):
    model = make(**options, device="cuda", checkpoint_dir=tmp_path).fit(SENTENCES, X_valid=VALID)
    assert losses(model)[-1] < losses(model)[0]
    assert model.net_.module_.hidden_layer.weight.device.type == "cuda"
    assert len(model.sample(3, 0)) == 3
    assert model.embeddings_.shape == (len(model.vocabulary_), 6)
    loaded = load_model(tmp_path / "epoch-00003")
    np.testing.assert_allclose(loaded.score_samples(VALID), model.score_samples(VALID), rtol=1e-4)
    code = (
        "import sys; from sklearn_hashnlp import load_model\n"
        "model = load_model(sys.argv[1]); print(model.net_.device, model.perplexity(['a b']))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "epoch-00003")],
        check=True, capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    ).stdout.split()  # fmt: skip
    assert out[0] == "cpu"
    assert float(out[1]) == pytest.approx(model.perplexity(["a b"]), rel=1e-3)


@pytest.mark.gpu
def test_words_by_their_characters_on_cuda():
    options = {"embedding": "sgnn", "max_epochs": 2}
    on_cpu, on_gpu = (make(**options, device=device).fit(SENTENCES) for device in ("cpu", "cuda"))
    assert on_gpu.score(SENTENCES) == pytest.approx(on_cpu.score(SENTENCES), abs=0.1)
    assert on_gpu.predict([SENTENCES[0].split()[0]]).shape == (1,)
    assert on_gpu.net_.module_.hidden_layer.weight.device.type == "cuda"
