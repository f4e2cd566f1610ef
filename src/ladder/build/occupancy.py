"""How many blocks of a kernel a multiprocessor can hold at once, by what the compiler says that they take.

The limits are those of NVIDIA's CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; how
registers and shared memory are handed out is in the `cuda_occupancy.h` that comes with CUDA. It is an upper bound: a
grid may have fewer blocks, and the card may keep more of a multiprocessor's memory as cache.
"""

import struct

# The most warps, blocks and bytes of shared memory on a multiprocessor.
LIMITS = {
    "sm_80": (64, 32, 164 * 1024),
    "sm_86": (48, 16, 100 * 1024),
    "sm_89": (48, 24, 100 * 1024),
    "sm_90": (64, 32, 228 * 1024),
    "sm_100": (64, 32, 228 * 1024),
    "sm_120": (48, 24, 100 * 1024),
}
WARP = 32
# A multiprocessor's registers lie in four parts. A warp's are in one of them, in units.
REGISTERS, PARTS, REGISTER_UNIT = 64 * 1024, 4, 256
# Bytes. The system has its share of every block's shared memory.
SHARED_UNIT, RESERVED = 128, 1024
# In a kernel's section .nv.info: the format whose value says how many bytes follow, and the attribute of launch bounds.
SIZED, MAX_THREADS = 4, 5


def occupancy(architecture, threads, registers, shared):
    """The most blocks and warps on a multiprocessor, and the warps' share of what it could hold, as a dict.

    Of blocks with `threads` threads, `registers` each, and bytes of `shared` memory, static and dynamic. None where
    the architecture is unknown or one of the counts is None.
    """
    limits = LIMITS.get(architecture.rstrip("af"))
    if limits is None or None in (threads, registers, shared):
        return None
    most_warps, most_blocks, memory = limits
    warps = -(-threads // WARP)
    fitting = REGISTERS // PARTS // rounded_up(WARP * registers, REGISTER_UNIT) * PARTS
    blocks = min(
        most_blocks, most_warps // warps, fitting // warps, memory // rounded_up(shared + RESERVED, SHARED_UNIT)
    )
    return {"blocks": blocks, "warps": blocks * warps, "share": blocks * warps / most_warps}


def rounded_up(count, unit):
    """A count rounded up to whole units."""
    return -(-count // unit) * unit


def launch_bounds(binary):
    """{kernel: the most threads of its blocks} of a cubin, an ELF file of 64 bits; those with launch bounds alone."""
    found = {}
    for name, content in sections(binary):
        for form, attribute, value in entries(content) if name.startswith(".nv.info.") else ():
            if (form, attribute) == (SIZED, MAX_THREADS):
                x, y, z = struct.unpack("<3I", value)
                found[name.removeprefix(".nv.info.")] = x * y * z
    return found


def sections(binary):
    """The sections of an ELF file as (name, content)."""
    (table,) = struct.unpack_from("<Q", binary, 0x28)
    size, count, of_names = struct.unpack_from("<3H", binary, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", binary, table + i * size) for i in range(count)]
    names = heads[of_names][4]
    for name, _, _, _, start, length in heads:
        end = binary.index(b"\0", names + name)
        yield binary[names + name : end].decode(), binary[start : start + length]


def entries(content):
    """The entries of a section .nv.info as (format, attribute, bytes of a sized value)."""
    at = 0
    while at < len(content):
        form, attribute, size = struct.unpack_from("<BBH", content, at)
        size = size if form == SIZED else 0
        yield form, attribute, content[at + 4 : at + 4 + size]
        at += 4 + size
