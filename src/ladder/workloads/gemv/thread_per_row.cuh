// Launch bounds of the kernels with a thread per row, which leave the compiler registers for many pending loads: with
// only n threads, these loads alone hide the memory's latency. In blocks of more than 512 threads, a thread has fewer
// registers.
#pragma once
static_assert(BLOCK <= 1024, "A block has at most 1024 threads: lower BLOCK.");

// The minimum of resident blocks per multiprocessor, so low that the compiler needn't economise on registers. A block
// of fewer than 32 threads takes the registers of a whole warp.
constexpr int MIN_BLOCKS = BLOCK < 32 ? 16 : BLOCK < 512 ? 512 / BLOCK : 1;
