"""``hashnlp explain``: which n-grams of a text a prediction is due to."""

from __future__ import annotations

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, TextFile, TextOptions
from sklearn_hashnlp.cli._pipelines import last_step, load_classifier, predict_topk
from sklearn_hashnlp.cli._predict import note_read
from sklearn_hashnlp.cli._reading import find_format, open_texts
from sklearn_hashnlp.cli._screen import Screen


@reporting_errors
def explain(
    model: ModelFolder,
    reading: TextOptions,
    screen: Screen,
    file: TextFile = None,
    labels: list[str] | None = typer.Option(
        None,
        "--label",
        "-l",
        metavar="LABEL",
        help="Label to explain; repeatable. Default: predicted.",
    ),
    top: int = typer.Option(
        10, "--top", "-k", metavar="K", min=1, help="Print the K most important n-grams."
    ),
) -> None:
    """Explain predictions: what each n-gram of a text adds to the score of a label.

      echo "Win a prize now!" | hashnlp explain --model spam
      hashnlp explain --model spam mails.csv --text-column body
      hashnlp explain --model spam new.txt --label ham --top 5
      hashnlp explain --model spam new.txt --json | jq .labels

    FILE is read as by hashnlp predict. For each text the label is printed with its score and
    probability, the text in colors, and the n-grams with the largest contributions; all
    contributions and the bias add up to the score.

    --label chooses labels, and may be repeated; the default is the predicted one. With --json each
    line is an object with score, bias and n-grams of each label, and their positions in the text.
    """
    find_format(file, reading)
    classifier = load_classifier(model)
    from sklearn_hashnlp.inspection import explain as explanation_of

    known = {str(label): label for label in classifier.classes_.tolist()}
    for name in labels or ():
        if name not in known:
            shown = ", ".join(list(known)[:10]) + (", ..." if len(known) > 10 else "")
            raise typer.BadParameter(
                f"--label {name}: expected a label of the model, such as {shown}."
            )
    has_one_score = len(classifier.classes_) == 2 and not last_step(classifier).multilabel_
    n_texts = 0
    with open_texts(screen, file, reading) as texts:
        for text in texts:
            chosen = [known[name] for name in labels or ()] or [
                predict_topk(classifier, [text.text], 1)[0][0][0]
            ]
            try:
                explanation = explanation_of(
                    classifier, text.text, labels=None if has_one_score else chosen
                )
            except TypeError as error:
                raise ValueError(f"{model}: {error}") from error
            if screen.as_json:
                screen.show_json(explanation.to_dict(n=top, labels=chosen))
            else:
                screen.show(explanation.to_rich(chosen, n=top))
            n_texts += 1
    note_read(screen, file, texts, n_texts)
