"""Tests of the table and the picture of the README: both are those of the stored results."""

import importlib
import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks.commands.docs import README


@pytest.fixture
def tables():
    return importlib.import_module("benchmarks.commands.readme_tables")


def test_the_table_quotes_what_was_measured(tables):
    results = tables.results()
    assert tables.markdown(results) in README.read_text(encoding="utf-8")
    results["vectorizers"]["cases"]["words 1-2"]["ratio"] = 77.0
    assert "77 times as fast" in tables.markdown(results)


def test_only_results_of_today_s_code_are_quoted(tables):
    for name, result in tables.results().items():
        parts = [result] if name != "classifiers" else [result["speed"], result["prediction"]]
        assert not any("changed since" in part for part in parts), name


def test_the_picture_shows_what_was_measured(monkeypatch, tmp_path):
    module = importlib.import_module("benchmarks.commands.readme_picture")
    stored = module.PICTURE.read_text(encoding="utf-8")
    monkeypatch.setattr(module, "PICTURE", tmp_path / "readme.svg")
    module.update_picture()
    assert (tmp_path / "readme.svg").read_text(encoding="utf-8") == stored
    ElementTree.fromstring(stored)
    assert len(stored) < 10_000


def test_a_faster_model_is_further_to_the_left_and_a_lost_comparison_has_another_color():
    module = importlib.import_module("benchmarks.commands.readme_picture")
    models = [module.Point("TextClassifier", 1.0, 91.0), module.Point("other <b>", 2.0, 90.0)]
    picture = module.draw(models, [module.Ratio("training", "x", 10.0), module.Ratio("one text", "x", 0.1)])
    svg = "{http://www.w3.org/2000/svg}"
    tree = ElementTree.fromstring(picture)
    ours, other = (circle.attrib for circle in tree.iter(f"{svg}circle"))
    assert float(ours["cx"]) < float(other["cx"])
    assert float(ours["cy"]) < float(other["cy"])  # higher
    won, lost = (bar.attrib for bar in tree.iter(f"{svg}rect"))
    assert won["fill"] == ours["fill"] != lost["fill"] == other["fill"]
    assert float(lost["x"]) < float(won["x"])
