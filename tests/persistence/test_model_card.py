"""The model card: what it says, that it is the same each time, and that hostile names are only
text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_hashnlp.classifiers import TextClassifier
from sklearn_hashnlp.persistence import save_model
from sklearn_hashnlp.persistence._model_card import MARK, escape

TEXTS = ["a fine film", "a dull film", "so fine", "so dull"]
HOSTILE = [
    "a|b",
    "<script>alert(1)</script>",
    "[x](https://example.org)",
    "https://example.org",
    "www.example.org",
    "`code` *bold* _x_ ~~y~~",
    "<!-- -->",
    "a & b &amp; c",
    "# title",
    "![x](y)",
    "\\",
    "1. one",
    "- item",
]


def _fit(labels: list[str], **parameters: object) -> TextClassifier:
    small = {"n_buckets": 64, "n_embeddings": 256, "features": "words", "random_state": 0}
    return TextClassifier(**small | parameters).fit(TEXTS, labels)


def _rows(card: str) -> dict[str, str]:
    return dict(re.findall(r"^\| (.+) \| (.+) \|$", card, flags=re.MULTILINE))


def test_the_card_describes_the_model(tmp_path: Path) -> None:
    model = _fit(["good", "bad"] * 2, class_weight="balanced")
    save_model(
        model,
        tmp_path / "m",
        precision="int8",
        card={"Validation": {"accuracy": 0.875, "texts": 1200}},
    )
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert card.startswith(f"{MARK}\n# TextClassifier\n")
    assert "2 labels" in card
    assert "bad, good" in card
    assert 'load_model("FOLDER")' in card
    assert 'model.predict(["some text"])' in card
    assert f"```python\n{model!r}\n```" in card
    rows = _rows(card)
    assert (rows["accuracy"], rows["texts"]) == ("0.875", "1,200")
    assert rows["parameters"] == f"{model.n_parameters_:,}"
    assert rows["precision of tables"] == "int8"
    assert rows["objective"] == f"{model.history_[-1]['objective']:.6g}"
    assert rows["numpy"] == np.__version__.replace(".", "\\.")


def test_a_readme_of_the_user_stays(tmp_path: Path) -> None:
    model, path = _fit(["good", "bad"] * 2), tmp_path / "m" / "README.md"
    save_model(model, tmp_path / "m")
    own = path.read_text(encoding="utf-8").removeprefix(f"{MARK}\n")
    path.write_text(own, encoding="utf-8")
    save_model(model, tmp_path / "m", precision="int8")
    assert path.read_text(encoding="utf-8") == own
    path.unlink()
    os.mkfifo(path)
    save_model(model, tmp_path / "m")
    assert path.is_fifo()


def test_names_are_text_wherever_they_stand(tmp_path: Path) -> None:
    model = _fit([HOSTILE[0], HOSTILE[1]] * 2, class_weight=dict.fromkeys(HOSTILE[:2], 2.0))
    save_model(
        model,
        tmp_path / "m",
        card={"<b>Labels</b>": {name: name for name in HOSTILE}, "```": {"x": "```"}},
    )
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(card)
    inline = [token for block in tokens for token in block.children or ()]
    assert {token.type for token in inline} <= {"text", "text_special"}
    assert [token.content.splitlines() for token in tokens if token.type == "html_block"] == [
        [MARK]
    ]
    cells = [token.content for token in tokens if token.type == "inline"]
    rendered = [
        "".join(child.content for child in token.children)
        for token in tokens
        if token.type == "inline" and token.children
    ]
    assert [text for text in rendered if text in HOSTILE] == [
        name for name in HOSTILE for _ in range(2)
    ]
    assert "<b>Labels</b>" in rendered
    assert len(cells) > 2 * len(HOSTILE)


def test_what_cannot_be_seen_is_escaped_and_what_is_long_is_cut() -> None:
    assert escape("a\nb\u202ec\ud800\u2028") == "a\\\\nb\\\\u202ec\\\\ud800\\\\u2028"
    assert escape("क्\u200dष 👩\u200d💻") == "क्\u200dष 👩\u200d💻"
    assert escape("x" * 1000) == "x" * 200 + "…"
    assert [
        escape(value) for value in (1234, 0.1 + 0.2, True, None, np.float32(0.5), (1, "|"))
    ] == [
        "1,234",
        "0.3",
        "True",
        "None",
        "0.5",
        "\\(1, '\\|'\\)",
    ]


@pytest.mark.parametrize("card", ["text", {"Metrics": 0.9}, [("a", {})]])
def test_a_card_that_is_no_dict_of_tables_is_refused(tmp_path: Path, card: object) -> None:
    with pytest.raises(TypeError, match="must be a dict of tables"):
        save_model(HashingVectorizer(), tmp_path / "m", card=card)
    assert not (tmp_path / "m").exists()
