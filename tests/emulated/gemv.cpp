// Run the kernels of a CUDA source of GEMV on the CPU: with the transposition before them, or the addition of partial
// sums after them, if the source has it.
#define DYNAMIC_BYTES 0
#include "device.h"

struct alignas(16) int4 {
  int x, y, z, w;
};
static dim3 gridDim;

inline REAL __shfl_xor_sync(unsigned, REAL value, unsigned distance) {
  const unsigned lane = threadIdx.x % 32;
  Warp &warp = warps[threadIdx.x / 32];
  warp.a[lane][0] = value;
  warp.barrier.wait();
  const REAL result = warp.a[lane ^ distance][0];
  warp.barrier.wait();
  return result;
}

#include SOURCE

static unsigned ceil_divide(unsigned dividend, unsigned divisor) { return (dividend + divisor - 1) / divisor; }

#ifdef TEAM
// Each of `parts` blocks per group of rows sums over `columns` columns; if `wide`, with loads of whole vectors.
extern "C" void emulate_parts(const REAL *matrix, const REAL *x, REAL *partial, REAL *y, int n, int m, int wide,
                              unsigned groups, unsigned parts, int columns) {
  gridDim = {groups, parts, 1};
  launch(gridDim, {BLOCK, 1, 1}, [=] { (wide ? gemv_wide : gemv_single)(matrix, x, partial, n, m, columns); });
  launch({ceil_divide(n * 32, BLOCK), 1, 1}, {BLOCK, 1, 1}, [=] { add_up(partial, y, n, parts); });
}
#else
extern "C" void emulate(const REAL *matrix, const REAL *x, REAL *y, REAL *transposed, int n, int m) {
#ifdef TILE
  launch({ceil_divide(n, TILE) * ceil_divide(m, TILE), 1, 1}, {TILE, BLOCK_ROWS, 1},
         [=] { transpose(matrix, transposed, n, m); });
  matrix = transposed;
#endif
  launch({ceil_divide(n, BLOCK), 1, 1}, {BLOCK, 1, 1}, [=] { gemv(matrix, x, y, n, m); });
}
#endif
