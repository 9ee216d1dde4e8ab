"""load_pretrained: sentence encoders whose weights come with the package."""

from __future__ import annotations

from copy import copy

from sklearn_hashnlp.sentences._distilled_sentence_encoder import DistilledSentenceEncoder
from sklearn_hashnlp.sentences._pretrained_weights import PretrainedName, loaded_encoder


def load_pretrained(name: PretrainedName = "english") -> DistilledSentenceEncoder:
    """Load a sentence encoder that comes with the package, without a download.

    ``"english"``: learned from the vectors of all-MiniLM-L6-v2, a Transformer, for sentences and
    phrases of English Wikipedia, which had no labels. It has 4 bits per coefficient, 6 MB, and
    neither torch nor a dictionary of words. MODEL_CARD.md in its folder describes what it was
    trained on and how good it is; NOTICE has the licenses.

    Parameters
    ----------
    name : {"english"}, default="english"
        Which encoder.

    Returns
    -------
    DistilledSentenceEncoder
        The fitted encoder. A saved model that contains it stores its name, version and SHA-256
        instead of its weights.

    Raises
    ------
    ValueError
        If there is no encoder of this name.

    Examples
    --------
    >>> from sklearn_hashnlp.sentences import load_pretrained
    >>> encoder = load_pretrained("english")
    >>> near, far = encoder.similarity(
    ...     ["How do I reset my password?"] * 2,
    ...     ["I cannot log in any more.", "Which trains go to Rome?"],
    ... )
    >>> bool(near > far)
    True
    """
    encoder: DistilledSentenceEncoder = copy(loaded_encoder(name))
    return encoder
