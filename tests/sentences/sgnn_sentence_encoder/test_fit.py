from functools import cache

import numpy as np
import pytest

from sklearn_hashnlp.training import StepLog
from tests.sentence_texts import LISTS, PARAGRAPHS, QUERIES, TOPICS, bytes_of, fitted, make
from tests.trainings import SEEDS, assert_as_good, assert_other_bits, assert_same_bits


@cache
def fit(**options):
    return make(**options).fit(PARAGRAPHS)


def weights_of(encoder):
    return {
        name.removeprefix("transformer."): value
        for name, value in encoder.net_.module_.network.state_dict().items()
    }


@pytest.mark.parametrize("X", [[], [""], ["", " \n"], [[]], [["", " "]], iter(())])
def test_paragraphs_without_words_are_an_error(X):
    with pytest.raises(
        ValueError, match="SGNNSentenceEncoder: there is no word in X to learn from"
    ):
        make().fit(X)


@pytest.mark.filterwarnings("ignore:.* no paragraph has more than one sentence:UserWarning")
@pytest.mark.parametrize("masked", [0.0, 1.0])
@pytest.mark.parametrize(
    "X", [["bar"], ["bar", "carn"], [["bar", "carn"]], ["🙂", "a"], ["bar carn."] * 3], ids=str
)
def test_the_smallest_texts(X, masked):
    encoder = make(objectives__masked_weight=masked, objectives__word_weight=0.5).fit(X)
    vectors = encoder.transform(["bar", "carn dog", ""])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 0], atol=1e-6)
    assert np.isfinite([entry["train_loss"] for entry in encoder.history_]).all()


def test_single_sentences_train_word_vectors_only():
    sentences = [[sentence] for paragraph in LISTS for sentence in paragraph]
    with pytest.warns(
        UserWarning, match="no paragraph has more than one sentence with words"
    ) as caught:
        encoder = make().fit(sentences)
    assert [warning.filename for warning in caught] == [__file__]
    assert [entry["train_loss"] for entry in encoder.history_] == [0.0, 0.0]
    assert_same_bits(bytes_of(encoder), bytes_of(make(max_epochs=0).fit(sentences)))
    words_only = {"objectives__sentence_weight": (0, 0), "objectives__word_weight": 1.0}
    make(**words_only).fit(sentences)  # no warning: no loss over sentences
    make().partial_fit(sentences)  # no warning: other parts of a stream may have longer paragraphs
    make().fit(["bar", "bar carn. carn."])


LAYERS = {"layers.0.self_attn.in_proj_weight", "layers.0.linear1.weight", "layers.0.linear2.weight"}


@pytest.mark.parametrize(
    ("head", "trained"),
    [
        ("sentence", {"linear.weight", *LAYERS}),
        ("word", {"linear.weight"}),
        ("masked", {"linear.weight", *LAYERS}),
    ],
)
def test_each_head_alone_trains_the_weights(head, trained):
    untrained = fit(max_epochs=0)
    encoder = fit(**{"objectives__sentence_weight": 0.0, f"objectives__{head}_weight": 1.0})
    after, before = weights_of(encoder), weights_of(untrained)
    for name in trained:
        assert_other_bits(after.pop(name), before.pop(name))
    fixed = {"spelling.weight", "common", "tables.tables.weight"}
    names = after.keys() if head == "word" else fixed  # the layers are for sentences
    assert names >= fixed
    for name in names:
        assert_same_bits(after[name], before[name])


@pytest.mark.parametrize(
    ("first", "last"), [("word", "masked"), ("masked", "sentence"), ("sentence", "word")]
)
def test_the_weights_of_heads_are_annealed(first, last):
    options = {"objectives__sentence_weight": 0.0, f"objectives__{first}_weight": (1.0, 0.0)}
    options[f"objectives__{last}_weight"] = (0.0, 1.0)
    annealed = bytes_of(fit(**options))
    for head in (first, last):
        assert_other_bits(
            annealed,
            bytes_of(
                fit(**{"objectives__sentence_weight": 0.0, f"objectives__{head}_weight": 1.0})
            ),
        )
    assert_other_bits(
        annealed, bytes_of(fit(**options | {f"objectives__{first}_weight": (0.0, 1.0)}))
    )


@pytest.mark.parametrize(
    ("loss", "gain"),
    [
        ("infonce", 0.05),
        *(pytest.param(loss, 0.1, marks=pytest.mark.slow) for loss in ("vmf", "proximity")),
    ],
)
def test_sentences_of_a_topic_become_similar(loss, gain):
    options = {"context_weight": 1.0, "n_tables": 0, "word_steps": 0}
    texts = [" ".join(topic[:3]) for topic in TOPICS] + [" ".join(topic[4:7]) for topic in TOPICS]

    def contrast(encoder):
        vectors = encoder.transform(texts)
        similarities, same = vectors @ vectors.T, np.equal.outer(np.arange(8) % 4, np.arange(8) % 4)
        return similarities[same & ~np.eye(8, dtype=bool)].mean() - similarities[~same].mean()

    found, expected = (
        [
            contrast(fit(**options, max_epochs=n_epochs, objectives__loss=loss, random_state=seed))
            for seed in SEEDS
        ]
        for n_epochs in (12, 0)
    )
    assert_as_good(found, expected, margin=-gain)


def test_each_part_of_the_vectors_alone():
    spelling, context = (
        make(context_weight=0.0).fit(PARAGRAPHS),
        make(context_weight=1.0).fit(PARAGRAPHS),
    )
    assert spelling.transform(QUERIES).shape == (6, 16)
    assert context.transform(QUERIES).shape == (6, 8)
    assert (spelling.history_, len(context.history_)) == ([], 2)
    before = bytes_of(spelling)
    assert_same_bits(bytes_of(spelling.partial_fit(PARAGRAPHS)), before)


def test_attributes():
    network = fitted().net_.module_.network
    assert fitted().n_parameters_ == sum(parameter.numel() for parameter in network.parameters())
    assert [set(entry) for entry in fitted().history_] == [{"epoch", "train_loss", "dur"}] * 2
    assert [entry["epoch"] for entry in fitted().history_] == [1, 2]
    assert fitted().history_[1]["train_loss"] < fitted().history_[0]["train_loss"]
    assert 0 <= fitted().waiting_share_ <= 1
    assert network.common.shape == (2, 16)


def test_progress_is_printed(capsys):
    make(verbose=1).fit(PARAGRAPHS)
    out = capsys.readouterr().out
    assert "word pretraining, step" in out
    assert "train_loss" in out
    assert "sentences" not in out
    make(verbose=2, callbacks=[StepLog(3)], scoring=lambda encoder: 0.25).fit(PARAGRAPHS)
    out = capsys.readouterr().out
    assert "untrained: score 0.2500" in out
    assert "words: score 0.2500" in out
    assert "sentences, epoch 2, step 6, train_loss" in out


def test_parameters_that_changed_before_fit():
    encoder = make().fit(PARAGRAPHS)
    wider = encoder.set_params(network__embedding_dim=16, n_projections=7).fit(PARAGRAPHS)
    assert wider.transform(QUERIES).shape == (6, 32)
