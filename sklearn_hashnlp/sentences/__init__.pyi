from sklearn_hashnlp.sentences._cooccurrence_encoder import CooccurrenceEncoder
from sklearn_hashnlp.sentences._distilled_sentence_encoder import DistilledSentenceEncoder
from sklearn_hashnlp.sentences._load_pretrained import load_pretrained
from sklearn_hashnlp.sentences._sentence_parameters import Network, Objectives
from sklearn_hashnlp.sentences._sgnn_sentence_encoder import SGNNSentenceEncoder

__all__ = [
    "CooccurrenceEncoder",
    "DistilledSentenceEncoder",
    "Network",
    "Objectives",
    "SGNNSentenceEncoder",
    "load_pretrained",
]
