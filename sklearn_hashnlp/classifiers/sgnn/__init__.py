"""The parts of SGNNClassifier and of its quantized form: dense rows, network, layers of integers."""
