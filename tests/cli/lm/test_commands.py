"""``hashnlp lm`` with a saved model: score, rank, predict, continue, sample, nearest, and errors of
all.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sklearn_hashnlp import HsigmoidLanguageModel
from sklearn_hashnlp.persistence import load_model, save_model

LINES = ["mat the on sat cat the", "the cat sat on the mat", "a zebra"]
COMMANDS = ["train", "score", "rank", "predict", "test", "sample", "nearest", "mix"]
READERS = ["score", "rank", "predict", "test"]
USES = [*([name] for name in READERS), ["sample"], ["nearest", "cat"]]


@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)])
def test_help_has_examples(hashnlp: Any, command: list[str]) -> None:
    result = hashnlp("lm", *command, "--help")
    assert result.code == 0
    assert result.out.count(" ".join(["hashnlp lm", *command])) >= 2
    if not command:
        assert all(f"hashnlp lm {name}" in result.out for name in COMMANDS)


def expected_output(model: Any, command: str) -> str:
    if command == "score":
        return "".join(
            f"{score:.4f}\t{line}\n"
            for score, line in zip(model.score_samples(LINES), LINES, strict=True)
        )
    if command == "rank":
        indices, scores = model.rank(LINES)
        return "".join(
            f"{score:.4f}\t{LINES[index]}\n" for index, score in zip(indices, scores, strict=True)
        )
    return "".join(f"{word}\n" for word in model.predict(LINES).tolist())


@pytest.mark.parametrize("command", ["score", "rank", "predict"])
def test_lines_of_a_file_and_of_stdin_give_the_figures_of_the_model(
    hashnlp: Any, lm: Path, tmp_path: Path, command: str
) -> None:
    model = load_model(lm)
    expected = expected_output(model, command)
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    for arguments, stdin in (
        ([], "\n".join(LINES)),
        ([tmp_path / "lines.txt"], None),
        (["-"], "\n".join(LINES)),
    ):
        result = hashnlp("lm", command, "--model", lm, *arguments, stdin=stdin)
        assert (result.code, result.out, result.err) == (0, expected, "")
    if command == "predict":
        return
    figure = {"score": "log_probability", "rank": "mean_log_probability"}[command]
    out = hashnlp("lm", command, "-m", lm, "--json", stdin="\n".join(LINES)).out
    for line, pair in zip(map(json.loads, out.splitlines()), expected.splitlines(), strict=True):
        value, sentence = pair.split("\t")
        assert line == {figure: pytest.approx(float(value), abs=1e-4), "sentence": sentence}


def test_a_blank_line_gives_a_blank_score_and_no_rank(hashnlp: Any, lm: Path) -> None:
    stdin = "\na cat\n \na dog\n"
    out = hashnlp("lm", "score", "-m", lm, stdin=stdin).out.split("\n")
    assert [line.split("\t")[-1] for line in out] == ["", "a cat", "", "a dog", ""]
    assert hashnlp("lm", "score", "-m", lm, "--json", stdin="\n").json == {
        "log_probability": None,
        "sentence": "",
    }
    assert len(hashnlp("lm", "rank", "-m", lm, stdin=stdin).out.splitlines()) == 2


def test_perplexity_of_all_lines(hashnlp: Any, lm: Path, sentences: Path) -> None:
    expected = load_model(lm).perplexity(sentences)
    result = hashnlp("lm", "score", "-m", lm, sentences, "--perplexity", "--quiet")
    assert (result.code, result.out) == (0, f"{expected:.4f}\n")
    report = hashnlp(
        "lm", "score", "-m", lm, "--perplexity", "--json", stdin=sentences.read_text()
    ).json
    assert report == {
        "perplexity": expected,
        "mean_log_probability": pytest.approx(-math.log(expected)),
    }


def test_a_sentence_too_short_to_be_scored_has_nan(hashnlp: Any, tmp_path: Path) -> None:
    model = HsigmoidLanguageModel(
        order=5, embedding_dim=2, hidden_size=2, max_epochs=1, padding="reference"
    )
    save_model(model.fit(["I have a dream that one day"]), tmp_path / "m")
    assert hashnlp("lm", "score", "-m", tmp_path / "m", stdin="I have").out == "nan\tI have\n"
    assert (
        hashnlp("lm", "score", "-m", tmp_path / "m", "--json", stdin="I have").json[
            "log_probability"
        ]
        is None
    )
    result = hashnlp("lm", "score", "-m", tmp_path / "m", "--perplexity", stdin="I have")
    assert (result.code, len(result.err.splitlines())) == (1, 1)
    assert "too short" in result.err


def test_a_model_that_reads_across_sentences_reads_all_lines_as_one_text(
    hashnlp: Any, tmp_path: Path
) -> None:
    sizes = {
        "embedding_dim": 4,
        "hidden_size": 4,
        "max_epochs": 3,
        "batch_size": 8,
        "random_state": 0,
    }
    model = HsigmoidLanguageModel(**sizes, far_context=9, across_sentences=True).fit(LINES * 9)
    save_model(model, tmp_path / "m")
    lines = LINES * 670  # of which the command reads 2000 at a time
    out = hashnlp("lm", "score", "-m", tmp_path / "m", stdin="\n".join(lines)).out
    scores = [line.split("\t")[0] for line in out.splitlines()]
    assert scores == [f"{score:.4f}" for score in model.score_samples(lines)]
    assert scores[2000] != f"{model.score_samples([lines[2000]])[0]:.4f}"


def test_top_words_with_probabilities_and_json(hashnlp: Any, lm: Path) -> None:
    [row] = load_model(lm).predict_topk(["the cat"], 2)
    fields = [field for word, probability in row for field in (word, f"{probability:.4f}")]
    assert (
        hashnlp("lm", "predict", "-m", lm, "--top", 2, "--proba", stdin="the cat").out
        == "\t".join(fields) + "\n"
    )
    assert (
        hashnlp("lm", "predict", "-m", lm, "-k", 2, stdin="the cat").out
        == f"{row[0][0]}\t{row[1][0]}\n"
    )
    entries = [
        {"word": word, "probability": pytest.approx(probability)} for word, probability in row
    ]
    assert hashnlp("lm", "predict", "-m", lm, "--json", stdin="the cat").json == entries[0]
    assert hashnlp(
        "lm", "predict", "-m", lm, "--json", "--top", 2, stdin="the cat"
    ).json == entries[0] | {"top": entries}


def test_sampled_sentences_are_those_of_the_model(hashnlp: Any, lm: Path) -> None:
    model = load_model(lm)
    sample = ["lm", "sample", "--model", lm, "--samples", 9, "--seed", 1, "--start", "the dog"]
    expected = model.sample(9, random_state=1, start="the dog")
    result = hashnlp(*sample)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [" ".join(words) for words in expected]
    assert [json.loads(line) for line in hashnlp(*sample, "--json").out.splitlines()] == expected
    short = hashnlp(*sample, "--max-length", 3).out.splitlines()
    assert max(len(line.split()) for line in short) == 3 < max(map(len, expected))
    one, other = (hashnlp("lm", "sample", "-m", lm, "-n", 30).out for _ in range(2))
    assert one != other  # without a seed


def test_an_unknown_word_of_the_start_is_reported(hashnlp: Any, lm: Path) -> None:
    result = hashnlp("lm", "sample", "-m", lm, "--start", "the zebra")
    assert result.err == "Not in the vocabulary of the model: 'zebra'\n"
    assert result.out.startswith("the zebra")


def test_capitals_of_lowercase_and_of_cased_models(hashnlp: Any, lm: Path, tmp_path: Path) -> None:
    line = "the cat sat on the mat"
    result = hashnlp("lm", "score", "-m", lm, stdin=line.capitalize())
    assert result.out == f"{load_model(lm).score_samples([line])[0]:.4f}\t{line.capitalize()}\n"
    assert result.err == "The training text was lowercase, and so words are lowercased.\n"
    cased = HsigmoidLanguageModel(order=2, embedding_dim=2, hidden_size=2, max_epochs=1)
    save_model(cased.fit(["I saw the cat", "Anna saw the dog"]), tmp_path / "m")
    result = hashnlp("lm", "score", "-m", tmp_path / "m", stdin="The cat\nThe dog\nI saw\nZebra\n")
    assert result.err == "'The' is unknown to the model, but 'the' is not: check the capitals.\n"


def test_a_text_with_its_own_tokens_is_sampled_and_scored_without_them(
    hashnlp: Any, tmp_path: Path
) -> None:
    plain = ["i have a dream OOV", "you have a dream OOV"]
    own = [f"BOS {line} EOS" for line in plain]
    model = HsigmoidLanguageModel(
        order=3, embedding_dim=2, hidden_size=2, special_tokens=("BOS", "EOS", "OOV")
    )
    save_model(model.fit(own * 9), tmp_path / "m")
    sampled = hashnlp("lm", "sample", "-m", tmp_path / "m", "-n", 5, "--seed", 0).out
    assert len(sampled.splitlines()) == 5
    assert not {"BOS", "EOS", "<s>", "</s>", "<unk>"} & set(sampled.split())
    outputs = [
        hashnlp("lm", "score", "-m", tmp_path / "m", stdin="\n".join(lines)).out
        for lines in (own, plain)
    ]
    scores, other = ([line.split("\t")[0] for line in out.splitlines()] for out in outputs)
    assert scores == other
    assert len(set(scores)) == 2


def test_a_model_without_padding_names_what_it_needs_to_sample(
    hashnlp: Any, tmp_path: Path
) -> None:
    model = HsigmoidLanguageModel(
        order=4, embedding_dim=2, hidden_size=2, max_epochs=1, padding="reference"
    )
    save_model(model.fit(["i have a dream"] * 9), tmp_path / "m")
    for start in ([], ["--start", "i"]):
        result = hashnlp("lm", "sample", "-m", tmp_path / "m", *start)
        assert (result.code, "after 2 others or more" in result.err, "start=" in result.err) == (
            1,
            True,
            True,
        )
    assert hashnlp("lm", "sample", "-m", tmp_path / "m", "--start", "i have").out.startswith(
        "i have"
    )


def test_similar_words_and_analogies(hashnlp: Any, lm: Path) -> None:
    model = load_model(lm)
    for arguments, expected in (
        (["cat"], model.most_similar("cat", n=3)),
        (["--analogy", "cat", "mat", "dog"], model.analogy("cat", "mat", "dog", n=3)),
    ):
        result = hashnlp("lm", "nearest", "--model", lm, *arguments, "--top", 3)
        assert (result.code, result.err) == (0, "")
        assert result.out == "".join(f"{word}\t{similarity:.4f}\n" for word, similarity in expected)
        similar = hashnlp("lm", "nearest", "-m", lm, *arguments, "-k", 3, "--json").json
        assert [(entry["word"], entry["similarity"]) for entry in similar] == expected


@pytest.mark.parametrize("embedding", [("hash", 100, 10), "sgnn"])
def test_embeddings_without_a_vocabulary_have_vectors_of_all_words(
    hashnlp: Any, tmp_path: Path, embedding: Any
) -> None:
    model = HsigmoidLanguageModel(embedding=embedding, embedding_dim=4, max_epochs=1)
    save_model(model.fit(["the cat sat on the mat"]), tmp_path / "m")
    assert (
        len(hashnlp("lm", "nearest", "-m", tmp_path / "m", "zebra", "-k", 2).out.splitlines()) == 2
    )


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ["predict", "--top", 0],
            ["predict", "--top", 2, "--search", "greedy"],
            ["predict", "-p", "--search", "greedy"],
        ),
        *(["test", "--top", 0], ["test", "--top", 2, "--search", "greedy"]),
        *(
            ["nearest"],
            ["nearest", "cat", "--analogy", "cat", "mat", "dog"],
            ["nearest", "cat", "--top", 0],
        ),
    ],
)
def test_wrong_usage(hashnlp: Any, lm: Path, arguments: list[Any]) -> None:
    assert hashnlp("lm", *arguments, "-m", lm, stdin="a b").code == 2


NO_SENTENCES = "stdin has no sentences; expected one per line, words separated by spaces.\n"
UNKNOWN = "The word 'catt' is not in the vocabulary of the model. Did you mean 'cat'"


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        *(
            (command, stdin, NO_SENTENCES)
            for command in (["rank"], ["score", "-p"])
            for stdin in ("", "\n\n")
        ),
        (["nearest", "catt"], "", UNKNOWN),
        (["nearest", "--analogy", "cat", "catt", "dog"], "", UNKNOWN),
        (["nearest", "xyz"], "", "The word 'xyz' is not in the vocabulary of the model.\n"),
    ],
)
def test_an_error_is_one_line(
    hashnlp: Any, lm: Path, arguments: list[str], stdin: str, message: str
) -> None:
    result = hashnlp("lm", *arguments, "-m", lm, stdin=stdin)
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert result.err.startswith(f"hashnlp: {message}")


@pytest.mark.parametrize("use", USES)
def test_a_folder_without_a_language_model_is_an_error_of_one_line(
    hashnlp: Any, model: Path, tmp_path: Path, use: Any
) -> None:
    (tmp_path / "p" / "epoch-00002").mkdir(parents=True)
    for folder, message in (
        (tmp_path / "nowhere", "the folder does not exist."),
        (tmp_path, "expected parameters.json and weights.safetensors there."),
        (
            model,
            f"{model} is a Pipeline, not a language model; expected a folder of hashnlp lm train.",
        ),
        (
            tmp_path / "p",
            "is a checkpoint folder; use one of its epochs, such as "
            f"{tmp_path / 'p' / 'epoch-00002'}.",
        ),
    ):
        result = hashnlp("lm", *use, "--model", folder, stdin="a cat")
        assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
        assert message in result.err


@pytest.mark.parametrize("command", READERS)
def test_files_that_cannot_be_read(hashnlp: Any, lm: Path, tmp_path: Path, command: str) -> None:
    result = hashnlp("lm", command, "--model", lm, tmp_path / "nothing.txt")
    assert (result.code, result.err) == (
        1,
        f"hashnlp: {tmp_path / 'nothing.txt'} does not exist.\n",
    )
    result = hashnlp("lm", command, "--model", lm, tmp_path)
    assert (result.code, result.err) == (
        1,
        f"hashnlp: {tmp_path} is a folder; expected a text file.\n",
    )
    result = hashnlp("lm", command, "-m", lm, stdin=b"the cat\nb\xe9d\n")
    assert (result.code, len(result.out.splitlines())) == (1, 0 if command == "rank" else 1)
    assert "stdin, line 2: expected UTF-8" in result.err


def test_hashnlp_predict_refers_to_hashnlp_lm(hashnlp: Any, lm: Path) -> None:
    result = hashnlp("predict", "-m", lm, stdin="a cat")
    message = f"hashnlp: {lm} is a language model, not a text classifier; use hashnlp lm.\n"
    assert (result.code, result.err) == (1, message)
