"""Wrong on purpose: the product runs in a stream of its own, for which the timed stream doesn't wait.

With joined=yes it waits, and the product is right.
"""

from typing import Literal

from ladder import cuda

DEVICE = "cuda"
RUNTIME = "cuda"
REQUIRES = ("cupy",)


def setup(problem, *, joined: Literal["no", "yes"]):
    """A function that multiplies beside the stream that is timed."""
    cupy = cuda.load_cupy()
    side_stream = cupy.cuda.Stream(non_blocking=True)

    def run():
        timed = cupy.cuda.get_current_stream()
        side_stream.wait_event(timed.record())
        with side_stream:
            cupy.matmul(problem.a, problem.b, out=problem.out)
        if joined == "yes":
            timed.wait_event(side_stream.record())

    return run
