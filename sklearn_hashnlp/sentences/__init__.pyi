from sklearn_hashnlp.sentences._distilled_sentence_encoder import DistilledSentenceEncoder
from sklearn_hashnlp.sentences._sentence_parameters import Network, Objectives
from sklearn_hashnlp.sentences._sgnn_sentence_encoder import SGNNSentenceEncoder

__all__ = ["DistilledSentenceEncoder", "Network", "Objectives", "SGNNSentenceEncoder"]
