from sklearn_hashnlp.sentences._sgnn_sentence_encoder import SGNNSentenceEncoder

__all__ = ["SGNNSentenceEncoder"]
