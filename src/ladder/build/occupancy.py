"""The theoretical occupancy of a kernel: the resident blocks per multiprocessor, from the resources that ptxas reports.

The limits are those of NVIDIA's CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; the
allocation of registers and shared memory follows CUDA's `cuda_occupancy.h`. The result is an upper bound: a grid may
have fewer blocks, and the GPU may use more of a multiprocessor's memory as cache.
"""

import struct
from collections.abc import Iterator

# The maximum number of warps, blocks and bytes of shared memory per multiprocessor.
MULTIPROCESSOR_LIMITS = {
    "sm_80": (64, 32, 164 * 1024),
    "sm_86": (48, 16, 100 * 1024),
    "sm_89": (48, 24, 100 * 1024),
    "sm_90": (64, 32, 228 * 1024),
    "sm_100": (64, 32, 228 * 1024),
    "sm_120": (48, 24, 100 * 1024),
}
WARP_THREADS = 32  # threads of a warp
# A multiprocessor's registers are in four partitions. A warp's registers are allocated in one of them, in units of 256.
REGISTERS, PARTITIONS, REGISTER_UNIT = 64 * 1024, 4, 256
# Of shared memory: the unit of its allocation, and what the system reserves per block.
SHARED_UNIT_BYTES, SYSTEM_SHARED_BYTES = 128, 1024
# In a kernel's section .nv.info: the format EIFMT_SVAL, a size and that many bytes, and the attribute
# EIATTR_MAX_THREADS, the launch bounds.
SIZED_VALUE, MAX_THREADS = 4, 5


def occupancy(
    architecture: str, threads: int | None, registers: int, shared_bytes: int | None
) -> dict[str, float] | None:
    """The resident blocks and warps per multiprocessor, and the warps as a share of the maximum, as a dict.

    A block has `threads` threads with `registers` each, and `shared_bytes` of shared memory, static and dynamic. None
    if the architecture is unknown, or `threads` or `shared_bytes` is None.
    """
    limits = MULTIPROCESSOR_LIMITS.get(architecture.rstrip("af"))
    if limits is None or threads is None or shared_bytes is None:
        return None
    max_warps, max_blocks, max_shared_bytes = limits
    warps = -(-threads // WARP_THREADS)
    warps_by_registers = REGISTERS // PARTITIONS // round_up(WARP_THREADS * registers, REGISTER_UNIT) * PARTITIONS
    block_bytes = round_up(shared_bytes + SYSTEM_SHARED_BYTES, SHARED_UNIT_BYTES)
    blocks = min(max_blocks, max_warps // warps, warps_by_registers // warps, max_shared_bytes // block_bytes)
    return {"blocks": blocks, "warps": blocks * warps, "share": blocks * warps / max_warps}


def round_up(count: int, unit: int) -> int:
    """A count rounded up to whole units."""
    return -(-count // unit) * unit


def launch_bounds(binary: bytes) -> dict[str, int]:
    """{kernel: max threads per block} of a cubin, a 64-bit ELF file, for kernels with launch bounds."""
    bounds = {}
    for name, content in sections(binary):
        for value_format, attribute, value in info_entries(content) if name.startswith(".nv.info.") else ():
            if (value_format, attribute) == (SIZED_VALUE, MAX_THREADS):
                x, y, z = struct.unpack("<3I", value)
                bounds[name.removeprefix(".nv.info.")] = x * y * z
    return bounds


def sections(binary: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the sections of a 64-bit ELF file as (name, content)."""
    # The file header's fields e_shoff at 0x28, and e_shentsize, e_shnum and e_shstrndx from 0x3A on.
    (table_start,) = struct.unpack_from("<Q", binary, 0x28)
    header_size, count, names_index = struct.unpack_from("<3H", binary, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", binary, table_start + i * header_size) for i in range(count)]
    names_start = headers[names_index][4]
    for name_offset, _, _, _, start, length in headers:
        end = binary.index(b"\0", names_start + name_offset)
        yield binary[names_start + name_offset : end].decode(), binary[start : start + length]


def info_entries(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the entries of a section .nv.info, (format, attribute, value); only those of SIZED_VALUE have a value."""
    offset = 0
    while offset < len(content):
        value_format, attribute, size = struct.unpack_from("<BBH", content, offset)
        size = size if value_format == SIZED_VALUE else 0
        yield value_format, attribute, content[offset + 4 : offset + 4 + size]
        offset += 4 + size
