// The kernels of a version of the earlier study, on the CPU.
#define DYNAMIC 0
#include "by_name.h"

#include SOURCE

extern "C" bool emulate(const char *name, Index grid, Index block, size_t count, const size_t *bytes,
                        void *const *values) {
  gridDim = grid, blockDim = block;
#define TRY(kernel) \
  if (!std::strcmp(name, #kernel)) return start(kernel, count, bytes, values)
  TRY(init);
  TRY(product);
  TRY(reduction);
  TRY(transpose);
  TRY(scale);
  TRY(vecdif);
  TRY(vecsum);
  TRY(gemv);
  return false;
}
