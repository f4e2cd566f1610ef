"""The paper's chapter on the training of a multilayer perceptron."""

ORDER = 20
TITLE = "Training"
TABLES = ("threads", "peers", "gpu", "compared")
