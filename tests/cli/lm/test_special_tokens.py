"""Stories of people whose sentences have tokens of their own, and of those who reproduce a reader without padding."""

from __future__ import annotations

import pytest

SENTENCES = ["i have a dream", "i have a dream that one day", "you have a dream that one day"] * 20
TRAIN = (
    "--order",
    4,
    "--set",
    "hidden_size=8",
    "--set",
    "embedding_dim=4",
    "--epochs",
    1,
    "--set",
    "batch_size=16",
    "--quiet",
)


def test_a_text_with_its_own_tokens_is_sampled_without_them(hashnlp, tmp_path):
    (tmp_path / "own.txt").write_text("\n".join(f"BOS {sentence} OOV EOS" for sentence in SENTENCES))
    (tmp_path / "plain.txt").write_text("\n".join(f"{sentence} OOV" for sentence in SENTENCES))
    tokens = ("--set", "special_tokens=('BOS', 'EOS', 'OOV')")
    assert hashnlp("lm", "train", tmp_path / "own.txt", "-m", tmp_path / "lm", *TRAIN, *tokens).code == 0
    sampled = hashnlp("lm", "sample", "-m", tmp_path / "lm", "-n", 5, "--seed", 0).out
    assert len(sampled.splitlines()) == 5
    assert not {"BOS", "EOS", "<s>", "</s>", "<unk>"} & set(sampled.split())
    own, plain = (
        [
            line.split("\t")[0]
            for line in hashnlp("lm", "score", "-m", tmp_path / "lm", tmp_path / name).out.splitlines()
        ]
        for name in ("own.txt", "plain.txt")
    )
    assert own == plain
    assert len(set(own)) == 3


@pytest.mark.parametrize("command", [("sample",), ("sample", "--start", "i")])
def test_a_model_without_padding_says_what_it_needs_to_sample(hashnlp, tmp_path, command):
    (tmp_path / "text.txt").write_text("\n".join(SENTENCES))
    options = (*TRAIN, "--set", "padding=reference")
    assert hashnlp("lm", "train", tmp_path / "text.txt", "-m", tmp_path / "lm", *options).code == 0
    result = hashnlp("lm", *command, "-m", tmp_path / "lm")
    assert result.code == 1
    assert "after 2 others or more" in result.err
    assert "start=" in result.err
    assert hashnlp("lm", "sample", "-m", tmp_path / "lm", "--start", "i have").out.startswith("i have")
