// The products of gemm/cuda_tma.cu on the CPU. For each, standard input has a Task and its a, b and c, and standard
// output gets the result. With an argument, the program instead prints, for each element of a tile, the offset in bytes
// from which a lane reads it and the offset at which tile_offset() places it. The tile that is contiguous along k comes
// first, then the other one; elements are in the order of row groups, depth groups and lanes.
#include <cstdio>

#include "product_operands.h"

static dim3 gridDim;
#define __CUDA_ARCH_FEAT_SM90_ALL
#include SOURCE

__thread __attribute__((aligned(1024))) unsigned char memory[DYNAMIC_BYTES];

struct Task {
  int form, m, n, k, addend, shifted, blocks, split_tiles;  // as in gemm.cpp, and the plan
  int maps[2][2][9], strides[2];  // of a and b: their two tensor maps without the array's address, and the row stride
};

static TensorMap map_of(const int (&values)[9], const REAL *array) {
  TensorMap map;
  std::memcpy(&map, values, sizeof values);
  map.array = reinterpret_cast<const char *>(array);
  return map;
}

static void solve(const Task &task) {
  const int m = task.m, n = task.n, k = task.k;
  const ProductOperands product(m, n, k, task.addend, task.shifted);
  const auto [a, b, c, out] = product.operands;
  REAL *const addends = product.addend(task.addend);
  auto *kernel = task.form == 0 ? gemm_nn : task.form == 1 ? gemm_tn : gemm_nt;
  Pair *const partial = new Pair[size_t(task.blocks) * 2 * PAIRS];
  for (size_t i = 0; i < size_t(task.blocks) * 2 * PAIRS; ++i) partial[i] = {NAN, NAN};
  const TensorMap maps[] = {map_of(task.maps[0][0], a), map_of(task.maps[0][1], a), map_of(task.maps[1][0], b),
                            map_of(task.maps[1][1], b)};
  gridDim = {unsigned(task.blocks), 1, 1};
  launch(gridDim, {THREADS, 1, 1}, [&] {
    kernel(maps[0], maps[1], maps[2], maps[3], a, b, addends, out, m, n, k, task.strides[0], task.strides[1],
           task.split_tiles, partial);
  });
  if (task.split_tiles)
    launch({unsigned(task.split_tiles), PAIRS / CONSUMER_THREADS, 1}, {CONSUMER_THREADS, 1, 1},
           [&] { add_parts(addends, out, m, n, k, task.split_tiles, partial, task.blocks); });
  product.write();
  delete[] partial;
}

template <bool along_k>
static void print_offsets() {
  static REAL tile[64 * BK];
  for (size_t i = 0; i < 64 * BK; ++i) tile[i] = i * sizeof(REAL);  // each element is its offset
  for (int row_group = 0; row_group < 4; ++row_group)
    for (int depth_group = 0; depth_group < BK / 4; ++depth_group)
      for (int lane = 0; lane < 32; ++lane) {
        const int group = lane / 4, depth = lane_depth(lane % 4), first = tile_offset<along_k>(group, depth);
        const int read = element<along_k>(reinterpret_cast<const char *>(tile), first, row_group, depth_group);
        std::printf("%d %d\n", read, tile_offset<along_k>(row_group * 8 + group, depth ^ depth_group * 2));
      }
}

int main(int count, char **) {
  if (count > 1) print_offsets<true>(), print_offsets<false>();
  for (Task task; count == 1 && std::fread(&task, sizeof task, 1, stdin);) solve(task);
}
