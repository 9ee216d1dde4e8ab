"""Views of an explanation: HTML that escapes what it shows, and a terminal."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from sklearn_hashnlp.inspection._explanation import Explanation
from sklearn_hashnlp.inspection._text_columns import Feature

HOSTILE = (
    "</div><script>alert(1)</script>\n<img src=x onerror=alert(2)>\t&amp; "
    "\u202e\x00\x1b[31m \"quoted'"
)
TAGS = {"div", "style", "b", "details", "summary", "span", "table", "tbody", "tr", "td", "bdi"}


def make(text: str = "a fine, fine film", label: Any = "good", **changes: Any) -> Explanation:
    features = [
        Feature("fine", "words", 3, 1.0, [(2, 6), (8, 12)]),
        Feature("film", "words", 4, 0.5, [(13, 17)]),
        Feature(" f", "characters", 4, 0.5, [None]),
        Feature("</s>", "words", 5, 1.0, [None]),
    ]
    arguments: dict[str, Any] = {
        "text": text,
        "classes": np.array(["bad", label, "so so"], dtype=object),
        "labels": np.array(["bad", label, "so so"], dtype=object),
        "predicted": label,
        "scores": np.array([-1.0, 1.5, 0.0]),
        "probabilities": np.array([0.1, 0.7, 0.2]),
        "bias": np.array([0.0, 0.5, 0.0]),
        "features": features,
        "contributions": np.array(
            [[-0.5, 1.2, 0.0], [-0.5, -0.2, 0.0], [0.0, 0.1, 0.0], [0.0, -0.1, 0.0]]
        ),
        "method": "linear",
    }
    return Explanation(**arguments | changes)


class Page(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.shown: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.shown.append(data)


def test_html_shows_labels_the_text_and_ngrams() -> None:
    page = Page(make()._repr_html_())
    shown = "".join(page.shown)
    assert not page.open
    assert "Predicted: good" in shown
    assert "score +1.500, probability 0.700" in shown
    assert "+1.200fine words, 2 times" in shown
    assert "␣f characters, in one column with “film”" in shown
    assert "+0.500bias" in shown
    assert page.tags.count("details") == 3
    assert ("title", "+0.600") in page.attributes  # of each "fine"
    assert "a fine, fine film" in shown.replace("\n", "")
    assert Page(make().to_html(["bad"], n=1)).tags.count("details") == 1
    assert "3 more n-grams" in make().to_html(["bad"], n=1)
    assert "Integrated gradients." in make(method="integrated gradients").to_html()


def test_html_escapes_hostile_texts_labels_and_ngrams() -> None:
    features = [
        Feature(HOSTILE, HOSTILE, 1, 1.0, [(0, 9)]),
        Feature(f"{HOSTILE}2", "x", 1, 1.0, [(0, len(HOSTILE))]),
    ]
    explanation = make(
        HOSTILE,
        label=HOSTILE,
        features=features,
        contributions=np.array([[0.5, 0.5, 0], [0.1, -0.4, 0.0]]),
    )
    page = Page(explanation._repr_html_())
    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= {"class", "style", "title", "dir", "open"}
    assert not page.open
    html = explanation._repr_html_()
    assert not set(html) & {"\x00", "\x1b", "\u202e"}
    assert "<script" not in html
    assert "<img" not in html
    assert "alert(1)" in "".join(page.shown)


def printed(explanation: Explanation, **options: Any) -> str:
    stream = StringIO()
    Console(file=stream, width=100, **options or {"no_color": True}).print(explanation)
    return stream.getvalue()


def test_terminal() -> None:
    shown = printed(make(HOSTILE[:40]), force_terminal=True, color_system="256")
    assert "38;5;" in shown or "48;5;" in shown
    shown = printed(make())
    assert "good  score +1.500  probability 0.700" in shown
    assert "+1.200  ████████████  fine" in shown
    assert "in one column with film" in shown
    shown = printed(make(HOSTILE, label="[bold]x[/bold]"))
    assert "[bold]x[/bold]" in shown
    assert not set(shown) & {"\x00", "\x1b", "\u202e"}


def test_small_weights_have_a_color_on_a_terminal_too() -> None:
    _, text, _ = make().to_rich().renderables  # type: ignore[union-attr]  # of a group
    assert {str(span.style) for span in text.spans if span.style} == {
        "white on color(25)",
        "black on color(223)",
    }


def test_print_and_repr() -> None:
    assert str(make()).splitlines() == [
        "   +1.2000  fine  (words)",
        "   -0.2000  film  (words)",
        "   +0.1000  ␣f  (characters)",
        "   -0.1000  </s>  (words)",
        "   +0.5000  bias",
        "   +1.5000  score of 'good'",
    ]
    assert repr(make()) == "<Explanation of 'a fine, fine film': 'good', 4 n-grams>"
    many = make(
        features=[Feature(str(i), "", i, 1.0, []) for i in range(30)],
        contributions=np.ones((30, 3)),
    )
    assert len(str(many).splitlines()) == 13


def test_two_classes() -> None:
    binary = make(
        classes=np.array(["bad", "good"]),
        labels=np.array(["good"]),
        predicted="bad",
        scores=np.array([-1.0]),
        probabilities=np.array([0.25]),
        bias=np.array([0.5]),
        contributions=np.array([[-1.0], [-0.5], [0.0], [0.0]]),
    )
    assert binary.shown_labels() == ["bad"]
    assert binary.top(1) == [("fine", 1.0)]
    assert "score +1.000, probability 0.750" in "".join(Page(binary.to_html()).shown)
    for view in (binary.to_html(), str(binary), printed(binary)):
        assert "+0.000" in view
        assert "-0.000" not in view  # the zeros with the opposite sign
    with pytest.raises(ValueError, match="labels 'bad', 'good'; got 'so so'"):
        binary.top(1, "so so")


def test_a_single_label_in_place_of_several_is_refused() -> None:
    for show in (make().to_dict, make().to_html, make().to_rich):
        with pytest.raises(TypeError, match=r"For one: labels=\['good'\]"):
            show(labels="good")


def test_json() -> None:
    answer = json.loads(json.dumps(make().to_dict(n=2, labels=["good"])))
    [label] = answer.pop("labels")
    assert answer == {"text": "a fine, fine film", "predicted": "good", "method": "linear"}
    ngrams = label.pop("ngrams")
    assert label == {"label": "good", "score": 1.5, "bias": 0.5, "probability": 0.7}
    assert ngrams[0] == {
        "ngram": "fine",
        "kind": "words",
        "column": 3,
        "contribution": 1.2,
        "spans": [[2, 6], [8, 12]],
        "shared_with": [],
    }
    assert [ngram["shared_with"] for ngram in ngrams] == [[], [" f"]]
    assert len(make().to_dict()["labels"]) == 3
