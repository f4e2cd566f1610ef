// What the kernels with a thread per row share: launch bounds that give the compiler registers for many pending loads.
// With only n threads, these loads alone hide the memory's latency. Blocks of more than 512 threads have fewer
// registers.
#pragma once
static_assert(BLOCK <= 1024, "A block has at most 1024 threads: lower BLOCK.");

// The bound on resident blocks per multiprocessor, low enough that the compiler doesn't limit registers. A block of
// fewer than 32 threads has the registers of a whole warp.
constexpr int MIN_BLOCKS = BLOCK < 32 ? 16 : BLOCK < 512 ? 512 / BLOCK : 1;
