// Launch bounds of the kernels with a thread per row, which leave the compiler registers for many pending loads: with
// only n threads, these loads alone hide the memory's latency. Blocks of more than 512 threads have fewer registers.
#pragma once
static_assert(BLOCK <= 1024, "A block has at most 1024 threads: lower BLOCK.");

// Resident blocks per multiprocessor, so few that the compiler needn't save registers. A block of fewer than 32 threads
// takes the registers of a whole warp.
constexpr int MIN_BLOCKS = BLOCK < 32 ? 16 : BLOCK < 512 ? 512 / BLOCK : 1;
