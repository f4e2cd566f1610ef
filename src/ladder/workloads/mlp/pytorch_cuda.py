"""Peer: the training in PyTorch on a GPU, the data set resident.

With `graph`, a whole epoch is one CUDA graph. With `compiled`, a step is written by hand and compiled, as on the CPU;
both together are PyTorch's fastest form.
"""

import functools
from typing import Literal

import torch

from ladder.harness.contract import Problem, Run
from ladder.workloads.mlp import pytorch

DEVICE = "cuda"
RUNTIME = "cuda"
PEER = True
REQUIRES = ("torch", "cupy")


def setup(problem: Problem, *, graph: Literal["off", "on"] = "off", compiled: Literal["off", "on"] = "off") -> Run:
    """One epoch of mini-batch SGD; the parameters share their memory with the problem's arrays."""
    run = pytorch.epoch(problem, torch.from_dlpack, compiled)
    return capture_graph(run) if graph == "on" else run


def capture_graph(run):
    """A function that launches a CUDA graph of `run`, which first runs on a separate stream, as PyTorch requires."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return functools.partial(replay, graph, run)


def replay(graph, run):
    """Launch a graph; `run` keeps alive the tensors whose addresses the graph holds."""
    graph.replay()
