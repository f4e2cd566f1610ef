// Compute products by the kernels of a CUDA source on the CPU. For each product standard input has a Task and its a, b
// and c. Every operand is a separate allocation, so that the address sanitizer detects accesses outside. The results
// go to standard output.
#include <cstdio>

#include "product_operands.h"

#include SOURCE

#if DYNAMIC_BYTES
__thread Vector memory[DYNAMIC_BYTES / sizeof(Vector)];
#endif

struct Task {
  int form, m, n, k;
  int addend;   // 0: none, 1: c, 2: out itself
  int shifted;  // a bit each for a, b, c and out: whether it begins one element after a multiple of 16 bytes
  dim3 grid, block;
};

static void solve(const Task &task) {
  const auto [form, m, n, k, addend, shifted, grid, block] = task;
  const ProductOperands product(m, n, k, addend, shifted);
  const auto [a, b, c, out] = product.operands;
  REAL *const addends = product.addend(addend);
  auto *kernel = form == 0 ? gemm_nn : form == 1 ? gemm_tn : gemm_nt;
  launch(grid, block, [=] { kernel(a, b, addends, out, m, n, k); });
  product.write();
}

int main() {
  for (Task task; std::fread(&task, sizeof task, 1, stdin);) solve(task);
}
