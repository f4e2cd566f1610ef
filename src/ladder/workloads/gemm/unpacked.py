"""Products with a short side, or with short rows of B, on operands that stay where they are.

Packing (see `tiled`) moves each element once, which pays only if it is used many times. If out has few rows or few
columns, an operand is used a few times, and the product is bound by the bandwidth at which the longer operand is read.
If the rows of B are short, a block of B fits in L2 as it is, and packing it gains nothing. If they are long, its strips
are pieces of many rows: the hardware sees no stream in them, so their lines are prefetched by instructions.
Two kernels read operands in place:

    _strip   vectors along a row of B, times single elements of A: forms nn and tn
    _dot     vectors along the inner dimension, the last axis of both operands: form nt

Both keep a tile of sums in registers over a block of the inner dimension, and add it to out after each block. Each sum
of a small tile is split into several, because a few sums would be bound by the latency of a multiply-add.
"""

from functools import lru_cache

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from ladder.workloads.gemm.vectors import HAS_MASKS, MR, NR_BYTES, NR_VECTORS, VECTOR_BYTES, Vectors, address, choose

OPTIONS = {"error_model": "numpy", "nogil": True}
# Rows of a tile of `_strip`, and rows and columns of one of `_dot`. More shapes would take too long to compile, and
# gain little: a strip of B stays in L1 while the last rows are multiplied one by one.
STRIP_ROWS = (MR, MR // 2, 1)
DOT_COLUMNS = 4 if HAS_MASKS else 3  # sums and operands of a tile of `_dot` fit in the registers
DOT_TILES = ((4, DOT_COLUMNS), (4, 1), (1, 1))
SUMS = 8  # independent sums that hide the latency of a multiply-add
DEPTH_OF_ROWS = 8  # inner dimension of a block if A has fewer rows than a tile: rows of B that are read side by side
DEPTH_OF_STRIPS = 128  # if B has long rows: a strip of its block stays in L1 or L2 for all rows of A
STRIPS_AHEAD = 2  # the distance of the strip whose lines are prefetched
NARROW = 512  # the maximum of columns of B with which its rows are read as a single stream
DEPTH_OF_COLUMNS = 512  # if B has few columns: its block stays in L1 or L2
DEPTH_OF_DOTS = 512  # four rows of each operand stay in L1
DEPTH_OF_VECTORS = 8192  # if one operand has so few rows that the other is read once: those few stay in L2


class _Loop:
    """Emits a loop over the inner dimension that advances by `step` and updates a list of values."""

    def __init__(self, builder, start, end, step, values):
        self.builder, self.index = builder, start.type  # the type of the loop's index
        entry = builder.block
        self.head = builder.append_basic_block("head")
        self.body = builder.append_basic_block("body")
        self.exit = builder.append_basic_block("exit")
        builder.branch(self.head)
        builder.position_at_end(self.head)
        self.k = builder.phi(start.type)
        self.k.add_incoming(start, entry)
        self.values = [builder.phi(value.type) for value in values]
        for phi, value in zip(self.values, values, strict=True):
            phi.add_incoming(value, entry)
        self.next = builder.add(self.k, self.index(step))  # the index after this pass
        builder.cbranch(builder.icmp_signed("<=", self.next, end), self.body, self.exit)
        builder.position_at_end(self.body)

    def close(self, values):
        """End the body with the new `values`; return the first index that remains, and the final values."""
        self.k.add_incoming(self.next, self.builder.block)
        for phi, value in zip(self.values, values, strict=True):
            phi.add_incoming(value, self.builder.block)
        self.builder.branch(self.head)
        self.builder.position_at_end(self.exit)
        return self.k, self.values


def _accumulate(builder, vectors, depth, count, step, multiply_add, starts=(), strides=()):
    """`count` sums over 0 ≤ k < depth. multiply_add(k, pointers, sums, mask) adds `step` products, masked or not.

    `starts` are pointers for k = 0 that advance by `strides` after each step. The main loop takes several steps at a
    time, each with its own copy of the sums; the copies are added at its end.
    """
    copies = max(1, SUMS // count)

    def steps(number, k, values):
        pointers, old, sums = values[: len(starts)], values[len(starts) :], []
        for copy in range(number):
            k_copy = builder.add(k, depth.type(copy * step))
            sums += multiply_add(k_copy, pointers, old[copy * count : (copy + 1) * count], None)
            pointers = [builder.gep(pointer, [stride]) for pointer, stride in zip(pointers, strides, strict=True)]
        return [*pointers, *sums]

    loop = _Loop(builder, depth.type(0), depth, copies * step, [*starts, *[vectors.zero] * (count * copies)])
    k, values = loop.close(steps(copies, loop.k, loop.values))
    pointers, sums = values[: len(starts)], values[len(starts) :]
    total = sums[:count]
    for copy in range(1, copies):
        total = [builder.fadd(x, y) for x, y in zip(total, sums[copy * count :][:count], strict=True)]
    if copies > 1:
        loop = _Loop(builder, k, depth, step, [*pointers, *total])
        k, values = loop.close(steps(1, loop.k, loop.values))
        pointers, total = values[: len(starts)], values[len(starts) :]
    if step == 1:
        return total
    return multiply_add(k, pointers, total, vectors.mask(builder.sub(depth, k)))


@intrinsic
def _strip(typingctx, rows, columns, depth, a, a_offset, a_row, a_k, b, b_offset, b_k, addend, add, c, c_offset, c_row):
    """c (rows × columns) = a (rows × depth) · b (depth × columns), plus addend if `add`.

    `rows` is one of STRIP_ROWS, `columns` at most NR. Element (i, k) of a has the flat index a_offset + i·a_row +
    k·a_k, element (k, j) of b b_offset + k·b_k + j, element (i, j) of c and of addend c_offset + i·c_row + j.
    """

    def codegen(context, builder, signature, args):
        rows, columns, depth, a, a_offset, a_row, a_k, b, b_offset, b_k, addend, add, c, c_offset, c_row = args
        index = depth.type  # the type of indices, which makes constants of it
        dtype = signature.args[3].dtype
        vectors = Vectors(context, builder, dtype, VECTOR_BYTES // (dtype.bitwidth // 8))
        a_start = address(context, builder, signature.args[3], a, a_offset)
        b_start = address(context, builder, signature.args[7], b, b_offset)

        def tile(row_count, vector_count, is_masked):
            last_count, masks = None, [None] * vector_count
            if is_masked:
                last_count = builder.sub(columns, index((vector_count - 1) * vectors.lanes))
                masks[-1] = vectors.mask(last_count)
            row_offsets = [builder.mul(a_row, index(i)) for i in range(row_count)]

            def multiply_add(k, pointers, sums, mask):
                a_column, b_row = pointers
                b_vectors = [vectors.load(vectors.advance(b_row, j), masks[j]) for j in range(vector_count)]
                if row_count == MR and vector_count == NR_VECTORS:
                    for j in range(vector_count):
                        vectors.prefetch(vectors.advance(b_row, j + STRIPS_AHEAD * NR_VECTORS))
                new = []
                for i in range(row_count):
                    value = vectors.broadcast(builder.load(builder.gep(a_column, [row_offsets[i]])))
                    new += [
                        vectors.multiply_add(value, b_vectors[j], sums[i * vector_count + j])
                        for j in range(vector_count)
                    ]
                return new

            count, starts, strides = row_count * vector_count, [a_start, b_start], [a_k, b_k]
            sums = _accumulate(builder, vectors, depth, count, 1, multiply_add, starts, strides)
            vectors.store_tile(
                [sums[i * vector_count :][:vector_count] for i in range(row_count)],
                address(context, builder, signature.args[10], addend, c_offset),
                add,
                address(context, builder, signature.args[12], c, c_offset),
                c_row,
                last_count,
            )

        def choice(row_count, vector_count, is_masked):
            limit = index(vector_count * vectors.lanes)
            fits = builder.icmp_signed("<=" if is_masked else "==", columns, limit)
            condition = builder.and_(fits, builder.icmp_signed("==", rows, index(row_count)))
            return condition, lambda: tile(row_count, vector_count, is_masked)

        widths = [(count, True) for count in range(1, NR_VECTORS + 1)]
        if not HAS_MASKS:
            widths.insert(0, (NR_VECTORS, False))
        choose(builder, [choice(row_count, *width) for row_count in STRIP_ROWS for width in widths])
        return context.get_dummy_value()

    return types.void(
        rows, columns, depth, a, a_offset, a_row, a_k, b, b_offset, b_k, addend, add, c, c_offset, c_row
    ), codegen  # fmt: skip


@intrinsic
def _dot(typingctx, rows, columns, depth, stride, a, a_offset, b, b_offset, addend, add, c, c_offset, c_row, c_column):
    """c (rows × columns) = a (rows × depth) · b (columns × depth)ᵀ, plus addend if `add`.

    `rows` and `columns` are one of DOT_TILES. Element (i, k) of a has the flat index a_offset + i·stride + k, element
    (j, k) of b b_offset + j·stride + k, element (i, j) of c and of addend c_offset + i·c_row + j·c_column.
    """

    def codegen(context, builder, signature, args):
        rows, columns, depth, stride, a, a_offset, b, b_offset, addend, add, c, c_offset, c_row, c_column = args
        index = depth.type  # the type of indices, which makes constants of it
        dtype = signature.args[4].dtype
        vectors = Vectors(context, builder, dtype, VECTOR_BYTES // (dtype.bitwidth // 8))
        a_start = address(context, builder, signature.args[4], a, a_offset)
        b_start = address(context, builder, signature.args[6], b, b_offset)

        def tile(row_count, column_count):
            a_rows = [builder.gep(a_start, [builder.mul(stride, index(i))]) for i in range(row_count)]
            b_rows = [builder.gep(b_start, [builder.mul(stride, index(j))]) for j in range(column_count)]

            def multiply_add(k, pointers, sums, mask):
                b_vectors = [vectors.load(builder.gep(start, [k]), mask) for start in b_rows]
                new = []
                for i, start in enumerate(a_rows):
                    value = vectors.load(builder.gep(start, [k]), mask)
                    new += [
                        vectors.multiply_add(value, b_vectors[j], sums[i * column_count + j])
                        for j in range(column_count)
                    ]
                return new

            sums = _accumulate(builder, vectors, depth, row_count * column_count, vectors.lanes, multiply_add)
            totals = [vectors.sum(value) for value in sums]
            for number, total in enumerate(totals):
                i, j = divmod(number, column_count)
                offset = builder.add(c_offset, builder.mul(c_row, index(i)))
                offset = builder.add(offset, builder.mul(c_column, index(j)))
                start = address(context, builder, signature.args[8], addend, offset)
                old = builder.select(add, builder.load(start), total.type(0))
                start = address(context, builder, signature.args[10], c, offset)
                builder.store(builder.fadd(total, old), start)

        def choice(row_count, column_count):
            is_height = builder.icmp_signed("==", rows, index(row_count))
            condition = builder.and_(is_height, builder.icmp_signed("==", columns, index(column_count)))
            return condition, lambda: tile(row_count, column_count)

        choose(builder, [choice(*shape) for shape in DOT_TILES])
        return context.get_dummy_value()

    return types.void(
        rows, columns, depth, stride, a, a_offset, b, b_offset, addend, add, c, c_offset, c_row, c_column
    ), codegen  # fmt: skip


@njit(**OPTIONS)
def _strips(a, a_row, a_k, b, addend, add, out, rows, columns, inner):
    """out[rows, columns] = a · b over the half-open range `inner`; element (i, k) of a is a[i·a_row + k·a_k].

    a is flat, b K × N, out and addend M × N. With few rows, a block of B has few rows, which are read side by side;
    with few columns, a block stays in cache for all rows. `partial_out` is what a block's products are added to.
    """
    flat_b, flat_out, flat_addend = b.ravel(), out.ravel(), addend.ravel()
    n, nr = out.shape[1], NR_BYTES // out.itemsize
    has_few_rows = rows[1] - rows[0] <= columns[1] - columns[0]
    block = DEPTH_OF_COLUMNS
    if has_few_rows and n > NARROW:
        block = DEPTH_OF_ROWS if rows[1] - rows[0] < MR else DEPTH_OF_STRIPS
    # A column of tiles shares a strip of B, a row of tiles some rows of A: the inner loop runs over the fewer tiles.
    width = nr if has_few_rows else columns[1] - columns[0]
    for k in range(inner[0], inner[1], block):
        depth = min(block, inner[1] - k)
        is_first = k == inner[0]
        partial_out = flat_addend if is_first else flat_out
        for start in range(columns[0], columns[1], width):
            i = rows[0]
            while i < rows[1]:
                left = rows[1] - i
                height = MR if left >= MR else (MR // 2 if left >= MR // 2 else 1)
                for j in range(start, min(start + width, columns[1]), nr):
                    _strip(
                        height, min(nr, columns[1] - j), depth, a, i * a_row + k * a_k, a_row, a_k,
                        flat_b, k * n + j, n, partial_out, add or not is_first, flat_out, i * n + j, n,
                    )  # fmt: skip
                i += height


@njit(**OPTIONS)
def _dots(a, b, addend, add, out, rows, columns, inner):
    """out[rows, columns] = a · bᵀ over the half-open range `inner`; a is M × K, b N × K, out and addend M × N.

    `partial_out` is what the products of a block of `inner` are added to.
    """
    flat_a, flat_b, flat_out, flat_addend = a.ravel(), b.ravel(), out.ravel(), addend.ravel()
    n, stride = out.shape[1], a.shape[1]
    # The inner loop runs over the shorter side, so that the longer operand is read once.
    if rows[1] - rows[0] <= columns[1] - columns[0]:
        longer, shorter, flat_long, flat_short, long_step, short_step = columns, rows, flat_b, flat_a, 1, n
    else:
        longer, shorter, flat_long, flat_short, long_step, short_step = rows, columns, flat_a, flat_b, n, 1
    block = DEPTH_OF_DOTS if shorter[1] - shorter[0] > DOT_COLUMNS else DEPTH_OF_VECTORS
    for k in range(inner[0], inner[1], block):
        depth = min(block, inner[1] - k)
        is_first = k == inner[0]
        partial_out = flat_addend if is_first else flat_out
        i = longer[0]
        while i < longer[1]:
            height = 4 if longer[1] - i >= 4 else 1
            j = shorter[0]
            while j < shorter[1]:
                width = DOT_COLUMNS if height == 4 and shorter[1] - j >= DOT_COLUMNS else 1
                _dot(
                    height, width, depth, stride, flat_long, i * stride + k, flat_short, j * stride + k, partial_out,
                    add or not is_first, flat_out, i * long_step + j * short_step, long_step, short_step,
                )  # fmt: skip
                j += width
            i += height


@njit(**OPTIONS)
def multiply_part(a, a_inner_last, b, b_inner_last, addend, add, out, rows, columns, inner):
    """The part of the product in the half-open ranges `rows` and `columns` of out, summed over the range `inner`."""
    if b_inner_last:
        _dots(a, b, addend, add, out, rows, columns, inner)
    else:
        a_row, a_k = (a.shape[1], 1) if a_inner_last else (1, a.shape[1])
        _strips(a.ravel(), a_row, a_k, b, addend, add, out, rows, columns, inner)


@lru_cache
def is_faster_in_place(form, m, n, k):
    """Whether the product is faster on operands in place.

    The limits are fitted to the times of 3,800 random shapes on a Zen 5 core. For CPUs without masks, both took the
    same time at them on a Zen 3 core.
    """
    shorter = min(m, n)
    if not HAS_MASKS:
        if form == "nt":  # packing moves K·(M + N) elements for K·M·N multiply-adds
            return k >= 24 and m * n <= 28 * (m + n)
        is_narrow = n <= 32 if form == "nn" else n <= 24 and k >= 2 * n
        if m in (MR - 2, MR - 1) and not is_narrow:  # strips would take them as MR // 2 rows and single ones
            return False
        return is_narrow or m < 2 * MR or (m <= 20 and k >= 64)
    if form == "nt":  # vectors along k
        is_long = (shorter <= 16 and k >= 256) or (m * n <= 16_000 and k >= 6 * shorter)
        return k >= 16 and (m * n <= 900 or shorter <= 6 or is_long)
    if m == 1 or (m < MR and (k < MR or n <= NARROW)):
        return True
    if form == "nn":
        return n <= 64 or MR <= m <= 48 or (n <= NARROW and k >= 2 * n)
    return n == 1 or m * n <= 1500 or MR <= m <= 32 or (m >= MR and k >= 256 and m * n <= 2**16)


def is_shallow(n, k):
    """Whether a product of the form tn has so few rows of A that each of them is a stream of its own."""
    return HAS_MASKS and n > 1 and k <= min(64, 4 * n)


def as_rows(form, a, b, out):
    """(form, a, b, out) of an equivalent product whose long operand is read in whole rows.

    A column has the same memory layout as a row; outᵀ = Bᵀ·A reads a long A of the form tn in whole rows, unless it
    `is_shallow`. The result is out, or a transposed buffer for it.
    """
    m, n = out.shape
    if m == 1 and form == "tn":
        form, a = "nn", a.reshape(1, -1)
    if n == 1 and form == "nn":
        return "nt", a, b.reshape(1, -1), out
    if n < m and form == "tn" and not is_shallow(n, len(a)):
        return "tn", b, a, out.reshape(1, -1) if n == 1 else np.empty((n, m), out.dtype)
    return form, a, b, out
