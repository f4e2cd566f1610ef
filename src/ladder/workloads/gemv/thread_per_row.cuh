// What the kernels share that have a thread per row, in blocks of BLOCK threads: bounds that give the compiler registers
// for many loads at once. As few as n threads have nothing but these to hide the memory's latency.
#pragma once
static_assert(BLOCK <= 1024, "A block has at most 1024 threads: lower BLOCK.");

// So few blocks on a multiprocessor are enough: told so, the compiler doesn't save registers for more.
constexpr int LEAST_BLOCKS = BLOCK < 512 ? 512 / BLOCK : 1;
