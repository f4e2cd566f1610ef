// The pseudo-random element that `hash` writes at an index: see `hashed_elements` in __init__.py.
#pragma once

__device__ __forceinline__ REAL hashed_element(unsigned index, unsigned key) {
  unsigned bits = index ^ key;
  bits = (bits ^ bits >> 16) * 0x85ebca6bu;
  bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
  bits ^= bits >> 16;
  return (bits >> 8) * REAL(1.0 / (1 << 23)) - 1;
}
