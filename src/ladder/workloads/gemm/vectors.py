"""Vectors of numbers in LLVM IR, and how many of them the registers of this CPU hold."""

import numba
from llvmlite import binding, ir
from numba.core import cgutils


def register_block():
    """The bytes of a vector register, and the tile of sums: its rows, MR, and the vectors of a row, NR_VECTORS.

    The tile, the vectors of a row of B and one of A must fit in the registers, or the compiler spills sums to memory;
    and the tile must have enough sums to hide the latency of a multiply-add.
    """
    features = numba.config.CPU_FEATURES
    if features is None:
        features = binding.get_host_cpu_features().flatten()
    features = features.split(",")
    if "+avx512f" in features:  # 32 registers
        return 64, 8, 3
    if "+avx2" in features and "+fma" in features:  # 16 registers
        return 32, 6, 2
    if "+neon" in features:  # 32 registers
        return 16, 8, 2
    return 16, 4, 2


VECTOR_BYTES, MR, NR_VECTORS = register_block()
HAS_MASKS = VECTOR_BYTES == 64  # AVX-512 has registers for masks: a masked load is as fast as an unmasked one
NR_BYTES = VECTOR_BYTES * NR_VECTORS  # NR = NR_BYTES / itemsize


class Vectors:
    """Emits LLVM IR for vectors of `lanes` numbers of `dtype`, unaligned in memory."""

    def __init__(self, context, builder, dtype, lanes):
        self.builder = builder
        self.number = context.get_data_type(dtype)  # LLVM's type of a number
        self.align = context.get_abi_sizeof(self.number)  # bytes of a number
        self.lanes = lanes
        self.type = ir.VectorType(self.number, lanes)
        self.undefined = ir.Constant(self.type, ir.Undefined)
        self.zero = ir.Constant(self.type, None)

    def load(self, pointer, mask=None):
        """The vector at `pointer`; with a mask, the lanes that it excludes are zero, and their memory isn't read."""
        pointer = self.builder.bitcast(pointer, self.type.as_pointer())
        if mask is None:
            return self.builder.load(pointer, align=self.align)
        align = ir.IntType(32)(self.align)
        return self._call_masked("load", self.type, [pointer, align, mask, self.zero])

    def store(self, value, pointer):
        self.builder.store(value, self.builder.bitcast(pointer, self.type.as_pointer()), align=self.align)

    def store_first(self, count, values, pointers):
        """Store the first `count` lanes of each value; all of them if `count` is larger, none if it is negative."""
        if HAS_MASKS:
            mask = self.mask(count)
            for value, pointer in zip(values, pointers, strict=True):
                pointer = self.builder.bitcast(pointer, self.type.as_pointer())
                arguments = [value, pointer, ir.IntType(32)(self.align), mask]
                self._call_masked("store", ir.VoidType(), arguments)
            return
        is_whole = self.builder.icmp_signed(">=", count, count.type(self.lanes))
        with self.builder.if_else(is_whole) as (whole, part):
            with whole:
                for value, pointer in zip(values, pointers, strict=True):
                    self.store(value, pointer)
            with part:
                self._store_parts(count, values, pointers)

    def _store_parts(self, count, values, pointers):
        """As `store_first` for fewer than all lanes, by parts of half, a quarter, ... of the lanes.

        AVX2 has masked stores, but on AMD's CPUs one of float32 takes some twenty cycles.
        """
        builder, size = self.builder, self.lanes // 2
        count = builder.select(builder.icmp_signed("<", count, count.type(0)), count.type(0), count)
        while size:
            has_part = builder.icmp_signed("!=", builder.and_(count, count.type(size)), count.type(0))
            before, shifted, next_pointers = builder.block, [], []
            with builder.if_then(has_part):
                for value, pointer in zip(values, pointers, strict=True):
                    part = self.shuffle(value, self.undefined, list(range(size)))
                    builder.store(part, builder.bitcast(pointer, part.type.as_pointer()), align=self.align)
                    rest = [(i + size) % self.lanes for i in range(self.lanes)]
                    shifted.append(self.shuffle(value, self.undefined, rest))
                    next_pointers.append(builder.gep(pointer, [count.type(size)]))
                inside = builder.block
            values = self.merge((shifted, inside), (values, before))
            pointers = self.merge((next_pointers, inside), (pointers, before))
            size //= 2

    def store_tile(self, rows, addend, add, target, stride, last_count=None):
        """Store rows of vectors at `target`, `stride` numbers apart, plus those at `addend` if `add`.

        Of the last vector in each row only the first `last_count` lanes are stored, all if there are more. Without
        `add`, addends aren't read. The tile has a single branch, and the address of a row follows from that of the row
        before: addresses that are computed ahead would take registers from the preceding loop.
        """
        builder, before = self.builder, self.builder.block
        mask = None if last_count is None else self.mask(last_count)
        width = len(rows[0])
        values = [value for row in rows for value in row]

        def places(start):
            for i in range(len(rows)):
                start = builder.gep(start, [stride]) if i else start
                yield from (self.advance(start, j) for j in range(width))

        with builder.if_then(add):
            masks = ([None] * (width - 1) + [mask]) * len(rows)
            addends = [self.load(*place) for place in zip(places(addend), masks, strict=True)]
            sums = [builder.fadd(*pair) for pair in zip(values, addends, strict=True)]
            inside = builder.block
        values, targets = self.merge((sums, inside), (values, before)), list(places(target))
        for j in range(width):
            if j < width - 1 or last_count is None:
                for value, pointer in zip(values[j::width], targets[j::width], strict=True):
                    self.store(value, pointer)
            else:
                self.store_first(last_count, values[j::width], targets[j::width])

    def merge(self, *branches):
        """The values after a branch; each of `branches` has a list of values and the block at its end."""
        merged = []
        for alternatives in zip(*(values for values, _ in branches), strict=True):
            merged.append(self.builder.phi(alternatives[0].type))
            for value, (_, block) in zip(alternatives, branches, strict=True):
                merged[-1].add_incoming(value, block)
        return merged

    def _call_masked(self, verb, result, arguments):
        """Call LLVM's masked `load` or `store`, as `verb` says; `result` is the type of its result."""
        name = f"llvm.masked.{verb}.v{self.lanes}f{8 * self.align}.p0"
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), arguments)

    def mask(self, count):
        """The mask of the first `count` lanes; all of them if `count` is larger."""
        integer = ir.IntType(8 * self.align)  # as wide as a lane
        numbers = ir.Constant(ir.VectorType(integer, self.lanes), list(range(self.lanes)))
        if integer.width < count.type.width:  # comparing wide integers would take two vectors
            all_lanes = count.type(self.lanes)
            count = self.builder.select(self.builder.icmp_signed("<", count, all_lanes), count, all_lanes)
            count = self.builder.trunc(count, integer)
        limit = ir.Constant(numbers.type, ir.Undefined)
        limit = self.builder.insert_element(limit, count, ir.IntType(32)(0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None)  # index 0 in every lane: a broadcast
        limit = self.builder.shuffle_vector(limit, limit, first)
        if HAS_MASKS:
            return self.builder.icmp_signed("<", numbers, limit)
        # AVX2 takes sign bits as a mask; a comparison is repeated at each use, and keeps a register for the limit.
        return self.builder.icmp_signed("<", self.builder.sub(numbers, limit), ir.Constant(numbers.type, None))

    def prefetch(self, pointer):
        """Prefetch the cache line at `pointer`, which may lie outside of any array, to L2."""
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        read, to_l2, data = word(0), word(2), word(1)
        self.builder.call(function, [self.builder.bitcast(pointer, byte), read, to_l2, data])

    def advance(self, pointer, count):
        """The address `count` vectors after `pointer`."""
        return self.builder.gep(pointer, [ir.IntType(64)(count * self.lanes)])

    def sum(self, value):
        """The sum of the lanes, by halving."""
        lanes = self.lanes
        while lanes > 1:
            lanes //= 2
            upper = [(i + lanes) % self.lanes for i in range(self.lanes)]
            value = self.builder.fadd(value, self.shuffle(value, self.undefined, upper))
        return self.builder.extract_element(value, ir.IntType(32)(0))

    def shuffle(self, first, second, indices):
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(indices)), indices)
        return self.builder.shuffle_vector(first, second, mask)

    def broadcast(self, value):
        vector = self.builder.insert_element(self.undefined, value, ir.IntType(32)(0))
        return self.shuffle(vector, self.undefined, [0] * self.lanes)

    def multiply_add(self, x, y, z):
        name = f"llvm.fmuladd.v{self.lanes}f{8 * self.align}"
        kind = ir.FunctionType(self.type, [self.type] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [x, y, z])


def address(context, builder, array_type, array, offset):
    """Pointer to the element of a contiguous array with the flat index `offset`."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [offset])


def choose(builder, choices, otherwise=None):
    """Run the emitter of the first condition that holds, or `otherwise`; `choices` are pairs (condition, emitter)."""
    end = builder.append_basic_block("chosen")
    for condition, emit in choices:
        block, other = builder.append_basic_block("choice"), builder.append_basic_block("other")
        builder.cbranch(condition, block, other)
        builder.position_at_end(block)
        emit()
        builder.branch(end)
        builder.position_at_end(other)
    if otherwise:
        otherwise()
    builder.branch(end)
    builder.position_at_end(end)
