"""GEMM with blocking for every cache, packed panels and a vectorised, register-blocked micro-kernel.

The algorithm is that of K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
ACM TOMS 34(3), 2008, with the loops of F. Van Zee and R. van de Geijn, "BLIS: A Framework for Rapidly
Instantiating BLAS Functionality", ACM TOMS 41(3), 2015, turned over for row-major arrays. From the outside in:

    MC rows of out              their part of A, MC × KC, is packed and stays in L3
    KC of the inner dimension
    NC columns of out           their part of B, KC × NC, is packed and stays in L2
    MR rows                     one panel of A, MR × KC, stays in L1
    NR columns                  the micro-kernel: MR × NR sums stay in registers over the whole KC

A packed panel holds its elements in the order in which the micro-kernel reads them: MR (of A) or NR (of B) for
the first k, then those for the second, and so on, filled up with zeros where the matrix ends. Packing also takes
care of transposition, so the three forms differ in nothing else.

Each thread owns one rectangle of out and runs the loops above on it with workspaces of its own.

What bounds it: the micro-kernel issues MR·NR/lanes fused multiply-adds for MR + NR/lanes loads, so large products
are bound by the multiply-add units. The floor is 2·M·N·K FLOPs over (cores × units × lanes × 2 × clock). Packing
costs about 1/N of that time for an element of A and 1/M for one of B, times the cycles for moving one: it, and
the padding to MR and NR, are what small or skinny products pay.
"""

import numba
import numpy as np
from llvmlite import binding, ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

DEVICE = "host"

CACHE_LINE = 64  # bytes
KC_BYTES = 2560  # of one row of a panel of A; KC = KC_BYTES / itemsize
MC = 960
NC = 240


def _register_block():
    """Bytes of a vector register, MR, and vectors in NR: the sums, a row of B and one of A fit the registers."""
    features = numba.config.CPU_FEATURES
    if features is None:
        features = binding.get_host_cpu_features().flatten()
    features = features.split(",")
    if "+avx512f" in features:  # 32 registers
        return 64, 8, 3
    if "+avx2" in features and "+fma" in features:  # 16 registers
        return 32, 6, 2
    if "+neon" in features:  # 32 registers
        return 16, 8, 3
    return 16, 4, 2


VECTOR_BYTES, MR, NR_VECTORS = _register_block()
NR_BYTES = VECTOR_BYTES * NR_VECTORS
options = {"cache": True, "error_model": "numpy", "nogil": True}


@intrinsic
def _panel_columns(typingctx, array):
    """NR for the dtype of `array`, known to the compiler."""

    def codegen(context, builder, signature, args):
        return context.get_constant(types.intp, NR_BYTES * 8 // array.dtype.bitwidth)

    return types.intp(array), codegen


@intrinsic
def _micro_kernel(typingctx, depth, a, a_at, b, b_at, addend, add, c, c_at, c_stride):
    """c (MR × NR) = panel of a (depth × MR), transposed, · panel of b (depth × NR), plus addend if `add`.

    The arrays are flat; `*_at` is the index of the first element; addend is laid out as c, with the same stride
    from row to row. In LLVM IR, because the compiler's own vectoriser doesn't keep the sums in registers.
    """

    def codegen(context, builder, signature, args):
        depth, _, a_at, _, b_at, _, add, _, c_at, c_stride = args
        number = context.get_data_type(signature.args[1].dtype)
        lanes = NR_BYTES // NR_VECTORS // context.get_abi_sizeof(number)
        align = context.get_abi_sizeof(number)
        vector = ir.VectorType(number, lanes)
        index = depth.type
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        multiply_add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{lanes}f{align * 8}"
        )

        def address(which, at):
            data = context.make_array(signature.args[which])(context, builder, args[which]).data
            return builder.gep(data, [at])

        def step(pointer, count):
            return builder.gep(pointer, [index(count)])

        def load(pointer):
            return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=align)

        def broadcast(value):
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
            return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), everywhere)

        a_start, b_start = address(1, a_at), address(3, b_at)
        before = builder.block
        loop = builder.append_basic_block("over_k")
        after = builder.append_basic_block("store")
        builder.branch(loop)

        builder.position_at_end(loop)
        k = builder.phi(index)
        a_k, b_k = builder.phi(a_start.type), builder.phi(b_start.type)
        sums = [[builder.phi(vector) for _ in range(NR_VECTORS)] for _ in range(MR)]
        b_row = [load(step(b_k, j * lanes)) for j in range(NR_VECTORS)]
        new_sums = []
        for i in range(MR):
            a_i = broadcast(builder.load(step(a_k, i)))
            new_sums.append(
                [builder.call(multiply_add, [a_i, b_row[j], sums[i][j]]) for j in range(NR_VECTORS)]
            )
        next_k = builder.add(k, index(1))
        for phi, first, following in [
            (k, index(0), next_k),
            (a_k, a_start, step(a_k, MR)),
            (b_k, b_start, step(b_k, NR_VECTORS * lanes)),
            *[
                (sums[i][j], ir.Constant(vector, None), new_sums[i][j])
                for i in range(MR)
                for j in range(NR_VECTORS)
            ],
        ]:
            phi.add_incoming(first, before)
            phi.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", next_k, depth), loop, after)

        builder.position_at_end(after)
        c_rows = [builder.add(c_at, builder.mul(c_stride, index(i))) for i in range(MR)]

        def store(plus_addend):
            for i in range(MR):
                c_row, addend_row = address(7, c_rows[i]), address(5, c_rows[i])
                for j in range(NR_VECTORS):
                    value = new_sums[i][j]
                    if plus_addend:
                        value = builder.fadd(value, load(step(addend_row, j * lanes)))
                    target = builder.bitcast(step(c_row, j * lanes), vector.as_pointer())
                    builder.store(value, target, align=align)

        with builder.if_else(add) as (then, otherwise):
            with then:
                store(True)
            with otherwise:
                store(False)
        return context.get_dummy_value()

    return types.void(depth, a, a_at, b, b_at, addend, add, c, c_at, c_stride), codegen


@njit(**options)
def _even_step(extent, limit, unit):
    """The step, a multiple of `unit`, that cuts `extent` into equal parts of at most `limit`."""
    parts = -(-extent // limit)
    return -(-extent // (parts * unit)) * unit


@njit(**options)
def _pack(panels, width, operand, inner_last, first, count, k_first, depth):
    """Pack operand[first : first + count, k_first : k_first + depth] into panels of `width`.

    `operand` has the inner dimension as its last axis if `inner_last`, else as its first.
    """
    for panel in range(-(-count // width)):
        target = panels[panel * width * depth : (panel + 1) * width * depth].reshape(depth, width)
        start = first + panel * width
        inside = min(width, first + count - start)
        if inner_last:
            for i in range(inside):
                for k in range(depth):
                    target[k, i] = operand[start + i, k_first + k]
        else:
            for k in range(depth):
                for i in range(inside):
                    target[k, i] = operand[k_first + k, start + i]
        for k in range(depth):
            for i in range(inside, width):
                target[k, i] = 0


@njit(**options)
def _macro_kernel(depth, a_panels, b_panels, addend, add, out, first_row, rows, first_column, columns, tile):
    """A block of out = packed A · packed B, plus addend if `add`; `tile` catches micro-tiles that reach outside."""
    nr = _panel_columns(out)
    flat_out, flat_addend = out.ravel(), addend.ravel()
    for i in range(0, rows, MR):
        for j in range(0, columns, nr):
            at = (first_row + i) * out.shape[1] + first_column + j
            whole = i + MR <= rows and j + nr <= columns
            if whole:
                target, target_at, stride = flat_out, at, out.shape[1]
            else:
                target, target_at, stride = tile, 0, nr
            _micro_kernel(
                depth,
                a_panels,
                i * depth,
                b_panels,
                j * depth,
                flat_addend,
                add and whole,
                target,
                target_at,
                stride,
            )
            if not whole:
                for p in range(min(MR, rows - i)):
                    for q in range(min(nr, columns - j)):
                        here = at + p * out.shape[1] + q
                        flat_out[here] = tile[p * nr + q] + (flat_addend[here] if add else 0)


@njit(**options)
def _rectangle(a, a_inner_last, b, b_inner_last, addend, add, out, rows, columns, a_panels, b_panels, tile):
    """The part of the product in the half-open ranges `rows` and `columns` of out, on one thread."""
    inner = a.shape[1] if a_inner_last else a.shape[0]
    nr = _panel_columns(out)
    mc = _even_step(rows[1] - rows[0], MC, MR)
    nc = _even_step(columns[1] - columns[0], NC, nr)
    kc = _even_step(inner, KC_BYTES // a.itemsize, 1)
    for i in range(rows[0], rows[1], mc):
        m = min(mc, rows[1] - i)
        for k in range(0, inner, kc):
            depth = min(kc, inner - k)
            _pack(a_panels, MR, a, a_inner_last, i, m, k, depth)
            for j in range(columns[0], columns[1], nc):
                n = min(nc, columns[1] - j)
                _pack(b_panels, nr, b, b_inner_last, j, n, k, depth)
                so_far = addend if k == 0 else out
                _macro_kernel(depth, a_panels, b_panels, so_far, add or k > 0, out, i, m, j, n, tile)


@njit(**options)
def _grid(row_panels, column_panels, threads):
    """Rows and columns of a grid of `threads` rectangles whose largest has as few micro-tiles as possible."""
    best, best_work = 1, row_panels * column_panels + 1
    for rows in range(1, threads + 1):
        if threads % rows == 0:
            work = -(-row_panels // rows) * -(-column_panels // (threads // rows))
            if work < best_work:
                best, best_work = rows, work
    return best, threads // best


@njit(**options)
def _share(panels, width, extent, parts, part):
    """Part number `part` of `extent`, cut into `parts` between panels: a half-open range."""
    return min(extent, panels * part // parts * width), min(extent, panels * (part + 1) // parts * width)


@njit(parallel=True, **options)
def _multiply(a, a_inner_last, b, b_inner_last, addend, add, out, a_panels, b_panels, tiles, threads):
    """The whole product: one rectangle of out for each thread; the workspaces have a row for each thread."""
    m, n = out.shape
    nr = _panel_columns(out)
    row_panels, column_panels = -(-m // MR), -(-n // nr)
    grid_rows, grid_columns = _grid(row_panels, column_panels, threads)
    for part in prange(grid_rows * grid_columns):
        rows = _share(row_panels, MR, m, grid_rows, part // grid_columns)
        columns = _share(column_panels, nr, n, grid_columns, part % grid_columns)
        if rows[0] < rows[1] and columns[0] < columns[1]:
            _rectangle(
                a, a_inner_last, b, b_inner_last, addend, add, out, rows, columns,
                a_panels[part], b_panels[part], tiles[part],
            )  # fmt: skip


def _workspace(threads, size, dtype):
    """An array (threads, ≥ size) whose rows start on a cache line."""
    dtype = np.dtype(dtype)
    size = -(-size * dtype.itemsize // CACHE_LINE) * CACHE_LINE
    memory = np.empty(threads * size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + threads * size].view(dtype).reshape(threads, -1)


def product(form):
    """A function multiply(a, b, out, c=None) that writes a product of C-contiguous arrays into out (M × N).

    form "nn": a (M × K), b (K × N), out = a·b. "tn": a (K × M), b (K × N), out = aᵀ·b.
    "nt": a (M × K), b (N × K), out = a·bᵀ, plus c (M × N) if given; c must not overlap out.
    All arrays are float64 or all float32. Works on as many threads as numba.get_num_threads() says.
    Raises KeyError for another form.
    """
    a_inner_last, b_inner_last = {"nn": (True, False), "tn": (False, False), "nt": (True, True)}[form]
    workspaces = {}

    def multiply(a, b, out, c=None):
        dtype = out.dtype
        if dtype not in workspaces:
            threads = numba.config.NUMBA_NUM_THREADS
            kc = KC_BYTES // dtype.itemsize
            nr = NR_BYTES // dtype.itemsize
            workspaces[dtype] = (
                _workspace(threads, MC * kc, dtype),
                _workspace(threads, NC * kc, dtype),
                _workspace(threads, MR * nr, dtype),
            )
        addend = out if c is None else c
        _multiply(
            a, a_inner_last, b, b_inner_last, addend, c is not None, out,
            *workspaces[dtype], numba.get_num_threads(),
        )  # fmt: skip

    return multiply


def setup(problem, *, threads: int):
    """The timed call for a problem with sizes["form"], a, b, c (None unless the form is nt) and out."""
    multiply = product(problem.sizes["form"])
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
