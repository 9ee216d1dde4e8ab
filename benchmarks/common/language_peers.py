"""Packages that identify languages, trained by others on other text: how each is called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.peer_packages import Peer, import_peer

PEERS = {
    "lingua": Peer("lingua", "lingua-language-detector"),
    "py3langid": Peer("py3langid", "py3langid"),
    "pycld2": Peer("pycld2", "pycld2"),
    "eldc": Peer("eldc", "eldc"),
}
# Codes of the packages that differ from the codes of the data set, of ISO 639-1; Norwegian is
# Bokmål, because Nynorsk has another code or none
CODES = {"no": "nb", "iw": "he", "zh-Hant": "zh"}
NAMES = {code: name for name, code in CODES.items() if name != "zh-Hant"}

Predict = Callable[[list[str]], list[str]]


class Detector(NamedTuple):
    """The languages of the data set that a package knows, and its answers, restricted to them."""

    languages: list[str]
    predict: Predict
    is_restricted: bool = True


def load_detector(name: str, folder: Path, languages: Iterable[str]) -> Detector:
    """Import a package from its folder, for the languages that it has."""
    detector: Detector = _LOADERS[name](import_peer(PEERS[name], folder), set(languages))
    return detector


def _lingua(module: Any, languages: set[str]) -> Detector:
    codes = {one: one.iso_code_639_1.name.lower() for one in module.Language.all()}
    known = [one for one, code in codes.items() if code in languages]
    builder = module.LanguageDetectorBuilder.from_languages(*known)
    detector = builder.with_preloaded_language_models().build()
    return Detector(
        sorted(codes[one] for one in known),
        lambda texts: [
            codes.get(one, "") for one in detector.detect_languages_in_parallel_of(texts)
        ],
    )


def _py3langid(_module: Any, languages: set[str]) -> Detector:
    own = sys.modules["py3langid.langid"]
    identifier = own.LanguageIdentifier.from_model_file(own.MODEL_FILE)
    names = _names(languages, identifier.labels)
    identifier.set_languages(names.values())
    classify = identifier.classify
    return Detector(
        list(names), lambda texts: [CODES.get(code := classify(text)[0], code) for text in texts]
    )


def _pycld2(module: Any, languages: set[str]) -> Detector:
    """Return the detector, which cannot be restricted; texts that it refuses have no language."""
    detected = set(module.DETECTED_LANGUAGES)
    codes = {CODES.get(code, code) for name, code in module.LANGUAGES if name in detected}

    def first(text: str) -> str:
        try:
            code: str = module.detect(text, isPlainText=True, bestEffort=True)[2][0][1]
        except module.error:
            return ""
        return CODES.get(code, code)

    return Detector(sorted(codes & languages), lambda texts: [first(text) for text in texts], False)


def _eldc(module: Any, languages: set[str]) -> Detector:
    module.init()
    names = _names(languages, module.LANGUAGES)
    module.set_languages(list(names.values()))
    detect = module.detect
    return Detector(
        list(names), lambda texts: [CODES.get(code := detect(text), code) for text in texts]
    )


def _names(languages: set[str], codes: Iterable[str]) -> dict[str, str]:
    """Return the package's code of each language that it knows."""
    known = set(codes)
    names = {code: code if code in known else NAMES.get(code, code) for code in sorted(languages)}
    return {code: name for code, name in names.items() if name in known}


_LOADERS = {"lingua": _lingua, "py3langid": _py3langid, "pycld2": _pycld2, "eldc": _eldc}
