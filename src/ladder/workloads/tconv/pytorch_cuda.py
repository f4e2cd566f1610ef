"""Peer: PyTorch's transposed convolution on a GPU by cuDNN, its algorithms measured, channels last.

Two forms give our result: with a padding of 1 an output of one row and column more begins where ours does, and these
are cut off; `turned`, with the filter turned round and a padding of 2 with one row and column more behind, it is ours
upside down and back to front. The image is turned before and the result behind, outside the clock, as a network of such
layers would: it turns its first layer's weights and its last layer's pictures. `math` is the arithmetic; what it rounds
is rounded before.
"""

from functools import partial
from typing import Literal

import torch
from torch.nn.functional import conv_transpose2d

from ladder.harness.steps import Steps
from ladder.workloads.dcgan.in_torch import TYPES

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("torch", "cupy")
