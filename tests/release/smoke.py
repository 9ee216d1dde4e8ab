"""Use an installed sklearn-hashnlp, and its command; the arguments are the paths of the command and
of the README.
"""

import doctest
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import sklearn_hashnlp as package

TEXTS = [
    "what a fine film",
    "I was bored to tears",
    "funny, warm and wise",
    "dull from start to end",
] * 5
LABELS = ["good", "bad", "good", "bad"] * 5


def main(command: str, readme: str) -> None:
    assert "site-packages" in package.__file__, package.__file__
    assert importlib.metadata.version("sklearn-hashnlp") == package.__version__
    for name in package.__all__:
        assert getattr(package, name) is not None
    model = package.TextClassifier(random_state=0).fit(TEXTS, LABELS)
    package.save_model(model, "model")
    assert (package.load_model("model").predict_proba(TEXTS) == model.predict_proba(TEXTS)).all()
    words = package.KneserNeyLanguageModel(order=2).fit(["a b", "a b c"])
    assert words.predict(["a"]) == ["b"]
    rows = "".join(f"{label}\t{text}\n" for label, text in zip(LABELS, TEXTS, strict=True))
    Path("texts.tsv").write_text(f"label\ttext\n{rows}", encoding="utf-8")
    version = run(command, "--version")
    assert version == f"hashnlp {package.__version__}", version
    run(command, "train", "texts.tsv", "--model", "trained", "--quiet")
    label = run(command, "predict", "--model", "trained", text="warm, fine and funny\n")
    assert label == "good", label
    run_readme(Path(readme))
    print(
        f"sklearn-hashnlp {package.__version__} works in an empty environment, Python "
        f"{sys.version.split()[0]}"
    )


def run_readme(path: Path) -> None:
    """Run the examples of the README in Python and, where there is one, in a shell."""
    result = doctest.testfile(
        str(path),
        module_relative=False,
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert result.attempted
    assert not result.failed
    if Path("/bin/sh").exists():
        page = path.read_text(encoding="utf-8")
        ((script, expected),) = re.findall(
            r"```sh\n(printf .*?)```\s+```text\n(.*?)```", page, re.DOTALL
        )
        printed = run("/bin/sh", "-c", script)
        assert printed == expected.strip(), printed


def run(*command: str, text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
