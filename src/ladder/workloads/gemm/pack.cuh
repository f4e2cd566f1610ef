// The kernel that packs operands for the TMA: it copies them to rows of a multiple of 16 bytes, or transposes them. The
// macro REAL is the type of an element.
#pragma once

extern __shared__ __align__(1024) unsigned char memory[];  // aligned as the TMA's swizzle requires

// to (rows, stride) = from (rows, columns) or, with `transposed`, to (columns, stride) = the transpose of `from`. A row
// of `to` may be longer; the rest of it isn't written.
//
// Launch: grid (a block per 32 x 32 elements), block (32, 8), dynamic shared memory 32 x 33 elements.
extern "C" __global__ void __launch_bounds__(256)
    pack(const REAL *__restrict__ from, REAL *__restrict__ to, int rows, int columns, int stride, int transposed) {
  auto &tile = *reinterpret_cast<REAL(*)[32][33]>(memory);
  const int tiles_per_row = (columns - 1) / 32 + 1;
  const int left = blockIdx.x % tiles_per_row * 32, top = blockIdx.x / tiles_per_row * 32;
  const int x = threadIdx.x;
#pragma unroll
  for (int y = threadIdx.y; y < 32; y += 8)
    if (top + y < rows && left + x < columns) tile[y][x] = from[size_t(top + y) * columns + left + x];
  __syncthreads();
#pragma unroll
  for (int y = threadIdx.y; y < 32; y += 8) {
    const int row = transposed ? left + y : top + y, column = transposed ? top + x : left + x;
    if (row < (transposed ? columns : rows) && column < (transposed ? rows : columns))
      to[size_t(row) * stride + column] = transposed ? tile[x][y] : tile[y][x];
  }
}
