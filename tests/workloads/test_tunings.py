"""Test that no variant ignores a tuning: several values of each tuning are read back from the variant's calls.

The checks of results don't notice an ignored tuning, so a sweep over it would measure the same setting again and again.
A variant runs on stand-ins (`call_log.py`), once per value, and EVIDENCE says how the value shows in the log: in macros
and launches, in calls of libraries, or in variables of the worker. If possible, one of the values is the default; the
logs of the others must differ from its log. Whoever adds a tuning adds an entry to EVIDENCE.
"""

import re

import pytest

import call_log
from ladder.catalogue import setup_arguments, workloads
from ladder.records.case import Case

SIZES = {
    "backprop": {"layers": "784-12-8-10", "images": 40, "epochs": 1, "rate": 0.5, "source": "digits"},
    "dcgan": {"images": 40, "channels": 16},
    "descent": {"n": 32, "kappa": 10.0, "iterations": 4},
    "descent_kernel": {"kernel": "reduction", "n": 64},
    "fma": {"elements": 10_000, "length": 8},
    "gemm": {"m": 64, "n": 64, "k": 64, "dtype": "float32"},
    "gemv": {"n": 64, "m": 48},
    "mlp": {"layers": "784-12-10", "images": 40, "batch": 20, "epochs": 1, "rate": 0.5, "source": "digits"},
    "pattern_input": {"images": 40, "source": "digits"},
    "stream": {"kernel": "triad", "elements": 200_000},
    "tconv": {"images": 8, "h": 4, "c": 8, "k": 4},
}
# Values of required tunings while another tuning is tested.
REQUIRED = {"threads": 2, "ranks": 2, "mode": "resident", "schedule": "static", "binding": "spread", "math": "float16"}
PRODUCTS = {"host": "blas", "cuda": "cublas", "offload": "cublas"}


class Evidence:
    """How the log shows each value of a tuning: by patterns that match a line or more, or (pattern, number of lines).

    `values` is {value: a pattern or a list of patterns}, or the values themselves with one `pattern`, in which a value
    replaces @. `others` are further tunings of the case, `sizes` further sizes. The patterns of a value must match with
    this value, and with no other.
    """

    def __init__(self, values, pattern=None, others=None, sizes=None):
        if pattern:
            values = {value: pattern.replace("@", re.escape(str(value))) for value in values}
        self.values, self.others, self.sizes = values, others or {}, sizes or {}

    def matches(self, value, lines):
        """Whether all patterns of a value match."""
        patterns = self.values[value] if isinstance(self.values[value], list) else [self.values[value]]
        return all(has_pattern(pattern, lines) for pattern in patterns)


def has_pattern(pattern, lines):
    """Whether a pattern matches at least one line, or (pattern, count) exactly `count` lines."""
    pattern, expected = pattern if isinstance(pattern, tuple) else (pattern, None)
    count = sum(bool(re.search(pattern, line)) for line in lines)
    return count > 0 if expected is None else count == expected


def tiling(base, **values):
    """{name: Evidence} of a tiling's parts, each a macro; `base` has all parts, because a case sets all or none."""
    return {name: Evidence(options, rf",{name}=@[, ]", others=base) for name, options in values.items()}


def switch(pattern, off=None, **others):
    """Evidence for a tuning that is off or on: `pattern` matches only if it is on, `off` only if it is off."""
    return Evidence({"off": off or (pattern, 0), "on": pattern}, others=others)


THREADS = Evidence((1, 3), "^OMP_NUM_THREADS=@$")
TORCH_THREADS = Evidence((1, 3), r"^torch\.set_num_threads\(@\)")
RANKS = {"ranks": Evidence((2, 3), "^launched by env -n @$")}
MODE = {"mode": Evidence({"ship": "^runs scatter", "resident": "^prepares scatter"})}
FLAGS = {"flags": Evidence(("O2", "native"), r" dtype=\w+,flags=@[, ]")}
GRAPH = {"graph": switch("^graph")}
TORCH_GRAPH = {"graph": switch(r"^torch\.cuda\.CUDAGraph\(")}
COMPILED = {"compiled": switch(r"^torch\.compile\(")}
TF32 = Evidence({"default": "^TF32 is allowed: False", "tf32": "^TF32 is allowed: True"})
HALF_CASTS = {"float16": r"^torch\..*\.to\(torch\.float16", "bfloat16": r"^torch\..*\.to\(torch\.bfloat16"}
NO_HALF_CASTS = (r"\.to\(torch\.b?float16", 0)
TORCH_MATH = Evidence(
    {
        "default": ["^TF32 is allowed: False False$", NO_HALF_CASTS],
        "tf32": ["^TF32 is allowed: True True$", NO_HALF_CASTS],
        **HALF_CASTS,
    }
)
GEMM = Evidence({"cublas": r"^cublas cublas[SD]gemm", "cuda_naive": "^gemm/cuda_naive "})
LAUNCH = {
    "block": Evidence((64, 128), r" block=\[@\]"),
    "load": Evidence((2, 4), ",load=@ "),
}
THREADS_ALONE = {"threads": THREADS}
BLOCK_2D = {"block": Evidence((8, 16), r",block=@ .* block=\[@ @\]")}
BLOCK_1D = {"block": Evidence((64, 128), r",block=@ .*block=\[@\]")}
BLOCK_3D = {
    "channels": Evidence((1, 2), r",channels=@,.*block=\[@ 4 4\]"),
    "columns": Evidence((2, 4), r",columns=@,.*block=\[2 @ 4\]"),
    "rows": Evidence((2, 4), r",rows=@ .*block=\[2 4 @\]"),
}
# Tunings of a generator on a GPU. `numbers` of `cuda_implicit` are images, rows, channels in and out, and the
# activation, 0 for none. The grid of `cuda_window` is [blocks per image, images]. `numbers` of the
# epilogue `dcgan/cuda to_…` are a 0 for each null pointer (scale, shift), pixels, channels in and out, the period of
# scale and shift, and the activation.
LAYERS = {
    "first": Evidence(("cuda_implicit", "cuda_parity"), r"^tconv/@ "),
    "last": Evidence(("cuda_window", "cuda_naive"), r"^tconv/@ "),
    "split": Evidence({split: ("^tconv/cuda_window to", 4 - split) for split in (0, 1, 2, 3)}),
    "batch": Evidence((10, 20), r"numbers=\[@ 4 16 8 1\]"),
    "batches": Evidence(
        {"even": (r"^tconv/cuda_window to3.*grid=\[2 16\]", 0), "tapered": r"^tconv/cuda_window to3.*grid=\[2 16\]"},
        others={"batch": 32},
        sizes={"images": 64},
    ),
    "epilogue": Evidence(
        {
            "fused": r"^tconv/cuda_implicit .*numbers=\[\d+ 4 16 8 1\]",
            "folded": [r"^tconv/cuda_implicit .*numbers=\[\d+ 4 16 8 0\]", r"^dcgan/cuda to_.*\[0 0 \d+ 8 8 8 1\]"],
            "separate": [
                r"^tconv/cuda_implicit .*numbers=\[\d+ 4 16 8 0\]",
                r"^dcgan/cuda to_.*numbers=\[\d+ 8 8 8 1\]",
            ],
        }
    ),
    "math": Evidence(
        {
            "default": [" tf32_to_float32 ", "^cublas cublasSgemm"],
            "tf32": [" tf32_to_float32 ", " project_to_float32 "],
            "float16": [" float16_to_float32 ", " project_to_float16 "],
            "bfloat16": [" bfloat16_to_float32 ", " project_to_bfloat16 "],
        },
        others={"first": "cuda_implicit_mma"},
    ),
    "product": GEMM,
}
EVIDENCE = {
    "backprop": {
        **dict.fromkeys(("before", "loop_order", "contiguous", "temporaries", "fusion", "associativity"), FLAGS),
        "openmp": {
            "threads": Evidence((1, 3), " patterns_.* threads=@ "),
            "schedule": Evidence(("static", "dynamic", "guided"), "^OMP_SCHEDULE=@$"),
            "error": Evidence(("reduction", "atomic"), " patterns_@ "),
            "update": Evidence(("accumulators", "owner", "atomic"), " weight_change_@ "),
            "simd": Evidence((0, 1), ",simd=@ "),
            **FLAGS,
        },
        "tuned": {
            "threads": Evidence((1, 3), " patterns .* threads=@ "),
            "block": Evidence((32, 96), r" patterns .*, @\)"),
            "vector": Evidence((16, 32), ",vector=@ "),
            **FLAGS,
        },
        "blas": {"threads": THREADS, "block": Evidence({20: ("^runs error", 2), 10: ("^runs error", 4)})},
        "cuda_flat": {
            "index": Evidence(("walk", "offsets"), " products_@ "),
            "block": Evidence((64, 256), r" products_walk .*block=\[@\]"),
        },
        "cuda_kernels": {
            "operands": Evidence({"global": " products_global_", "shared": " products_tiled_"}),
            "scalars": Evidence(("argument", "constant"), " activations_@_"),
            "tables": Evidence(("global", "readonly", "texture"), r" activations_\w+_@ "),
            "error": Evidence(("atomic", "emulated", "block"), " error_@_"),
            "block": Evidence((64, 256), r" activations_.*block=\[@\]"),
        },
        "cuda": {"product": GEMM, **GRAPH},
        "cuda_fused": {
            **tiling({"bm": 160, "tn": 3, "tp": 14}, bm=(64, 160), tn=(3, 5), tp=(7, 14)),
            "math": Evidence({"default": " forward_backward dtype", "tf32": " forward_backward_tf32 dtype"}),
            **GRAPH,
        },
        "numpy_loop": THREADS_ALONE,
        "pytorch": {
            "threads": TORCH_THREADS,
            "gradients": Evidence({"autograd": r"\.requires_grad_\(", "by_hand": r"\.new_empty\("}),
            "compiled": switch(r"^torch\.compile\(", gradients="by_hand"),
            "block": Evidence((10, 65536), r"\.split\(@\)"),
        },
        "pytorch_cuda": {**TORCH_GRAPH, **COMPILED, "math": TF32},
    },
    "dcgan": {
        "host": {
            "threads": Evidence((1, 3), r"^dcgan/host .* project .*, @\)"),
            "first": Evidence({"tuned": r"^tconv/tuned .* convolve .*, 4, 16, 8, ", "loops": "^tconv.loops .*x8x8x8"}),
            "last": Evidence(
                {"tuned": r"^tconv/tuned .* convolve .*, 32, 2, 3, ", "loops": "^tconv.loops .*x64x64x3"},
                others={"split": 3},
            ),
            "split": Evidence(
                {0: ("^tconv.loops ", 12), 1: ("^tconv.loops ", 9), 4: ("^tconv.loops ", 0)}, others={"last": "loops"}
            ),
            "batch": Evidence((12, 16), " project .*pointer, @, 100, "),
            "epilogue": Evidence(
                {
                    "fused": r" convolve .*, 4, 16, 8, .*, 1\)",
                    "folded": ["^prepares fold", r" convolve .*, 4, 16, 8, .*, 0\)"],
                    "separate": ["^prepares norms", r" convolve .*, 4, 16, 8, .*, 0\)"],
                }
            ),
            "vector": Evidence((16, 32), "^dcgan/host .*,vector=@ "),
        },
        "cuda": {**LAYERS, **GRAPH},
        "home": {
            **LAYERS,
            "gpus": Evidence({1: r"numbers=\[40 4 16 8 1\]", 2: r"numbers=\[20 4 16 8 1\]"}),
            "memory": Evidence(
                {"pinned": "^lock pages", "staged": r"^pinned\(", "pageable": ("^lock pages|^pinned", 0)}
            ),
            "copies": Evidence(
                {"hidden": r"^copy\(kind=2, stream=2\)", "after": r"^copy\(kind=2, stream=0\)"}, others={"batch": 10}
            ),
            "streams": Evidence((1, 2, 3), r"^copy\(kind=2, stream=@\)", others={"batch": 10}),
            **GRAPH,
        },
        "mpi_home": {
            **RANKS,
            **LAYERS,
            "batch": Evidence((5, 10), r"numbers=\[@ 4 16 8 1\]"),
            "memory": Evidence({"pinned": (r"^pinned\(", 0), "staged": r"^pinned\("}),
            "streams": Evidence((1, 2, 3), r"^copy\(kind=2, stream=@\)", others={"batch": 5}),
            **GRAPH,
        },
        "pytorch": {
            "threads": TORCH_THREADS,
            "batch": Evidence((8, 16), r"\.split\(@\)"),
            "turned": switch(r"\.flip\("),
            **COMPILED,
        },
        "pytorch_cuda": {
            "batch": Evidence((8, 512), r"\.split\(@\)"),
            "math": TORCH_MATH,
            "turned": switch(r"\.flip\("),
            **TORCH_GRAPH,
            **COMPILED,
        },
        "pytorch_home": {
            "batch": Evidence((8, 512), r"\.split\(@\)"),
            "math": TORCH_MATH,
            "turned": switch(r"\.flip\("),
            **COMPILED,
        },
    },
    "descent": {
        **dict.fromkeys(("numpy_loop", "scipy_cg", "scipy_cholesky"), THREADS_ALONE),
        "openmp": {
            "threads": Evidence((1, 3), r" solve .* @x2, "),
            # 1.17e-38, the smallest normal number of float32, is the argument after `recompute`.
            "recompute": Evidence((0, 2), r" solve .*, @, 1\.17"),
        },
        "blas": {
            "threads": THREADS,
            "product": Evidence(("gemv", "symv"), "^BLAS @ "),
            "recompute": Evidence({count: (r"^BLAS gemv \(-1\.0", 4 // count if count else 0) for count in (0, 1, 2)}),
        },
        "cuda_version2": {
            **LAUNCH,
            "launch": Evidence(
                {
                    "right": (r" reduction .*grid=\[2\], block=\[128\]| vecdif .*grid=\[1\]", 2),
                    "study": r" vecdif .*grid=\[128\], block=\[1\]",
                }
            ),
        },
        "cublas": {
            "product": Evidence({"gemv": "^cublas cublasSgemv", "symv": "^cublas cublasSsymv"}),
            "batch": Evidence({count: ("^cublas cublasSgemv", count or 4) for count in (0, 1, 2)}),
            **GRAPH,
        },
        "cuda_fused": {
            **tiling(
                {"block": 512, "team": 32, "rows": 1, "unroll": 4},
                block=(128, 512),
                team=(32, 64),
                rows=(1, 2),
                unroll=(2, 4),
            ),
            "recompute": Evidence({count: (" recompute_residual ", 4 // count if count else 0) for count in (0, 1, 2)}),
            **GRAPH,
        },
        "cuda_persistent": {
            **tiling(
                {"block": 256, "team": 32, "rows": 2, "unroll": 4, "columns": 16},
                block=(128, 256),
                team=(32, 64),
                rows=(1, 2),
                unroll=(2, 4),
                columns=(8, 16),
            ),
            "blocks": Evidence((2, 4), r" solve\w* .*grid=\[@\]"),
            "recompute": Evidence((1, 2), r" solve\w* .* @\]"),
        },
        "cuda_cluster": {
            "blocks": Evidence((8, 16), r",blocks=@,.*grid=\[@\]"),
            "block": Evidence((128, 256), r",block=@,.*block=\[@\]"),
            "columns": Evidence((8, 16), ",columns=@ "),
        },
        "cuda_symmetric": {"block": Evidence((64, 256), r",block=@ .*block=\[@\]")},
    },
    "descent_kernel": {
        "cuda_version2": {
            **LAUNCH,
            "launch": Evidence({"right": r"grid=\[4\], block=\[128\]", "study": r"grid=\[128\], block=\[4\]"}),
        },
    },
    "fma": {
        "cuda": {"block": Evidence((64, 128), r",block=@,.*block=\[@\]"), "chains": Evidence((4, 8), ",chains=@ ")}
    },
    "gemm": {
        **dict.fromkeys(("openmp", "interchanged", "tiled", "blas"), THREADS_ALONE),
        **dict.fromkeys(("cuda_naive", "cuda_shared"), BLOCK_2D),
        "cuda_columns": {
            "bm": Evidence((16, 32), r",bm=@,.*"),
            "bn": Evidence((32, 64), r",bn=@ .*block=\[@\]"),
            "bk": Evidence((8, 16), ",bk=@,"),
        },
        "cuda_tiled": tiling(
            {"bm": 32, "bn": 32, "bk": 16, "tm": 4, "tn": 4, "splitk": 1},
            bm=(32, 64),
            bn=(32, 64),
            bk=(8, 16),
            tm=(4, 8),
            tn=(4, 8),
            splitk=(1, 4),
        ),
        "cuda_mma": tiling(
            {"bm": 64, "bn": 64, "bk": 32, "wm": 32, "wn": 32, "stages": 3, "splitk": 1},
            bm=(64, 128),
            bn=(64, 128),
            bk=(16, 32),
            wm=(16, 32),
            wn=(16, 32),
            stages=(2, 3),
            splitk=(1, 4),
        ),
        "cuda_tma": {
            # Eight tiles of many steps, fewer than the multiprocessors.
            "stream_k": Evidence(
                {"off": (" add_parts ", 0), "on": " add_parts "}, sizes={"dtype": "float64", "k": 9999}
            ),
            **tiling(
                {"bm": 64, "bn": 64, "wm": 32, "wn": 32, "stages": 3, "blocks": 1},
                bm=(64, 128),
                bn=(64, 128),
                wm=(16, 32),
                wn=(16, 32),
                stages=(3, 4),
                blocks=(1, 2),
            ),
        },
        "cuda_skinny": tiling({"short": 8, "unroll": 4}, short=(8, 16), unroll=(2, 4)),
        "cuda_packed": {
            "stream_k": Evidence(
                {"off": (" add_packed ", 0), "on": " add_packed "}, sizes={"dtype": "float32", "k": 9999}
            ),
            **tiling(
                {"bm": 64, "bn": 64, "wm": 32, "wn": 32, "stages": 3, "blocks": 1},
                bm=(64, 128),
                bn=(64, 128),
                wm=(32, 64),
                wn=(32, 64),
                stages=(3, 4),
                blocks=(1, 2),
            ),
        },
        "cuda_wgmma": {
            "stream_k": Evidence({"off": (" add_nn ", 0), "on": " add_nn "}, sizes={"dtype": "float32", "k": 9999}),
            **tiling(
                {"bm": 64, "bn": 64, "stages": 3, "cluster": 1, "blocks": 1},
                bm=(64, 128),
                bn=(64, 128),
                stages=(3, 4),
                cluster=(1, 2),
                blocks=(1, 2),
            ),
        },
        "cublas": {
            # CUBLAS_DEFAULT_MATH and CUBLAS_TF32_TENSOR_OP_MATH.
            "math": Evidence({"default": r"cublasSetMathMode \(pointer, 0\)", "tf32": r"MathMode \(pointer, 3\)"})
        },
        "cublas_mixed": {
            "math": Evidence(("float16", "bfloat16", "tf32x3"), "^gemm/cublas_mixed @ "),
            "conversion": Evidence({"timed": "^runs convert", "ahead": "^prepares convert"}),
        },
        "cublas_lt": {
            # CUBLAS_COMPUTE_32F and CUBLAS_COMPUTE_32F_FAST_TF32.
            "math": Evidence(
                {"default": r"MatmulDescCreate \(&\w*, 68, 0\)", "tf32": r"MatmulDescCreate \(&\w*, 77, 0\)"}
            )
        },
        "c_openmp": {"threads": THREADS, **FLAGS},
        "pytorch": {"threads": TORCH_THREADS},
    },
    "gemv": {
        "openmp": {"threads": Evidence((1, 3), r" multiply .*, @\)")},
        "openmp_bound": {
            "threads": Evidence((1, 3), r" multiply .*, @\)"),
            "binding": Evidence(("spread", "close"), "^OMP_PROC_BIND=@$"),
        },
        "c_openmp": {
            "threads": THREADS,
            "schedule": Evidence(("static", "dynamic", "guided"), "^OMP_SCHEDULE=@$"),
        },
        "blas": THREADS_ALONE,
        "mpi": {**RANKS, **MODE},
        "mpi_openmp": {**RANKS, **MODE, "threads": Evidence((2, 3), r" multiply .*threads=@\)")},
        **dict.fromkeys(("cuda_naive", "cuda_shared"), BLOCK_1D),
        "cuda_coalesced": {
            "block": Evidence((64, 256), r" gemv .*,block=@,.*block=\[@\]"),
            "tile": Evidence((16, 32), r" transpose .*,tile=@ .*block=\[@ "),
        },
        "cuda_warp": tiling(
            {"block": 256, "team": 32, "rows": 4, "unroll": 2},
            block=(128, 256),
            team=(32, 64),
            rows=(1, 4),
            unroll=(2, 4),
        ),
        "cublas": {},
        "mpi_cublas": {**RANKS, **MODE, "chunks": Evidence({1: ("Dgemv", 1), 3: ("Dgemv", 3)})},
        "nccl_cublas": {**RANKS, **MODE, "chunks": Evidence({1: ("Dgemv", 1), 3: ("Dgemv", 3)}), **GRAPH},
        "pytorch": {"threads": TORCH_THREADS},
    },
    "mlp": {
        "host": {
            "product": Evidence({"blas": (r"^gemm\.", 0), "tiled": r"^gemm\.tiled ", "openmp": r"^gemm\.openmp "}),
            "threads": Evidence(
                {count: [rf"^share_threads\({count}\)", rf"set_num_threads\({count}\)"] for count in (1, 3)}
            ),
        },
        "cuda": {"product": GEMM, **GRAPH},
        "cuda_copies": {
            "product": GEMM,
            "memory": Evidence({"pageable": (r"^lock pages\(", 0), "pinned": r"^lock pages\("}),
        },
        "cuda_fused": {**tiling({}, tile=(16, 32)), **GRAPH},
        "cuda_fused_mma": {**tiling({"bm": 64, "bn": 40}, bm=(32, 64), bn=(24, 40)), **GRAPH},
        "cuda_persistent": tiling({"block": 512, "groups": 1}, block=(256, 512), groups=(1, 2)),
        "numpy_loop": THREADS_ALONE,
        "pytorch": {"threads": TORCH_THREADS, **COMPILED},
        "pytorch_cuda": {**TORCH_GRAPH, **COMPILED},
    },
    "pattern_input": {
        "openmp_tasks": {
            "threads": Evidence((1, 3), r" read_all .*, @, 256\)"),
            "block": Evidence((16, 256), r" read_all .*, @\)"),
        },
    },
    "stream": {"openmp": THREADS_ALONE, "cuda": {"block": Evidence((128, 512), r",block=@ .*block=\[@\]")}},
    "tconv": {
        **dict.fromkeys(("loops", "parity"), THREADS_ALONE),
        "blas": {
            "threads": Evidence((1, 3), r" convolve .* @x\d+x100, "),
            "block": Evidence({16: r" convolve .*, 1\)", 32: r" convolve .*, 2\)"}),
        },
        "tuned": {
            "threads": Evidence((1, 3), r" convolve .*, @, 0\)"),
            "block": Evidence((2, 4), r" convolve .*, 4, 8, 4, @, "),
            "vector": Evidence((16, 32), ",vector=@ "),
            **FLAGS,
        },
        **dict.fromkeys(("cuda_naive", "cuda_parity"), BLOCK_3D),
        "cuda_im2col": {"product": GEMM, "block": Evidence({2: (" gather ", 4), 4: (" gather ", 2)})},
        "cuda_col2im": {"product": GEMM, "block": Evidence({2: (" add_up ", 4), 4: (" add_up ", 2)})},
        "cuda_implicit": tiling(
            {"bm": 64, "bn": 32, "bk": 16, "tm": 4, "tn": 4, "parities": 1},
            bm=(32, 64),
            bn=(32, 64),
            bk=(8, 16),
            tm=(4, 8),
            tn=(4, 8),
            parities=(1, 4),
        ),
        "cuda_implicit_mma": {
            "math": Evidence(("tf32", "float16", "bfloat16"), " @_to_float32 "),
            **tiling(
                {"bm": 64, "bn": 64, "wm": 32, "wn": 32, "stages": 3, "parities": 1},
                bm=(64, 128),
                bn=(64, 128),
                wm=(16, 32),
                wn=(16, 32),
                stages=(2, 3),
                parities=(1, 4),
            ),
        },
        "cuda_implicit_wgmma": {
            "math": Evidence(("tf32", "float16", "bfloat16"), " @_to_float32 "),
            **tiling(
                {"bm": 128, "bn": 64, "groups": 1, "stages": 4, "parities": 1},
                bm=(64, 128),
                bn=(64, 128),
                groups=(1, 2),
                stages=(3, 4),
                parities=(1, 2),
            ),
        },
        "cuda_implicit_tma": {
            "math": Evidence(("tf32", "float16", "bfloat16"), " @_to_float32 "),
            **tiling({"octets": 1, "bn": 64, "cluster": 2}, octets=(1, 2), bn=(32, 64), cluster=(1, 2)),
        },
        "cuda_window": {"rows": Evidence((8, 16), r",rows=@ ")},
        "cuda_window_mma": {
            "math": Evidence(("tf32", "float16", "bfloat16"), " @_to_float32 "),
            "rows": Evidence((8, 16), r" \w+_to_float32 .*,rows=@ "),
        },
        "pytorch": {"threads": TORCH_THREADS},
        "pytorch_cuda": {
            "math": Evidence(
                {
                    "default": [r"^TF32 is allowed: False False$", NO_HALF_CASTS],
                    "tf32": r"^TF32 is allowed: False True$",
                }
                | HALF_CASTS
            ),
            "turned": switch(r"\.flip\("),
        },
    },
}
TUNINGS = [
    (workload, variant, name)
    for workload in workloads.names()
    for variant in workloads.variants(workload)
    for name in setup_arguments.tunings(workload, variant)
]


def log_of(workload, variant, evidence, **tuning):
    """The log of a variant with a tuning."""
    tunings, device = setup_arguments.tunings(workload, variant), workloads.constants(workload, variant)["DEVICE"]
    values = {"product": PRODUCTS.get(device)} | REQUIRED
    required = {name: values[name] for name, (_, is_required) in tunings.items() if is_required}
    sizes = workloads.complete(workload, SIZES[workload] | evidence.sizes)
    case = Case(workload, variant, sizes, required | evidence.others | tuning, "warm")
    setup_arguments.require_tuning(workload, variant, case.tuning)
    return call_log.lines(case)


@pytest.mark.parametrize(("workload", "variant", "name"), TUNINGS)
def test_a_variant_follows_its_tuning(workload, variant, name):
    evidence = EVIDENCE[workload][variant][name]
    assert len(evidence.values) > 1
    for value in evidence.values:
        log = log_of(workload, variant, evidence, **{name: value})
        matching = [option for option in evidence.values if evidence.matches(option, log)]
        assert matching == [value], "\n".join(log)
