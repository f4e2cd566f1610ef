"""The numbers of fused multiply-adds in registers, without tensor cores, of the first machine with a card."""

from ladder.report.latex import rate
from ladder.report.phrases import with_prefix
from ladder.report.study import best_rate
from ladder.workloads.fma import SIZES
from ladder.workloads.gemm.paper.card import on_card


def numbers(found):
    """Every key's value: FLOP/s by dtype."""
    rates = {dtype: multiply_adds(on_card(found), dtype) for dtype in SIZES["dtype"]}
    return with_prefix("fma/gpu", {dtype: rate(best, "flops") if best else None for dtype, best in rates.items()})


def multiply_adds(found, dtype):
    """The best FLOP/s ever sampled of fused multiply-adds without tensor cores, or None."""
    return best_rate(found.samples("ceiling_gpu_fma", dtype=dtype), "flops")
