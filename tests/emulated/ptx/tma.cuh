// Those functions of the kernels' ptx/tma.cuh that the emulated kernels call, on the CPU.
#pragma once
#include "ptx/mbarrier.cuh"

// An array of REAL: its axes begin with the contiguous one, and the others have strides in bytes.
struct TensorMap {
  int axes, shape[3], strides[2], box[3];
  const char *array;
};

// Copy the box whose corner has these coordinates by lines of 128 bytes, with zeros outside the array, in the 128-byte
// swizzle: the 16-byte vector u of line l is at u ^ (l % 8).
template <class... Coordinates>
void copy_box(void *to, const TensorMap &map, Mbarrier &full, Coordinates... coordinates) {
  const int corner[3] = {coordinates...}, layers = map.axes == 3 ? map.box[2] : 1;
  require(map.axes == sizeof...(coordinates), "A copy needs a tensor map with an axis for each coordinate.");
  require(map.box[0] * sizeof(REAL) == 128, "A line of a box has 128 bytes.");
  for (int line = 0; line < layers * map.box[1]; ++line)
    for (int e = 0; e < map.box[0]; ++e) {
      const int i[3] = {corner[0] + e, corner[1] + line % map.box[1], corner[2] + line / map.box[1]};
      bool inside = true;
      for (int axis = 0; axis < map.axes; ++axis) inside = inside && i[axis] >= 0 && i[axis] < map.shape[axis];
      size_t offset = i[0] * sizeof(REAL) + size_t(i[1]) * map.strides[0];
      if (map.axes == 3) offset += size_t(i[2]) * map.strides[1];
      const int per_vector = 16 / sizeof(REAL), position = (e / per_vector ^ line % 8) * per_vector + e % per_vector;
      static_cast<REAL *>(to)[line * map.box[0] + position] =
          inside ? *reinterpret_cast<const REAL *>(map.array + offset) : REAL(0);
    }
  full.receive(layers * map.box[1] * 128);
}

inline void multicast_box(unsigned short, void *, const TensorMap &, Mbarrier &, int, int) {
  require(false, "Only clusters of one block are emulated.");
}
