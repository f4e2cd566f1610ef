// The operands of an emulated product, read from standard input. Each is a separate allocation, so that the address
// sanitizer detects accesses outside.
#pragma once
#include <cstdio>

#include "device.h"

struct ProductOperands {
  size_t counts[4];
  REAL *arrays[4], *operands[4];  // a, b, c and out; an operand may begin one element after its array

  // `addend` is 0 for none, 1 for c, 2 for out itself; `shifted` has a bit for each operand.
  ProductOperands(int m, int n, int k, int addend, int shifted)
      : counts{size_t(m) * k, size_t(k) * n, size_t(m) * n, size_t(m) * n} {
    for (int i = 0; i < 4; ++i) {
      const int shift = shifted >> i & 1;
      arrays[i] = new REAL[counts[i] + shift];
      operands[i] = arrays[i] + shift;
      if (i < 3)
        require(std::fread(operands[i], sizeof(REAL), counts[i], stdin) == counts[i], "An operand is missing.");
    }
    for (size_t i = 0; i < counts[3]; ++i) operands[3][i] = addend == 2 ? operands[2][i] : REAL(NAN);
  }
  ~ProductOperands() {
    for (REAL *array : arrays) delete[] array;
  }
  REAL *addend(int kind) const { return kind == 0 ? nullptr : operands[kind + 1]; }
  // Write the result to standard output.
  void write() const {
    std::fwrite(operands[3], sizeof(REAL), counts[3], stdout);
    std::fflush(stdout);
  }
};
