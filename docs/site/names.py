"""Public names: links between the chapters and the reference, and from both to other packages."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
FENCED = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
"""The code of a Markdown page."""
PACKAGE = "sklearn_hashnlp"

CHAPTERS = {
    "classifiers": "classifier",
    "text": "text_features",
    "language": "language_model",
    "sentences": "sentence_encoder",
    "nn": "nn",
    "optim": "nn",
    "training": "callbacks",
    "trees": "trees",
    "persistence": "saving",
    "datasets": "data",
    "inspection": "inspection",
    "plotting": "tutorial",
}
"""Public folder -> the chapter that explains it."""

CHAPTERS_OF_NAMES = {
    "CacheLanguageModel": "mixtures",
    "CharNgramFeaturizer": "character_ngrams",
    "EarlyStopping": "classifier",
    "EmbeddingTables": "hash_embeddings",
    "HashEmbedding": "hash_embeddings",
    "HashEmbeddingBag": "hash_embeddings",
    "HashEmbeddingClassifier": "hash_embeddings",
    "HierarchicalSoftmax": "trees",
    "InterpolatedLanguageModel": "mixtures",
    "KneserNeyLanguageModel": "kneser_ney",
    "NPLM": "language_model",
    "NgramHashEmbedding": "ngram_memory",
    "QuantizedSGNNClassifier": "on_device",
    "ReliabilityDisplay": "probabilities",
    "RobustnessDisplay": "robustness",
    "SGNNClassifier": "sgnn",
    "SGNNProjection": "sgnn",
    "SGNNProjector": "sgnn",
    "SGNNTransformer": "sentence_encoder",
    "SGNNWordProjector": "sgnn",
    "Schedule": "classifier",
    "TrainingHistoryDisplay": "callbacks",
    "distort_texts": "robustness",
    "export_predictor": "serving",
    "load_fasttext": "coming_from_fasttext",
    "load_word_vectors": "coming_from_gensim",
    "make_fasttext_classifier": "coming_from_fasttext",
    "merge_classifiers": "larger_than_one_machine",
    "project_words": "sgnn",
    "quantize_classifier": "on_device",
    "save_fasttext": "coming_from_fasttext",
    "save_word_vectors": "coming_from_gensim",
    "tune_text_classifier": "tuning",
}
"""Public name -> its chapter, where it is not that of the folder."""

ELSEWHERE = {
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{}.html",
    "torch": "https://docs.pytorch.org/docs/stable/generated/{}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
    "csv": "https://docs.python.org/3/library/csv.html#{}",
}
"""Package -> address of the page of a name, so that no inventory is downloaded."""

_LINK_OR_CODE = re.compile(
    r"!?\[[^\[\]]*\]\([^)]*\)|^#.*$|(?<![`}])`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)", re.MULTILINE
)


@cache
def public_names() -> dict[str, str]:
    """Return name, also with its folder and package before it -> full name."""
    result = {}
    for folder in CHAPTERS:
        for name in import_module(f"{PACKAGE}.{folder}").__all__:
            full_name = f"{PACKAGE}.{folder}.{name}"
            result |= {f"{folder}.{name}": full_name, full_name: full_name}
            # Other words may name a command or a parameter.
            if name[0].isupper() or "_" in name:
                result |= {name: full_name, f"{PACKAGE}.{name}": full_name}
    return result


def link_names(text: str) -> str:
    """Return a Markdown text with each public name, or method of one, linked to the reference."""
    parts = FENCED.split(text)
    parts[::2] = [_LINK_OR_CODE.sub(_as_link, part) for part in parts[::2]]
    return "".join(parts)


def _as_link(match: re.Match[str]) -> str:
    for name, rest in ((match[1], ""), (match[1] or "").rpartition(".")[::2]):
        full_name = public_names().get(name or "")
        if full_name is not None and (not rest or _has(full_name, rest)):
            attribute = f".{rest}" if rest else ""
            return f"{{py:obj}}`{match[0][1:-1]} <{full_name}{attribute}>`"
    return match[0]


def _has(full_name: str, attribute: str) -> bool:
    """Return whether a public class has a method or a fitted attribute that it documents."""
    module, _, name = full_name.rpartition(".")
    return hasattr(getattr(import_module(module), name), attribute)


def chapter_of(full_name: str) -> tuple[str, str]:
    """Return the page that explains a public name, and its title."""
    folder, name = full_name.split(".")[1:3]
    page = CHAPTERS_OF_NAMES.get(name, CHAPTERS[folder])
    return page, (DOCS / f"{page}.md").read_text(encoding="utf-8").partition("\n")[0].removeprefix(
        "# "
    )


def link_elsewhere(_app: Any, _env: Any, node: Any, shown: Any) -> Any:
    """Link a docstring's name of another package; called by Sphinx for names it does not know."""
    from docutils import nodes  # comes with Sphinx, which the tests do without

    name = node.get("reftarget", "")
    address = ELSEWHERE.get(name.partition(".")[0]) if node.get("refdomain") == "py" else None
    return (
        None
        if address is None
        else nodes.reference("", "", shown, internal=False, refuri=address.format(name))
    )
