"""A training continues as it started, or one message says what has changed."""

from pathlib import Path

import pytest

import sklearn_hashnlp
from sklearn_hashnlp import HashEmbeddingClassifier, HsigmoidLanguageModel, TextClassifier
from sklearn_hashnlp.training._check_unchanged import check_unchanged

WARM = HashEmbeddingClassifier(warm_start=True, n_hashes=3)


@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        (HashEmbeddingClassifier(), "train a new net by fit"),
        (WARM, "train a new net by fit with warm_start=False"),
        (
            TextClassifier(classifier=WARM),
            "train a new net by fit with classifier__warm_start=False",
        ),
        (
            HsigmoidLanguageModel(checkpoint_dir="x", resume=True),
            "give another folder than checkpoint_dir='x'",
        ),
    ],
)
def test_the_message_says_who_what_and_what_to_do(estimator, advice):
    name, device = (
        type(estimator).__name__,
        {} if isinstance(estimator, TextClassifier) else {"device": "cuda"},
    )
    check_unchanged(estimator, {"random_state": None}, {"random_state": None, "verbose": 1})
    with pytest.raises(ValueError, match="cannot continue") as caught:
        check_unchanged(estimator, {"random_state": None}, {"random_state": 5})
    message = (
        f"{name} cannot continue training with random_state=None: it was trained with 5. Set it "
        f"back, or {advice}."
    )
    assert str(caught.value) == message
    if device:
        with pytest.raises(ValueError, match="with device='cpu': it was trained with 'cuda'"):
            check_unchanged(estimator, {}, {}, **device)


def test_a_value_of_the_net_is_named_with_the_parameter_that_it_comes_from():
    with pytest.raises(ValueError, match="with n_hashes=3: it was trained with num_hashes 2"):
        check_unchanged(
            WARM, {"num_hashes": 3}, {"num_hashes": 2}, parameters={"num_hashes": "n_hashes"}
        )


def test_there_is_one_wording():
    files = Path(sklearn_hashnlp.__file__).parent.rglob("*.py")
    assert [file.name for file in files if "cannot continue training" in file.read_text()] == [
        "_check_unchanged.py"
    ]
