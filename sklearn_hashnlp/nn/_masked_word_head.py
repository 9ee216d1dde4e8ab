"""Which word stood in a place that was hidden, with no list of words."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class MaskedWordHead(nn.Module):
    """Guess hidden words from what an encoder made of their places, among the different words of the batch.

    A linear layer makes of the encoder's vector of a hidden place a guess at the word's own vector. The probability of
    a word is the softmax, over the batch's different words, of the cosine between guess and vector divided by the
    temperature. As there is no list of words, the batch is all there is to choose from.

    Parameters
    ----------
    width : int
        Columns of the encoder's vectors and of the words' vectors.
    temperature : float, default=0.05
        Positive.

    Attributes
    ----------
    linear : torch.nn.Linear
        From an encoder's vector to a guess.

    Raises
    ------
    ValueError
        If a parameter is not as described.

    References
    ----------
    .. [1] Devlin, Chang, Lee & Toutanova (2019). BERT: pre-training of deep bidirectional transformers for language
           understanding. NAACL, arXiv:1810.04805, section 3.1, "masked LM".

    Examples
    --------
    >>> import torch
    >>> from sklearn_hashnlp.nn import MaskedWordHead, SGNNTransformer, WordBatch
    >>> network = SGNNTransformer(n_features=40, width=16, n_layers=2, n_heads=2, feedforward_size=32)
    >>> head = MaskedWordHead(16)
    >>> words = torch.tensor([[0, 1, 2], [2, 0, -1]])
    >>> hidden = torch.tensor([[False, True, False], [True, False, False]])
    >>> batch = WordBatch(torch.randn(3, 40), words, (words >= 0).float())
    >>> encoded = network.encode_words(batch, hidden=hidden)
    >>> head(encoded, network.word_vectors(batch.projections), words, hidden).shape
    torch.Size([])
    """

    def __init__(self, width: int, temperature: float = 0.05) -> None:
        super().__init__()
        if width < 1:
            raise ValueError(f"MaskedWordHead: width must be 1 or more, got {width}.")
        if not temperature > 0:
            raise ValueError(f"MaskedWordHead: temperature must be positive, got {temperature}.")
        self.temperature = temperature
        self.linear = nn.Linear(width, width)

    def forward(self, encoded: Tensor, vectors: Tensor, words: Tensor, hidden: Tensor) -> Tensor:
        """Compute how badly hidden words are guessed.

        Parameters
        ----------
        encoded : Tensor of shape (n_sentences, longest, width)
            What :meth:`SGNNTransformer.encode_words` made of the sentences without their hidden words.
        vectors : Tensor of shape (n_different, width)
            What :meth:`SGNNTransformer.word_vectors` made of the batch's different words.
        words : Tensor of shape (n_sentences, longest), dtype int64
            Each word's row in ``vectors``; -1 is padding.
        hidden : Tensor of shape (n_sentences, longest), dtype bool
            Which places were hidden; padding among them does not count.

        Returns
        -------
        Tensor of shape ()
            The mean negative log-probability of the hidden words; zero if there are none.
        """
        hidden = hidden & (words >= 0)
        hidden_words = words[hidden]
        guesses = functional.normalize(self.linear(encoded[hidden]).float(), dim=1)
        candidates = functional.normalize(vectors.float(), dim=1)
        scores = functional.linear(guesses, candidates).float() / self.temperature
        total = functional.cross_entropy(scores, hidden_words, reduction="sum")
        return total / max(len(hidden_words), 1)

    def extra_repr(self) -> str:
        """Describe the head in ``repr``.

        Returns
        -------
        str
            Its temperature.
        """
        return f"temperature={self.temperature}"
