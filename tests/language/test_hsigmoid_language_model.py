"""What the model learns and tells."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from sklearn_hashnlp.language import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_word_vectors
from sklearn_hashnlp.trees import complete_tree, random_tree

RNG = np.random.default_rng(0)
NAMES, VERBS, THINGS = ["ann", "bob"], ["sees", "hears"], ["trees", "birds", "songs"]
SENTENCES = [f"{RNG.choice(NAMES)} {RNG.choice(VERBS)} {RNG.choice(THINGS)}" for _ in range(120)]
SMALL = {"order": 3, "embedding_dim": 6, "hidden_size": 12, "batch_size": 16, "max_epochs": 6, "random_state": 0} | {
    "learning_rate_schedule": "constant",
    "dropout": 0.0,
}


def fitted(**options):
    return HsigmoidLanguageModel(**{**SMALL, **options}).fit(SENTENCES)


@pytest.fixture(scope="module")
def model():
    return fitted()


OUTPUTS = [
    {"output": "softmax"},
    {"output": "adaptive"},
    *(
        {"tree": name}
        for name in ("huffman", "cluster", "binary_cluster", "complete", "balanced", "random", "two_level")
    ),
    {"direct_connections": True},
    {"direct_connections": "hashed", "n_direct": 1000},
    {"embedding": "hash", "n_embeddings": 500, "n_buckets": 100},
    {"embedding": "sgnn"},
    {"embedding": "sgnn", "n_projections": 7, "n_bits": 3, "direct_connections": "hashed", "n_direct": 1000},
    {"activation": "sigmoid", "dropout": 0.1, "embedding_dropout": 0.1, "max_epochs": 20},
    {"optimizer": "adam", "learning_rate": 0.01},
    {"init": "uniform"},
]


@pytest.mark.parametrize("options", OUTPUTS, ids=str)
def test_it_learns_and_its_answers_agree(options):
    model = fitted(**options)
    assert model.history_[-1]["train_loss"] < 0.75 * model.history_[0]["train_loss"]
    best = math.exp(-(2 * math.log(1 / 2) + math.log(1 / 3)) / 4)  # of four words, </s> is certain
    assert best < model.perplexity(SENTENCES) < 1.5 * best
    contexts = ["ann", "ann sees", "bob hears songs", [], "zebra"]
    probabilities = model.predict_proba(contexts)
    words = list(model.vocabulary_)
    assert probabilities.shape == (5, len(words) - 1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert model.predict(contexts).tolist() == [words[at] for at in probabilities.argmax(axis=1)]
    for pairs, row in zip(model.predict_topk(contexts, k=3), probabilities, strict=True):
        np.testing.assert_allclose([value for _, value in pairs], np.sort(row)[::-1][:3], rtol=1e-5)
        np.testing.assert_allclose(
            [row[model.vocabulary_[word]] for word, _ in pairs], np.sort(row)[::-1][:3], rtol=1e-5
        )


def test_scores_are_sums_over_words(model):
    expected = []
    for sentence in SENTENCES[:5]:
        words = [*sentence.split(), "</s>"]
        rows = model.predict_proba([words[:end] for end in range(len(words))])
        expected.append(sum(math.log(row[model.vocabulary_[word]]) for row, word in zip(rows, words, strict=True)))
    np.testing.assert_allclose(model.score_samples(SENTENCES[:5]), expected, rtol=1e-5)
    assert model.score(SENTENCES[:5]) == pytest.approx(sum(expected) / 20)
    assert model.perplexity(SENTENCES[:5]) == pytest.approx(math.exp(-sum(expected) / 20))


def test_natural_sentences_score_higher(model):
    natural, shuffled = model.score_samples(["ann hears birds", "hears birds ann"])
    assert natural > shuffled + 3


def test_words_and_marks(model):
    assert set(model.vocabulary_) == {*NAMES, *VERBS, *THINGS, "<s>", "</s>", "<unk>"}
    assert list(model.vocabulary_.values()) == list(range(10))
    assert next(iter(model.vocabulary_)) == "</s>"  # the most frequent
    assert list(model.vocabulary_)[-1] == "<s>"
    scores = model.score_samples(["ann sees zebras", "ann sees <unk>", "<s> ann sees zebras </s>", "ann sees <s>"])
    assert len(set(scores.tolist())) == 1
    assert np.isfinite(scores).all()


def test_sizes_of_vocabularies():
    assert len(fitted(max_vocabulary=2).vocabulary_) == 5
    assert len(fitted(min_count=1000).vocabulary_) == 3
    fixed = fitted(vocabulary={word: at for at, word in enumerate(["<s>", "birds", "ann"])})
    assert list(fixed.vocabulary_) == ["birds", "ann", "</s>", "<unk>", "<s>"]


def test_a_vocabulary_of_one_word():
    model = HsigmoidLanguageModel(**SMALL).fit(["a", "a a"])
    assert list(model.vocabulary_) == ["a", "</s>", "<unk>", "<s>"]
    assert model.perplexity(["a"]) > 0


def test_an_empty_corpus(model):
    for X in ([], lambda: iter([])):
        with pytest.raises(ValueError, match="HsigmoidLanguageModel found no sentence to learn from: X is empty"):
            HsigmoidLanguageModel().fit(X)
        with pytest.raises(ValueError, match="found no word to score"):
            model.score(X)
        assert model.score_samples(X).shape == (0,)
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 9)
    assert model.predict_topk([]) == []


def test_sentences_without_words():
    model = HsigmoidLanguageModel(**SMALL).fit(["", []])
    assert model.predict([""]).tolist() == ["</s>"]
    assert len(model.score_samples(["", ""])) == 2


def test_padding_of_the_reference():
    model = fitted(order=4, padding="reference")
    scores = model.score_samples(["ann", "ann sees", "ann sees trees"])
    assert np.isnan(scores[0])
    assert scores[1] < 0
    with pytest.raises(ValueError, match=r"no window of 9 words to learn from.*padding='full'"):
        fitted(order=9, padding="reference")
    assert fitted(order=9).perplexity(SENTENCES) > 1


def test_a_file_a_list_and_a_reader_are_the_same(tmp_path, model):
    path = tmp_path / "train.txt"
    path.write_text("\n".join(SENTENCES), encoding="utf-8")
    expected = model.score_samples(SENTENCES).tobytes()
    for X in (path, lambda: iter(SENTENCES), [sentence.split() for sentence in SENTENCES]):
        other = HsigmoidLanguageModel(**SMALL).fit(X)
        assert other.score_samples(X).tobytes() == expected
    with pytest.raises(TypeError, match="single str is ambiguous"):
        model.score_samples(str(path))


def test_numbers_from_a_reader():
    words = [*NAMES, *VERBS, *THINGS, "<unk>", "<s>", "</s>"]
    numbers = {word: at for at, word in enumerate(words)}

    def windows():
        for sentence in SENTENCES:
            row = [numbers[word] for word in ["<s>", "<s>", *sentence.split(), "</s>"]]
            yield from (tuple(row[end - 3 : end]) for end in range(3, len(row) + 1))

    model = HsigmoidLanguageModel(**SMALL, vocabulary=numbers).fit(windows)
    from_words = HsigmoidLanguageModel(**SMALL, vocabulary=numbers).fit(SENTENCES)
    assert model.perplexity(SENTENCES) == from_words.perplexity(SENTENCES)
    assert model.perplexity(windows) == pytest.approx(model.perplexity(SENTENCES), rel=1e-6)
    with pytest.raises(ValueError, match="does not know the words"):
        HsigmoidLanguageModel(**SMALL).fit(windows)


def test_a_tree_of_ones_own():
    tree = random_tree(9, random_state=3)
    model = fitted(tree=tree)
    assert model.net_.module_.output_layer.tree == tree
    with pytest.raises(ValueError, match="the tree has 5 classes, and 9 words can be predicted"):
        fitted(tree=complete_tree(5))


def test_search(model):
    contexts = ["ann", "ann sees trees", "bob hears", []]
    rows = torch.from_numpy(model._tokenizer.contexts(contexts))
    words = list(model.vocabulary_)
    greedy = model.net_.module_.predict(rows, search="greedy").tolist()
    assert model.predict(contexts, search="greedy").tolist() == [words[at] for at in greedy]
    with pytest.raises(ValueError, match="search"):
        model.predict(contexts, search="fast")


def test_samples(model):
    sentences = model.sample(200, random_state=0)
    assert sentences == model.sample(200, random_state=0)
    assert sentences != model.sample(200, random_state=1)
    natural = [
        words
        for words in sentences
        if len(words) == 3 and words[0] in NAMES and words[1] in VERBS and words[2] in THINGS
    ]
    assert len(natural) > 150
    assert all(words[:2] == ["bob", "sees"] for words in model.sample(5, 0, start="bob sees"))
    assert {len(words) for words in model.sample(20, 0, start=["ann"], max_length=2)} <= {1, 2}
    assert model.sample(0) == []
    assert model.sample(1, 0, start="ann sees", max_length=0) == [["ann", "sees"]]
    assert not any(mark in words for words in sentences for mark in ("<s>", "</s>"))
    with pytest.raises(ValueError, match="n and max_length of at least 0"):
        model.sample(-1)


def test_sampled_words_come_as_often_as_they_should(model):
    first = [words[0] if words else "</s>" for words in model.sample(4000, random_state=0, max_length=1)]
    [row] = model.predict_proba([[]])
    for word, at in model.vocabulary_.items():
        if word != "<s>":
            assert first.count(word) / 4000 == pytest.approx(row[at], abs=0.03)


def cosine_of(model, a, b):
    one, two = (model.embeddings_[model.vocabulary_[word]].astype(float) for word in (a, b))
    return one @ two / np.linalg.norm(one) / np.linalg.norm(two)


def test_similar_words():
    model = fitted(max_epochs=40)
    assert model.embeddings_.shape == (10, 6)
    [(word, cosine)] = model.most_similar("sees", n=1)
    assert word == "hears"
    assert cosine == pytest.approx(cosine_of(model, "sees", "hears"), abs=1e-6)
    assert len(model.most_similar("ann", n=100)) == 6
    units = model.embeddings_ / np.linalg.norm(model.embeddings_, axis=1, keepdims=True)
    one, two, three = (units[model.vocabulary_[word]] for word in ("ann", "sees", "birds"))
    goal = two - one + three
    found = dict(model.analogy("ann", "sees", "birds", n=100))
    assert set(found) == {*NAMES, *VERBS, *THINGS} - {"ann", "sees", "birds"}
    for word, cosine in found.items():
        assert cosine == pytest.approx(units[model.vocabulary_[word]] @ goal / np.linalg.norm(goal), abs=1e-5)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    with pytest.raises(ValueError, match="has no vector of 'zebra'"):
        model.most_similar("zebra")
    with pytest.raises(ValueError, match="most_similar needs n of at least 1, got 0"):
        model.most_similar("ann", n=0)


@pytest.mark.parametrize(
    "options", [{"embedding": "hash", "n_embeddings": 500, "n_buckets": 100}, {"embedding": "sgnn"}], ids=str
)
def test_words_that_were_never_seen_have_vectors(options):
    model = fitted(**options)
    assert model.embeddings_.shape == (10, 6)
    assert len(model.most_similar("zebra", n=3)) == 3
    assert model.predict_proba(["zebra"])[0] != pytest.approx(model.predict_proba(["giraffe"])[0])


@pytest.mark.parametrize("binary", [False, True])
def test_vectors_in_a_file(tmp_path, model, binary):
    model.save_word2vec(tmp_path / "vectors", binary=binary)
    words, vectors = load_word_vectors(tmp_path / "vectors", binary=binary)
    assert words == list(model.vocabulary_)
    assert vectors.tobytes() == model.embeddings_.tobytes()


@pytest.mark.parametrize("method", ["score", "score_samples", "predict", "predict_proba", "predict_topk"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(HsigmoidLanguageModel(), method)(["a"])


@pytest.mark.parametrize("use", [lambda m: m.sample(), lambda m: m.embeddings_, lambda m: m.most_similar("a")])
def test_not_fitted_either(use):
    with pytest.raises(NotFittedError):
        use(HsigmoidLanguageModel())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 1}, "'order' parameter"),
        ({"output": "nce"}, "'output' parameter"),
        ({"tree": "oak"}, "'tree' parameter"),
        ({"direct_connections": "dense"}, "'direct_connections' parameter"),
        ({"direct_connections": "hashed", "output": "softmax"}, "needs output='hsigmoid'"),
        ({"dropout": 1.0}, "'dropout' parameter"),
        ({"embedding": "tables"}, "'embedding' parameter"),
        ({"n_projections": 0}, "'n_projections' parameter"),
        ({"n_bits": 0}, "'n_bits' parameter"),
        ({"keep": "none"}, "'keep' parameter"),
        ({"resume": True}, r"resume=True\) needs checkpoint_dir"),
        ({"lr_plateau": (0, 0.5)}, "'lr_plateau' parameter"),
        ({"callbacks": [3]}, "'callbacks' parameter"),
        ({"vocabulary": {"a": 7}}, "vocabulary must give its 1 words the ids"),
    ],
)
def test_parameters_that_will_not_do(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(**options)


@pytest.mark.parametrize("wrong", ["a b", b"a"])
def test_a_single_string(wrong, model):
    with pytest.raises(TypeError, match="ambiguous"):
        HsigmoidLanguageModel().fit(wrong)
    with pytest.raises(TypeError, match="single"):
        model.predict("ann sees")


def test_a_path_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        HsigmoidLanguageModel().fit(Path("no-such-file.txt"))


def test_divergence():
    with pytest.raises(ValueError, match=r"diverged.*smaller learning_rate"):
        fitted(learning_rate=1e30, optimizer="adam", activation="tanh", output="softmax", direct_connections=True)


def test_it_computes_on_one_thread_and_leaves_the_users():
    before, state = torch.get_num_threads(), torch.get_rng_state()
    fitted(max_epochs=1, dropout=0.5)
    assert torch.get_num_threads() == before
    assert torch.equal(torch.get_rng_state(), state)
