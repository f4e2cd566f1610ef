// A CUDA source of GEMV on the CPU: with its transposition first, or its partial sums added up last, where it has them.
#include "emulation.hpp"
#include SOURCE

#ifdef TEAM
extern "C" void emulate_parts(const REAL *matrix, const REAL *x, REAL *partial, REAL *y, int n, int m, int wide,
                              int groups, int parts, int columns) {
  launch({groups, parts}, {BLOCK, 1}, [=] { (wide ? gemv_wide : gemv_single)(matrix, x, partial, n, m, columns); });
  launch({(n * 32 + BLOCK - 1) / BLOCK, 1}, {BLOCK, 1}, [=] { add_up(partial, y, n, parts); });
}
#else
extern "C" void emulate(const REAL *matrix, const REAL *x, REAL *y, REAL *transposed, int n, int m) {
#ifdef TILE
  launch({(n + TILE - 1) / TILE * ((m + TILE - 1) / TILE), 1}, {TILE, STEP}, [=] { transpose(matrix, transposed, n, m); });
  matrix = transposed;
#endif
  launch({(n + BLOCK - 1) / BLOCK, 1}, {BLOCK, 1}, [=] { gemv(matrix, x, y, n, m); });
}
#endif
