// Compute products by the kernels of a CUDA source on the CPU. For each product standard input has a Task and its a, b
// and c. Every operand is a separate allocation, so that the address sanitizer detects accesses outside. The results
// go to standard output.
#include <cstdio>

#include "device.h"

#include SOURCE

#if DYNAMIC
__thread Vector memory[DYNAMIC / sizeof(Vector)];
#endif

struct Task {
  int form, m, n, k;
  int addend;   // 0: none, 1: c, 2: out itself
  int shifted;  // a bit each for a, b, c and out: whether it begins one element after a multiple of 16 bytes
  Index grid, block;
};

static void solve(const Task &task) {
  const auto [form, m, n, k, addend, shifted, grid, block] = task;
  const size_t sizes[] = {size_t(m) * k, size_t(k) * n, size_t(m) * n, size_t(m) * n};
  REAL *arrays[4], *operands[4];
  for (int i = 0; i < 4; ++i) {
    const int shift = shifted >> i & 1;
    arrays[i] = new REAL[sizes[i] + shift];
    operands[i] = arrays[i] + shift;
    if (i < 3) require(std::fread(operands[i], sizeof(REAL), sizes[i], stdin) == sizes[i], "An operand is missing.");
  }
  const auto [a, b, c, out] = operands;
  for (size_t i = 0; i < sizes[3]; ++i) out[i] = addend == 2 ? c[i] : REAL(NAN);
  auto *kernel = form == 0 ? gemm_nn : form == 1 ? gemm_tn : gemm_nt;
  REAL *const addends = addend == 0 ? nullptr : addend == 1 ? c : out;
  launch(grid, block, [=] { kernel(a, b, addends, out, m, n, k); });
  std::fwrite(out, sizeof(REAL), sizes[3], stdout);
  std::fflush(stdout);
  for (REAL *array : arrays) delete[] array;
}

int main() {
  for (Task task; std::fread(&task, sizeof task, 1, stdin);) solve(task);
}
