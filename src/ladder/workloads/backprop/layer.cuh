// A layer in the eleven kernels (cuda_kernels.py); template parameters select the memory spaces of scalars and tables.
#pragma once
#include "flat.cuh"

// Integers in memory or behind a texture: ranpat (count), the rows of the visited patterns, or widths (layers).
union Table {
  const void *memory;
  cudaTextureObject_t texture;
};
struct Scalars {
  int rows, count, outputs;  // rows of the pool, visited patterns, the output layer's width
  REAL rate, momentum;
};

#define ARGUMENTS \
  Table ranpat, Table widths, FLAT_ARRAYS, int rows, int count, int outputs, REAL rate, REAL momentum, int layer

// The source of scalars: a kernel's arguments, or variables in constant memory, in the order of Scalars.
__constant__ int counts[3];
__constant__ REAL factors[2];
struct argument {
  static __device__ __forceinline__ Scalars of(Scalars arguments) { return arguments; }
};
struct constant {
  static __device__ __forceinline__ Scalars of(Scalars) {
    return {counts[0], counts[1], counts[2], factors[0], factors[1]};
  }
};

// The access to tables, by memory space. The lower 32 of the 64 bits of an element of ranpat suffice for a row.
struct global {
  static __device__ __forceinline__ int row(Table ranpat, int p) {
    return static_cast<const long long *>(ranpat.memory)[p];
  }
  static __device__ __forceinline__ int width(Table widths, int layer) {
    return static_cast<const int *>(widths.memory)[layer];
  }
};
struct readonly {
  static __device__ __forceinline__ int row(Table ranpat, int p) {
    return __ldg(static_cast<const long long *>(ranpat.memory) + p);
  }
  static __device__ __forceinline__ int width(Table widths, int layer) {
    return __ldg(static_cast<const int *>(widths.memory) + layer);
  }
};
struct texture {
  static __device__ __forceinline__ int row(Table ranpat, int p) { return tex1Dfetch<int2>(ranpat.texture, p).x; }
  static __device__ __forceinline__ int width(Table widths, int layer) {
    return tex1Dfetch<int>(widths.texture, layer);
  }
};

// A layer's part of the flat arrays, which begins after the layers before it. Shapes: out_below and delta_below (rows,
// fan_in), out and delta (rows, fan_out), w and dw (fan_in + 1, fan_out), the bias in row 0, targets (rows, outputs),
// error (1), ranpat (count).
template <class ScalarSource, class TableAccess>
struct Layer : Scalars {
  Table ranpat;
  int fan_in, fan_out;
  const REAL *targets;
  REAL *out_below, *out, *delta_below, *delta, *w, *dw, *error;

  __device__ __forceinline__ Layer(ARGUMENTS)
      : Scalars(ScalarSource::of({rows, count, outputs, rate, momentum})),
        ranpat(ranpat),
        targets(targets),
        error(error) {
    size_t unit_offset = 0, weight_offset = 0;
    fan_in = TableAccess::width(widths, 0);
    for (int l = 1; l < layer; ++l) {
      const int width = TableAccess::width(widths, l);
      unit_offset += size_t(this->rows) * fan_in;
      weight_offset += size_t(fan_in + 1) * width;
      fan_in = width;
    }
    fan_out = TableAccess::width(widths, layer);
    this->out_below = out + unit_offset, delta_below = delta + unit_offset;
    this->out = out_below + size_t(this->rows) * fan_in, this->delta = delta_below + size_t(this->rows) * fan_in;
    this->w = w + weight_offset, this->dw = dw + weight_offset;
  }
  __device__ __forceinline__ size_t row(int p) const { return TableAccess::row(ranpat, p); }
};
