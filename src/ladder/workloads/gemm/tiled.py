"""GEMM with blocking for every cache, packed panels and a vectorised, register-blocked micro-kernel.

The algorithm is that of K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix
Multiplication", ACM TOMS 34(3), 2008, with the loops of F. Van Zee and R. van de Geijn, "BLIS: A
Framework for Rapidly Instantiating BLAS Functionality", ACM TOMS 41(3), 2015, transposed for row-major
arrays. From the outermost loop to the innermost:

    MC rows of out              their part of A, MC × KC, is packed and stays in L3    `_multiply_rectangle`
    KC of the inner dimension
    NC columns of out           their part of B, KC × NC, is packed and stays in L2
    MR rows                     one panel of A, MR × KC, stays in L1                   `_macro_kernel`
    NR columns                  MR × NR sums stay in registers over the whole KC       `_micro_kernel`

A packed panel holds its elements in the order in which the micro-kernel reads them: MR of A (or NR of
B) for the first k, then those for the second, and so on, with zeros where the matrix ends. Packing also
transposes as needed, so the three forms differ only there. Each thread computes one rectangle of
out, with its own panels.

Bottleneck: for each k the micro-kernel issues MR·NR/lanes fused multiply-adds for MR + NR/lanes
loads (24 for 11 with AVX-512 in float64), so a large product is bound by the multiply-add units: its lower bound is
2·M·N·K FLOPs over cores × units × lanes × 2 × clock. Small and skinny products also pay for packing, which
moves each element of A once per N multiply-adds and each of B once per min(M, MC), and for padding
to whole panels. An operand is packed along its rows, and later rows are prefetched by instructions, as is an addend,
whose reading takes as long as the arithmetic of few terms. Prefetching out or panels gained less than 1 %.
With a short side or short rows of B, operands aren't packed but read in place (`unpacked`).
"""

import zlib
from functools import partial
from pathlib import Path

import numba
import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

from ladder.harness.contract import Problem, Run
from ladder.workloads.gemm import unpacked
from ladder.workloads.gemm.vectors import HAS_MASKS, MR, NR_BYTES, NR_VECTORS, VECTOR_BYTES, Vectors, address, choose

DEVICE = "host"
RUNTIME = "numba"

CACHE_LINE = 64  # bytes
# Largest blocks; a matrix is cut into nearly equal ones. A block of B takes about a third of L2, whose size is 1 MiB or
# more with AVX-512, else assumed to be 512 KiB. KC = KC_BYTES / itemsize.
MC = 960
NC, KC_BYTES = (144, 2560) if HAS_MASKS else (96, 1920)

# Side of the squares that are transposed in registers: the largest power of two within a panel.
SQUARE = 1 << (min(MR, NR_BYTES // 8).bit_length() - 1)

OTHER_FILES = ("unpacked.py", "vectors.py")  # those whose functions are compiled into the product
# Whether the inner dimension is the last axis of A, and of B.
INNER_LAST = {"nn": (True, False), "tn": (False, False), "nt": (True, True)}
OPTIONS = {"error_model": "numpy", "nogil": True}


@intrinsic
def _nr(typingctx, array):
    """NR for the dtype of `array`, as a compile-time constant."""

    def codegen(context, builder, signature, args):
        return context.get_constant(types.intp, NR_BYTES // (array.dtype.bitwidth // 8))

    return types.intp(array), codegen


@intrinsic
def _micro_kernel(typingctx, depth, a, a_offset, b, b_offset, addend, add, c, c_offset, c_stride, rows, columns):
    """c = panel of a (depth × MR), transposed, · panel of b (depth × NR), plus addend if `add`.

    Of c (MR × NR) only the first `rows` and `columns` are written, all if there are more. The arrays are contiguous;
    `*_offset` is the flat index of the first element. c_stride is the distance between rows of c and of addend, which
    starts at c_offset too. The kernel is in LLVM IR because the compiler doesn't keep the sums of an equivalent loop
    in registers.
    """

    def codegen(context, builder, signature, args):
        depth, a, a_offset, b, b_offset, addend, add, c, c_offset, c_stride, rows, columns = args
        index = depth.type
        itemsize = signature.args[1].dtype.bitwidth // 8
        vectors = Vectors(context, builder, signature.args[1].dtype, VECTOR_BYTES // itemsize)
        a_start = address(context, builder, signature.args[1], a, a_offset)
        b_start = address(context, builder, signature.args[3], b, b_offset)

        def advance(pointer, count):
            return builder.gep(pointer, [index(count)])

        def prefetch_addend(width):
            """Prefetch the addend of the tile below, which the hardware doesn't: a tile reads short parts of rows."""
            start = address(context, builder, signature.args[5], addend, c_offset)
            with builder.if_then(add):
                for i in range(MR, 2 * MR):
                    row = builder.gep(start, [builder.mul(c_stride, index(i))])
                    for j in range(width):
                        vectors.prefetch(advance(row, j * vectors.lanes))

        def emit(width):
            """The kernel for `width` vectors in a row of c."""
            tile = [(i, j) for i in range(MR) for j in range(width)]
            prefetch_addend(width)
            entry = builder.block
            loop = builder.append_basic_block("over_k")  # the hot loop: it runs `depth` times
            builder.branch(loop)
            builder.position_at_end(loop)
            k, a_k, b_k = builder.phi(index), builder.phi(a_start.type), builder.phi(b_start.type)
            sums = {ij: builder.phi(vectors.type) for ij in tile}
            a_column = [vectors.broadcast(builder.load(advance(a_k, i))) for i in range(MR)]
            b_row = [vectors.load(advance(b_k, j * vectors.lanes)) for j in range(width)]
            new_sums = {(i, j): vectors.multiply_add(a_column[i], b_row[j], sums[i, j]) for i, j in tile}
            next_k = builder.add(k, index(1))
            for phi, initial, next_value in [
                (k, index(0), next_k),
                (a_k, a_start, advance(a_k, MR)),
                (b_k, b_start, advance(b_k, NR_VECTORS * vectors.lanes)),
                *[(sums[ij], vectors.zero, new_sums[ij]) for ij in tile],
            ]:
                phi.add_incoming(initial, entry)
                phi.add_incoming(next_value, loop)
            store = builder.append_basic_block("store")
            builder.cbranch(builder.icmp_signed("<", next_k, depth), loop, store)
            builder.position_at_end(store)

            addend_start = address(context, builder, signature.args[5], addend, c_offset)
            c_start = address(context, builder, signature.args[7], c, c_offset)
            last_count = builder.sub(columns, index((width - 1) * vectors.lanes))
            has_rows = builder.icmp_signed(">=", rows, index(MR))
            has_columns = builder.icmp_signed(">=", last_count, index(vectors.lanes))
            sum_rows = [[new_sums[i, j] for j in range(width)] for i in range(MR)]
            with builder.if_else(builder.and_(has_rows, has_columns)) as (whole, edge):
                with whole:
                    vectors.store_tile(sum_rows, addend_start, add, c_start, c_stride)
                with edge:
                    for i, row in enumerate(sum_rows):
                        with builder.if_then(builder.icmp_signed("<", index(i), rows)):
                            offset = builder.mul(c_stride, index(i))
                            starts = [builder.gep(start, [offset]) for start in (addend_start, c_start)]
                            vectors.store_tile([row], starts[0], add, starts[1], c_stride, last_count)

        choose(
            builder,
            [
                (builder.icmp_signed("<=", columns, index(width * vectors.lanes)), partial(emit, width))
                for width in range(1, NR_VECTORS)
            ],
            partial(emit, NR_VECTORS),
        )
        return context.get_dummy_value()

    return types.void(
        depth, a, a_offset, b, b_offset, addend, add, c, c_offset, c_stride, rows, columns
    ), codegen  # fmt: skip


@intrinsic
def _move_square(
    typingctx, source, source_offset, source_stride, target, target_offset, target_stride, transpose, inside, depth
):
    """target = source or sourceᵀ, SQUARE × SQUARE parts of a matrix and of a panel; offsets as in `_micro_kernel`.

    At the end of the matrix, the target has zeros from row `depth` and from column `inside` on, and nothing outside is
    read. Prefetches to L2 the source of the next panel, or of the squares below if these aren't transposed.
    """
    if source.layout != "C" or source.dtype != target.dtype:
        raise numba.TypingError(f"A product needs C-contiguous arrays of one dtype, not {source} for {target.dtype}.")

    def codegen(context, builder, signature, args):
        source, source_offset, source_stride, target, target_offset, target_stride, transpose, inside, depth = args
        vectors = Vectors(context, builder, signature.args[0].dtype, SQUARE)
        index = depth.type
        start = address(context, builder, signature.args[0], source, source_offset)
        distance = builder.mul(builder.select(transpose, target_stride, index(SQUARE)), source_stride)
        # Of the source inside the matrix: its rows, and the elements of each.
        count, length = (builder.select(transpose, *pair) for pair in ((inside, depth), (depth, inside)))

        def is_within(i, limit):
            return builder.icmp_signed("<", index(i), limit)

        def load_rows():
            pointer, rows = start, []
            for _ in range(SQUARE):
                rows.append(vectors.load(pointer))
                vectors.prefetch(builder.gep(pointer, [distance]))
                pointer = builder.gep(pointer, [source_stride])
            return rows, builder.block

        def load_edge():
            # An empty mask at an unmapped address takes hundreds of cycles: a row outside gets another row's address.
            pointer = address(context, builder, signature.args[0], source, index(0))
            pointer, rows = builder.select(is_within(0, inside), start, pointer), []
            for i in range(SQUARE):
                rows.append(vectors.load(pointer, vectors.mask(builder.select(is_within(i, count), length, index(0)))))
                step = builder.select(is_within(i + 1, count), source_stride, index(0))
                pointer = builder.gep(pointer, [step])
            return rows, builder.block

        is_whole = builder.and_(is_within(SQUARE - 1, inside), is_within(SQUARE - 1, depth))
        with builder.if_else(is_whole) as (whole, edge):
            with whole:
                whole_rows = load_rows()
            with edge:
                edge_rows = load_edge()
        rows = vectors.merge(whole_rows, edge_rows)
        with builder.if_else(transpose) as branches:
            for branch, is_transposed in zip(branches, (True, False), strict=True):
                with branch:
                    pointer = address(context, builder, signature.args[3], target, target_offset)
                    for row in _transpose(vectors, rows) if is_transposed else rows:
                        vectors.store(row, pointer)
                        pointer = builder.gep(pointer, [target_stride])
        return context.get_dummy_value()

    return types.void(
        source, source_offset, source_stride, target, target_offset, target_stride, transpose, inside, depth
    ), codegen  # fmt: skip


def _transpose(vectors, rows):
    """The rows of the transposed square: swap the off-diagonal quarters, then those of each quarter, and so on."""
    lanes, half = len(rows), len(rows) // 2
    while half:
        # Element j of the new upper (lower) row of a pair, counted through both old rows.
        upper = [lanes + j - half if j & half else j for j in range(lanes)]
        lower = [lanes + j if j & half else j + half for j in range(lanes)]
        rows = [vectors.shuffle(rows[i & ~half], rows[i | half], lower if i & half else upper) for i in range(lanes)]
        half //= 2
    return rows


@njit(**OPTIONS)
def _even_step(extent, limit, unit):
    """The step, a multiple of `unit`, that cuts `extent` into nearly equal parts of at most `limit`."""
    parts = -(-extent // limit)
    return -(-extent // (parts * unit)) * unit


@njit(**OPTIONS)
def _panel_depth(depth):
    """The inner dimension of a panel: whole squares."""
    return -(-depth // SQUARE) * SQUARE


@njit(**OPTIONS)
def _pack(panels, width, operand, inner_last, first, count, k_first, depth):
    """Pack operand[first : first + count, k_first : k_first + depth] into panels of `width`.

    `operand` has the inner dimension as its last axis if `inner_last`, else as its first. Panels end in zeros up to
    whole squares.
    """
    stride, size = operand.shape[1], width * _panel_depth(depth)
    panel_count = -(-count // width)
    # In both layouts the operand is read along its rows: reading panel by panel would touch many pages for each.
    group = 1 if inner_last else NC // width  # panels that are packed side by side
    for start in range(0, panel_count, group):
        for square_k in range(0, depth, SQUARE):
            for panel in range(start, min(start + group, panel_count)):
                for column in range(0, width, SQUARE):
                    square_i = min(column, width - SQUARE)  # the last square may overlap the one before
                    i, k = first + panel * width + square_i, k_first + square_k
                    source_offset = i * stride + k if inner_last else k * stride + i
                    target_offset = panel * size + square_k * width + square_i
                    _move_square(
                        operand, source_offset, stride, panels, target_offset, width, inner_last,
                        first + count - i, depth - square_k,
                    )  # fmt: skip


@njit(**OPTIONS)
def _macro_kernel(depth, a_panels, b_panels, addend, add, out, first_row, rows, first_column, columns):
    """A block of out = packed A · packed B, plus addend if `add`."""
    nr, panel_depth = _nr(out), _panel_depth(depth)
    flat_out, flat_addend = out.ravel(), addend.ravel()
    for i in range(0, rows, MR):
        for j in range(0, columns, nr):
            _micro_kernel(
                depth, a_panels, i * panel_depth, b_panels, j * panel_depth, flat_addend, add,
                flat_out, (first_row + i) * out.shape[1] + first_column + j, out.shape[1], rows - i, columns - j,
            )  # fmt: skip


@njit(**OPTIONS)
def _multiply_rectangle(a, a_inner_last, b, b_inner_last, addend, add, out, rows, columns, workspace):
    """The part of the product in the half-open ranges `rows` and `columns` of out, on one thread."""
    inner = a.shape[1] if a_inner_last else a.shape[0]
    nr = _nr(out)
    mc = _even_step(rows[1] - rows[0], MC, MR)
    nc = _even_step(columns[1] - columns[0], NC, nr)
    max_kc = KC_BYTES // a.itemsize
    kc = _even_step(inner, max_kc, SQUARE)
    a_panels = workspace[: MC * max_kc]
    b_panels = workspace[MC * max_kc :]
    for i in range(rows[0], rows[1], mc):
        m = min(mc, rows[1] - i)
        for k in range(0, inner, kc):
            depth = min(kc, inner - k)
            _pack(a_panels, MR, a, a_inner_last, i, m, k, depth)
            for j in range(columns[0], columns[1], nc):
                n = min(nc, columns[1] - j)
                _pack(b_panels, nr, b, b_inner_last, j, n, k, depth)
                partial = addend if k == 0 else out  # what this block of the inner dimension is added to
                _macro_kernel(depth, a_panels, b_panels, partial, add or k > 0, out, i, m, j, n)


@njit(**OPTIONS)
def _grid(row_panels, column_panels, threads):
    """Rows and columns of a grid of `threads` rectangles whose largest has as few micro-tiles as possible."""
    best_rows, min_work = 1, row_panels * column_panels + 1
    for rows in range(1, threads + 1):
        if threads % rows == 0:
            work = -(-row_panels // rows) * -(-column_panels // (threads // rows))
            if work < min_work:
                best_rows, min_work = rows, work
    return best_rows, threads // best_rows


@njit(**OPTIONS)
def _part_range(panels, width, extent, parts, part):
    """The half-open range of part number `part` of `extent`, which is cut into `parts` at edges of panels."""
    return min(extent, panels * part // parts * width), min(extent, panels * (part + 1) // parts * width)


@njit(**OPTIONS)
def _multiply_part(part, grid, a, a_inner_last, b, b_inner_last, addend, add, out, sums, workspace, is_packed):
    """Compute rectangle number `part` of a grid on out or, if there are `sums`, sums[part] over a part of `inner`.

    With `is_packed` the operands are packed first, else they are read in place (`unpacked`).
    """
    m, n = out.shape
    inner = a.shape[1] if a_inner_last else a.shape[0]
    nr = _nr(out)
    rows = _part_range(-(-m // MR), MR, m, grid[0], part // grid[1])
    columns = _part_range(-(-n // nr), nr, n, grid[1], part % grid[1])
    if is_packed:
        if rows[0] < rows[1] and columns[0] < columns[1]:
            _multiply_rectangle(a, a_inner_last, b, b_inner_last, addend, add, out, rows, columns, workspace)
        return
    inner_range, target = (0, inner), out
    if len(sums):
        rows, columns, target = (0, m), (0, n), sums[part]
        inner_range = _part_range(-(-inner // SQUARE), SQUARE, inner, len(sums), part)
    unpacked.multiply_part(
        a, a_inner_last, b, b_inner_last, addend, add and not len(sums), target, rows, columns, inner_range
    )  # fmt: skip


def _compile_product(version):
    """The compiled product.

    Numba recompiles it if its own file or a value in its closure changes, but not after an edit of another file: hence
    `version`, a checksum of OTHER_FILES.
    """

    @njit(cache=True, parallel=True, **OPTIONS)
    def multiply(a, a_inner_last, b, b_inner_last, addend, add, out, memory, threads, is_packed):
        """The product; `memory` has a row of bytes per thread.

        Each thread computes a rectangle of out, or a part of every sum if out is small and operands aren't packed.
        """
        _ = version
        workspaces = memory.view(out.dtype)
        if threads == 1:  # without the start of a parallel region
            none = workspaces[:0].reshape(0, 0, 0)
            _multiply_part(
                np.intp(0), (np.intp(1), np.intp(1)), a, a_inner_last, b, b_inner_last, addend, add, out, none,
                workspaces[0], is_packed,
            )  # fmt: skip
            return
        m, n = out.shape
        row_panels, column_panels = -(-m // MR), -(-n // _nr(out))
        grid = _grid(row_panels, column_panels, threads)
        shares_sums = not is_packed and row_panels * column_panels < threads
        sums = np.zeros((threads if shares_sums else 0, m, n), out.dtype)
        for part in prange(threads):
            _multiply_part(
                np.intp(part), grid, a, a_inner_last, b, b_inner_last, addend, add, out, sums, workspaces[part],
                is_packed,
            )  # fmt: skip
        if shares_sums:
            for i in range(m):
                for j in range(n):
                    total = sums[:, i, j].sum()
                    out[i, j] = total + addend[i, j] if add else total

    return multiply


_multiply = _compile_product(zlib.crc32(b"".join(Path(__file__).with_name(name).read_bytes() for name in OTHER_FILES)))


def _workspaces(threads):
    """A buffer of bytes for each thread's packed panels of A and B, aligned to cache lines."""
    size = (MC + NC) * KC_BYTES
    memory = np.empty(threads * size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + threads * size].reshape(threads, size)


def product(form, threads=None):
    """A function multiply(a, b, out, c=None) that writes a product of C-contiguous arrays into out (M × N).

    form "nn": a (M × K), b (K × N), out = a·b. "tn": a (K × M), b (K × N), out = aᵀ·b.
    "nt": a (M × K), b (N × K), out = a·bᵀ, plus c (M × N) if given; c must not overlap out.
    All arrays are float64 or all float32. Uses `threads` threads, by default numba.get_num_threads() at each call.
    Raises KeyError for another form; multiply raises numba.TypingError for a or b of another layout or dtype.
    """
    INNER_LAST[form]  # raises KeyError for another form
    workspaces = _workspaces(numba.config.NUMBA_NUM_THREADS)

    def write(form, a, b, out, c, is_packed):
        a_inner_last, b_inner_last = INNER_LAST[form]
        addend = out if c is None else c
        count = threads or numba.get_num_threads()
        _multiply(a, a_inner_last, b, b_inner_last, addend, c is not None, out, workspaces, count, is_packed)

    def multiply(a, b, out, c=None):
        if not unpacked.is_faster_in_place(form, *out.shape, b.shape[form == "nt"]):
            return write(form, a, b, out, c, True)
        order, first, second, target = unpacked.as_rows(form, a, b, out)
        write(order, first, second, target, c, False)
        if target.shape != out.shape and target.base is not out:
            np.copyto(out, target.T)

    return multiply


def setup(problem: Problem, *, threads: int) -> Run:
    """The timed product, on the threads that the harness has set."""
    multiply = product(problem.sizes["form"], threads)
    return lambda: multiply(problem.a, problem.b, problem.out, problem.c)
