"""The parts of HashEmbeddingClassifier: sparse rows, network, training steps, scores without torch."""
