"""The parts of SGNNClassifier and its quantized form: dense rows, network, layers of integers."""
