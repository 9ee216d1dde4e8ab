"""What an encoder learns and makes."""

import warnings

import numpy as np
import pytest
import torch

from sklearn_hashnlp.sentences import SGNNSentenceEncoder
from sklearn_hashnlp.text import split_sentences
from tests.sentence_texts import LISTS, PARAGRAPHS, QUERIES, TOPICS, bytes_of, make

ENCODER = make().fit(PARAGRAPHS)


def weights_of(encoder):
    """Give the weights that make vectors."""
    return {name: value.clone() for name, value in encoder.net_.module_.network.state_dict().items()}


def changed(encoder, other):
    own, others = weights_of(encoder), weights_of(other)
    return {name.removeprefix("transformer.") for name in own if not torch.equal(own[name], others[name])}


def test_rows_are_unit_vectors_of_float32():
    vectors = ENCODER.transform(QUERIES)
    assert vectors.dtype == np.float32
    assert vectors.shape == (6, 24)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0, 1, 1], atol=1e-6)
    assert not vectors[3].any()
    assert ENCODER.transform([]).shape == (0, 24)
    assert not ENCODER.transform(["", " \n", "\u3000"]).any()


def test_words_in_capitals_are_the_same_and_other_words_are_not():
    bar, upper, carn, seen, unseen = ENCODER.transform(["bar carn", "BAR Carn", "carn", "bar", "barrr"])
    assert bar.tobytes() == upper.tobytes()
    assert not np.allclose(bar, carn)
    assert seen @ unseen < 0.999


def test_emoji_and_other_scripts_have_vectors_of_their_own():
    texts = ["🙂", "👩🏽‍🔬", "🇫🇷", "日本語", "한국", "ไทย", "é", "e\u0301", "½", "_"]
    vectors = ENCODER.transform(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert len({row.tobytes() for row in vectors}) == len(texts)


def test_what_is_no_text_is_refused():
    for method in (ENCODER.transform, lambda X: make().fit(X)):
        with pytest.raises(ValueError, match="surrogate"):
            method(["fine", "not \ud800 this"])
        with pytest.raises(ValueError, match=r"[Ww]rap .* in a list"):
            method("a text")
        with pytest.raises(TypeError, match="SGNNSentenceEncoder"):
            method(["a", 3])
    with pytest.raises(ValueError, match="nan"):
        ENCODER.transform(["a", float("nan")])
    with pytest.raises(TypeError, match="document 1 is None"):
        ENCODER.transform(["a", None])


@pytest.mark.parametrize("nothing", [[], [""], ["", " \n"], [[]], [["", " "]], iter(())])
def test_no_word_is_too_few(nothing):
    with pytest.raises(ValueError, match="SGNNSentenceEncoder: there is no word in X to learn from"):
        make().fit(nothing)


def test_a_sentence_of_ten_thousand_words_is_cut_with_one_warning():
    long = "bar carn belm " * 3334
    with pytest.warns(
        UserWarning, match=r"the longest text has 10,002 words; texts are truncated to 256 words"
    ) as caught:
        vectors = ENCODER.transform(["bar", long, long, "bar carn"])
    assert len(caught) == 1
    beginning = "bar carn belm " * 85 + "bar"
    assert vectors[1].tobytes() == vectors[2].tobytes()
    np.testing.assert_allclose(vectors[1], ENCODER.transform([beginning])[0], atol=1e-6)
    with pytest.warns(
        UserWarning, match=r"the longest sentence has 10,002 words; sentences are truncated to 9 words"
    ) as caught:
        cut = make(max_words=9).fit([[long, "bar"], [long]])
    assert len(caught) == 1
    exact = make(max_words=9).fit([["bar carn belm " * 3, "bar"], ["bar carn belm " * 3]])
    assert cut.transform(["bar", "carn belm"]).tobytes() == exact.transform(["bar", "carn belm"]).tobytes()


def test_a_row_depends_on_no_other():
    texts = [*QUERIES, *PARAGRAPHS, "bar " * 50]
    together = ENCODER.transform(texts)
    for row, text in enumerate(texts):
        np.testing.assert_allclose(ENCODER.transform([text])[0], together[row], atol=1e-5)
    np.testing.assert_allclose(ENCODER.transform(texts[::-1])[::-1], together, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"masked_weight": 0.5, "word_weight": 0.5, "dropout": 0.2}])
def test_the_same_seed_gives_the_same_bytes_at_any_number_of_threads(options):
    before, found = torch.get_num_threads(), set()
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            for n_jobs in (1, 2):
                encoder = make(**options, n_jobs=n_jobs).fit(PARAGRAPHS)
                found.add((bytes_of(encoder), *(value.numpy().tobytes() for value in weights_of(encoder).values())))
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1
    others = make(**options, random_state=1).fit(PARAGRAPHS)
    assert bytes_of(others) != next(iter(found))[0]


def test_torch_and_numpy_draw_on_where_they_were():
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002 (a user's)
    expected = torch.rand(1).item(), np.random.rand()  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    make(dropout=0.2, masked_weight=1.0).fit(PARAGRAPHS).transform(QUERIES)
    assert (torch.rand(1).item(), np.random.rand()) == expected  # noqa: NPY002


def test_a_users_modes_of_torch_do_not_matter():
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        encoder = make().fit(PARAGRAPHS)
        inside = bytes_of(encoder)
    assert inside == bytes_of(encoder) == bytes_of(ENCODER)


LAYERS = {"layers.0.self_attn.in_proj_weight", "layers.0.linear1.weight", "layers.0.linear2.weight"}


@pytest.mark.parametrize(
    ("head", "learned"),
    [("sentence", {"linear.weight", *LAYERS}), ("word", {"linear.weight"}), ("masked", {"linear.weight", *LAYERS})],
)
def test_each_head_alone_changes_the_weights(head, learned):
    untrained = make(max_epochs=0).fit(PARAGRAPHS)
    options = {"sentence_weight": 0.0, f"{head}_weight": 1.0}
    encoder = make(**options).fit(PARAGRAPHS)
    found = changed(encoder, untrained)
    assert learned <= found
    if head == "word":
        assert found == learned  # it looks at no sentence
    assert {"spelling.weight", "common", "tables.tables.weight"}.isdisjoint(found)
    assert bytes_of(encoder) != bytes_of(untrained)


@pytest.mark.parametrize(("first", "last"), [("word", "masked"), ("masked", "sentence"), ("sentence", "word")])
def test_a_head_that_fades_away_gives_way_to_another(first, last):
    options = {"sentence_weight": 0.0, f"{first}_weight": (1.0, 0.0), f"{last}_weight": (0.0, 1.0)}
    fading = bytes_of(make(**options).fit(PARAGRAPHS))
    for head in (first, last):
        assert fading != bytes_of(make(**{"sentence_weight": 0.0, f"{head}_weight": 1.0}).fit(PARAGRAPHS))
    assert fading != bytes_of(make(**{**options, f"{first}_weight": (0.0, 1.0)}).fit(PARAGRAPHS))


@pytest.mark.parametrize(("loss", "gain"), [("infonce", 0.1), ("bxent", 0.02), ("vmf", 0.1), ("proximity", 0.1)])
def test_sentences_of_a_topic_come_to_be_alike(loss, gain):
    options = {"context_weight": 1.0, "max_epochs": 12, "n_tables": 0, "loss": loss}
    texts = [" ".join(topic[:3]) for topic in TOPICS] + [" ".join(topic[4:7]) for topic in TOPICS]

    def gap(encoder):
        cosines = encoder.transform(texts) @ encoder.transform(texts).T
        same = np.equal.outer(np.arange(8) % 4, np.arange(8) % 4)
        return cosines[same & ~np.eye(8, dtype=bool)].mean() - cosines[~same].mean()

    trained = make(**options, word_steps=0).fit(PARAGRAPHS)
    untrained = make(**options | {"max_epochs": 0}, word_steps=0).fit(PARAGRAPHS)
    assert gap(trained) > gap(untrained) + gain


def test_paragraphs_come_in_many_ways(tmp_path):
    text = "\n\n".join(PARAGRAPHS)
    file = tmp_path / "text.txt"
    file.write_text(text, encoding="utf-8")
    frame = pytest.importorskip("pandas").Series(PARAGRAPHS, index=range(7, 47))
    split = [split_sentences(paragraph) for paragraph in PARAGRAPHS]
    expected = bytes_of(ENCODER)
    for X in (
        split,
        LISTS,
        tuple(PARAGRAPHS),
        iter(PARAGRAPHS),
        np.array(PARAGRAPHS),
        np.array(PARAGRAPHS, dtype=object),
        frame,
        file,
        [file],
        lambda: iter(PARAGRAPHS),
        [*PARAGRAPHS[:5], *split[5:]],
    ):
        assert bytes_of(make().fit(X)) == expected
    assert bytes_of(make(sentence_splitter=str.split).fit(PARAGRAPHS)) != expected
    for wrong in (3, None, {"a": 1}.items(), b"bytes"):
        with pytest.raises((TypeError, ValueError), match="SGNNSentenceEncoder"):
            make().fit(wrong)
    with pytest.raises(FileNotFoundError):
        make().fit(tmp_path / "none.txt")


@pytest.mark.filterwarnings("ignore:.* no paragraph has more than one sentence:UserWarning")
@pytest.mark.parametrize("masked", [0.0, 1.0])
@pytest.mark.parametrize("X", [["bar"], ["bar", "carn"], [["bar", "carn"]], ["🙂", "a"], ["bar carn."] * 3], ids=str)
def test_the_smallest_texts(X, masked):
    encoder = make(masked_weight=masked, word_weight=0.5).fit(X)
    vectors = encoder.transform(["bar", "carn dog", ""])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 0], atol=1e-6)
    assert np.isfinite([entry["train_loss"] for entry in encoder.history_]).all()


def test_paragraphs_of_one_sentence_teach_what_words_are_alone():
    singles = [[sentence] for paragraph in LISTS for sentence in paragraph]
    with pytest.warns(UserWarning, match="no paragraph has more than one sentence with words") as warned:
        encoder = make().fit(singles)
    assert [one.filename for one in warned] == [__file__]
    assert [entry["train_loss"] for entry in encoder.history_] == [0.0, 0.0]
    assert bytes_of(encoder) == bytes_of(make(max_epochs=0).fit(singles))
    make(sentence_weight=(0, 0), word_weight=1.0).fit(singles)  # asks for nothing of the kind, and is not warned
    make().partial_fit(singles)  # a piece of a stream may be anything
    make().fit(["bar", "bar carn. carn."])


def test_without_a_part(tmp_path):
    spelling, use = make(context_weight=0.0), make(context_weight=1.0)
    spelling.fit(PARAGRAPHS)
    use.fit(PARAGRAPHS)
    assert spelling.transform(QUERIES).shape == (6, 16)
    assert use.transform(QUERIES).shape == (6, 8)
    assert (spelling.history_, len(use.history_)) == ([], 2)
    before = bytes_of(spelling)
    assert bytes_of(spelling.partial_fit(PARAGRAPHS)) == before


def test_attributes():
    network = ENCODER.net_.module_.network
    assert ENCODER.n_parameters_ == sum(parameter.numel() for parameter in network.parameters())
    assert [set(entry) for entry in ENCODER.history_] == [{"epoch", "train_loss", "dur"}] * 2
    assert [entry["epoch"] for entry in ENCODER.history_] == [1, 2]
    assert ENCODER.history_[1]["train_loss"] < ENCODER.history_[0]["train_loss"]
    assert 0 <= ENCODER.waiting_share_ <= 1
    assert ENCODER.net_.module_.network.common.shape == (2, 16)
    assert ENCODER.get_feature_names_out().tolist() == [f"sgnnsentenceencoder{number}" for number in range(24)]


def test_similarity():
    left, right = ["bar carn", "bar", "", "BAR"], ["bar carn", "time", "bar", "bar"]
    cosines = ENCODER.similarity(left, right)
    assert cosines.dtype == np.float32
    expected = np.diag(ENCODER.transform(left) @ ENCODER.transform(right).T)
    np.testing.assert_allclose(cosines, expected, atol=1e-6)
    np.testing.assert_allclose(cosines[[0, 2, 3]], [1, 0, 1], atol=1e-6)
    assert ENCODER.similarity([], []).shape == (0,)
    with pytest.raises(ValueError, match=r"needs as many in A as in B\. Got 1 and 2"):
        ENCODER.similarity(["a"], ["a", "b"])


def test_most_similar():
    vectors = ENCODER.transform(PARAGRAPHS)
    queries = ["bar carn", PARAGRAPHS[7], ""]
    indices, similarities = ENCODER.most_similar(queries, PARAGRAPHS, k=5)
    assert (indices.dtype, similarities.dtype) == (np.int64, np.float32)
    assert indices.shape == similarities.shape == (3, 5)
    for query, nearest, expected in zip(ENCODER.transform(queries), indices, similarities, strict=True):
        np.testing.assert_allclose(vectors[nearest] @ query, expected, atol=1e-6)
        np.testing.assert_allclose(np.sort(vectors @ query)[::-1][:5], expected, atol=1e-6)
    assert indices[1, 0] == 7
    assert indices[2].tolist() == [0, 1, 2, 3, 4]  # of equal ones the earlier
    of_vectors = ENCODER.most_similar(queries, vectors, k=5)
    assert np.array_equal(of_vectors[0], indices)
    assert [part.shape for part in ENCODER.most_similar(queries, PARAGRAPHS[:2])] == [(3, 2)] * 2
    assert [part.shape for part in ENCODER.most_similar([], PARAGRAPHS[:2])] == [(0, 2)] * 2
    assert [part.shape for part in ENCODER.most_similar(queries, [])] == [(3, 0)] * 2
    with pytest.raises(ValueError, match="k must be an integer of 1 or more, got 0"):
        ENCODER.most_similar(queries, PARAGRAPHS, k=0)
    with pytest.raises(ValueError, match="k must be an integer of 1 or more, got '5'"):
        ENCODER.most_similar(queries, PARAGRAPHS, k="5")
    with pytest.raises(ValueError, match="the vectors have 7 columns and this encoder's have 24"):
        ENCODER.most_similar(queries, np.zeros((3, 7), dtype=np.float32))


def test_queries_are_compared_a_few_at_a_time(monkeypatch):
    texts = PARAGRAPHS[:3]
    expected = ENCODER.most_similar(PARAGRAPHS, texts, k=2)
    split = np.array_split
    monkeypatch.setattr(np, "array_split", lambda rows, parts, *args: split(rows, max(parts, 7), *args))
    found = ENCODER.most_similar(PARAGRAPHS, texts, k=2)
    assert np.array_equal(found[0], expected[0])


def test_nothing_is_warned_of_and_nothing_printed(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(PARAGRAPHS).transform(QUERIES)
    assert not any(capsys.readouterr())


def test_progress_is_printed(capsys):
    make(verbose=1).fit(PARAGRAPHS)
    out = capsys.readouterr().out
    assert "word pretraining, step" in out
    assert "train_loss" in out
    assert "sentences" not in out
    make(verbose=2, log_every=3, monitor=lambda encoder: 0.25).fit(PARAGRAPHS)
    out = capsys.readouterr().out
    assert "untrained: score 0.2500" in out
    assert "words: score 0.2500" in out
    assert "sentences, epoch 2, step 6, train_loss" in out


def test_the_defaults_make_vectors_of_few_paragraphs():
    texts = ["The cat sleeps. It purrs.", "Shares fell. Investors sold them.", "Rain came. It rained all night."]
    encoder = SGNNSentenceEncoder(random_state=0, width=32, feedforward_size=32, n_tables=0).fit(texts)
    same, other = encoder.similarity(["A cat slept.", "A cat slept."], ["The cat sleeps.", "Shares fell."])
    assert same > other
