// The functions of the kernels' ptx/async_copy.cuh on the CPU, as hostile as the hardware may be.
#pragma once
#include "device.h"

// The target is overwritten with NaNs at once, and the data arrive only when they are waited for.
template <int bytes>
void copy_async(void *to, const void *from, bool is_inside) {
  require((reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from)) % bytes == 0,
          "A copy's address is not a multiple of its bytes.");
  std::memset(to, 0xff, bytes);  // NaNs
  copy_later(to, is_inside ? from : nullptr, bytes);
}

template <int left>
void wait_for_groups() {
  wait_for_groups_but(left);
}

inline void wait_for_copies() {
  commit_copies();
  wait_for_groups<0>();
}
