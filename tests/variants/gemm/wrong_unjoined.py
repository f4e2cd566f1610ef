"""Wrong on purpose: the product runs in a stream of its own, which the timed one waits for only with joined=yes."""

from typing import Literal

from ladder import cuda

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)


def setup(problem, *, joined: Literal["no", "yes"]):
    """A function that multiplies beside the stream that is timed."""
    cupy = cuda.load_cupy()
    own = cupy.cuda.Stream(non_blocking=True)

    def run():
        timed = cupy.cuda.get_current_stream()
        own.wait_event(timed.record())
        with own:
            cupy.matmul(problem.a, problem.b, out=problem.out)
        if joined == "yes":
            timed.wait_event(own.record())

    return run
