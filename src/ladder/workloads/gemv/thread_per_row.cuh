// What the kernels share that have a thread per row, in blocks of BLOCK threads: bounds that give the compiler registers
// for many loads at once. As few as n threads have nothing but these to hide the memory's latency. Blocks of more than
// 512 threads have fewer registers.
#pragma once
static_assert(BLOCK <= 1024, "A block has at most 1024 threads: lower BLOCK.");

// So few blocks on a multiprocessor are enough: knowing it, the compiler doesn't save registers for more. The smallest
// block has the registers of a warp of 32.
constexpr int LEAST_BLOCKS = BLOCK < 32 ? 16 : BLOCK < 512 ? 512 / BLOCK : 1;
