"""Descriptions of the columns that mlp's sizes, tunings and curve have in the tables."""

COLUMNS = {
    "layers": "the widths of the layers, from the inputs to the outputs",
    "activation": "the activation function of the hidden layers",
    "images": "images of an epoch",
    "batch": "images of a batch",
    "epochs": "epochs that were checked",
    "rate": "the learning rate",
    "tile": "rows and columns of a block's tile of activations or deltas; 0: chosen for each layer",
    "bm": "rows of a block's tile of a product of images; 0: chosen for each product",
    "bn": "columns of a block's tile of a product of images; 0: chosen for each product",
    "block": "threads of a block; 0: chosen from the widths",
    "groups": "groups of four units of a hidden layer that a block can have; 0: chosen from the widths",
    "memory": "the kind of host memory that holds the weights: page-locked (pinned) or pageable",
    "epoch": "the number of the epoch, from 1",
    "loss": "the mean loss over the epoch's batches",
    "reference_loss": "the same of the reference in float64",
    "loss_bound": "the bound of the difference of the two losses",
    "accuracy": "the share of the test images that the network classifies correctly after the epoch",
}
