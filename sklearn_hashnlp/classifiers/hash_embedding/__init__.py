"""The parts of HashEmbeddingClassifier: sparse rows, network, training, scores without torch."""
