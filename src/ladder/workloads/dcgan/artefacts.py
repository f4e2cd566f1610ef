"""The artefacts: a trained generator of digits, in the earlier study's format, and a sheet of its pictures.

Training takes minutes on a GPU and isn't bitwise reproducible, so it isn't measured. The trained network is published,
rounded to 11 significant bits, which halves the compressed file.
"""

from importlib.util import find_spec

from ladder.data import dataset
from ladder.errors import LadderError
from ladder.workloads import dcgan
from ladder.workloads.dcgan import gallery

ARTEFACTS = {"learned.bin": "mnist", "pictures.png": "dcgan/learned.bin"}


def make(name, path, data):
    """Write `learned.bin` from a folder of digits, or `pictures.png` from a network. Raises LadderError if it can't."""
    if name == "pictures.png":
        gallery.write(path, dcgan.load_data(data))
        return
    digits = dataset.load(data).train_images
    require_torch_gpu()
    from ladder.workloads.dcgan import learning  # imported here, because PyTorch is optional

    learning.train(digits).astype("<f4").tofile(path)


def require_torch_gpu():
    """Raise LadderError without PyTorch, or without a GPU that it can use."""
    if not find_spec("torch"):
        raise LadderError(
            "The generator is trained by PyTorch, which isn't installed: `.venv/bin/pip install torch` installs it."
        )
    import torch

    if not torch.cuda.is_available():
        raise LadderError("The generator is trained on a GPU, but PyTorch finds none: train on a machine with a GPU.")
