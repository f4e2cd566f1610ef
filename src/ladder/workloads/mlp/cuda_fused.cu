// A batch of the training with all elementwise operations in the epilogues of products. `forward_images` and `forward`
// compute the activations of a hidden layer; `output` the logits, the losses, the last deltas and those of the layer
// below; `delta` those of a further hidden layer; `update` changes the parameters of all layers. All deltas include the
// factor -rate. Pixels are bytes in memory: products convert them in shared memory, and divide their sums by 255.
//
// Shapes: pixels (images, 784 / 4), four pixels per element, in `output` (images, 784); order (rows), the numbers of a
// batch's images; labels (images); inputs, activations and deltas (rows, width of their layer); weights (fan_in,
// fan_out); bias (fan_out); losses (rows); loss (1). Sums are in a fixed order.
//
// Launch: `output` grid rows, block OUTPUT_THREADS, no dynamic shared memory. Others block THREADS, dynamic shared
// memory Shape<TILE>::MEMORY_SIZE elements, grid (ceil(columns / TILE), ceil(rows / TILE)) of the result; but `update`
// Shape<32>, grid 1 + the blocks of all layers, which are ceil((fan_in + 1) / 32) * ceil(fan_out / 32) each.
#include "ptx/async_copy.cuh"
#include "vector.cuh"
#include "warp.cuh"

constexpr int PIXELS = 784, CLASSES = 10;
constexpr int THREADS = 256, THREAD_TILE = 4;  // of a product: threads of a block; rows and columns of a thread's sums
constexpr int STAGES = 4, UPDATE_TILE = 32;  // copies for three steps at once hide the latency of memory
constexpr int OUTPUT_WARPS = CLASSES, OUTPUT_THREADS = WARP * OUTPUT_WARPS;  // of `output`: a warp per class
extern __shared__ Vector memory[];
static_assert(TILE == 16 || TILE == 32, "tile must be 16 or 32.");

// A block computes tile x tile sums in steps along k. As a batch has few tiles, they are small, and the terms of a sum
// are divided among SLICES of a block's threads, each of SIDE x SIDE.
template <int tile>
struct Shape {
  static constexpr int SIDE = tile / THREAD_TILE, SLICES = THREADS / (SIDE * SIDE);
  static constexpr int DEPTH = 4 * THREADS / tile;  // terms of a step: a thread copies four elements of an operand
  static constexpr int PITCH = tile + V;            // of the rows of an operand in shared memory, (DEPTH, PITCH)
  static constexpr int OPERAND_SIZE = DEPTH * PITCH;            // elements of an operand
  static constexpr int MEMORY_SIZE = (2 * STAGES + 1) * OPERAND_SIZE;  // all stages' operands, and converted pixels
  static_assert(SLICES * tile * tile <= MEMORY_SIZE, "The slices' sums must fit in place of the stages.");
};

// An operand in memory: element (i, p), p along k, is corner[i * stride + p] if along_k, else corner[p * stride + i].
template <int tile, bool along_k>
struct Matrix {
  using S = Shape<tile>;
  const REAL *corner;
  int stride, length;  // from the corner on, there are `length` elements along i; further ones are 0
  int ones_index = -1;  // an i whose elements are 1

  // Start to copy the elements from `first` on along k, of which there are `count`, to a stage (DEPTH, PITCH).
  __device__ __forceinline__ void start(REAL *stage, int first, int count) {
#pragma unroll
    for (int e = threadIdx.x; e < tile * S::DEPTH; e += THREADS) {
      // Neighbouring threads copy neighbouring elements.
      const int i = along_k ? e / S::DEPTH : e % tile, p = along_k ? e % S::DEPTH : e / tile;
      const size_t index = along_k ? size_t(i) * stride + first + p : size_t(first + p) * stride + i;
      if (i == ones_index) stage[p * S::PITCH + i] = 1;
      else copy_async<sizeof(REAL)>(stage + p * S::PITCH + i, corner + index, i < length && first + p < count);
    }
  }

  // The elements of a stage whose copies have arrived.
  __device__ __forceinline__ const REAL *finish(const REAL *stage, REAL *) const { return stage; }
};

// The images of a batch as a left operand (`converted` holds only one) in units of 1 / 255: along i are images and
// along k pixels, or the reverse, with a further pixel of value 1. A thread copies four bytes per step.
template <int tile, bool along_k>
struct Images {
  using S = Shape<tile>;
  static constexpr int WORDS = (along_k ? S::DEPTH : tile) / 4, ROWS = THREADS / WORDS;  // of a stage, in words
  static constexpr int WORD_PITCH = WORDS + 1;  // reads along a column are from different banks
  const unsigned *pixels;
  const long long *order;
  int begin, rows;  // the first i of the tile; images of the batch
  long long image;  // of this thread's next copy, loaded a step ahead

  __device__ __forceinline__ Images(const unsigned *pixels, const long long *order, int begin, int rows)
      : pixels(pixels), order(order), begin(begin), rows(rows) {
    image = order[min((along_k ? begin : 0) + int(threadIdx.x) / WORDS, rows - 1)];
  }

  __device__ __forceinline__ void start(REAL *stage, int first, int) {
    const int r = threadIdx.x / WORDS, c = threadIdx.x % WORDS;
    const int row = (along_k ? begin : first) + r, word = (along_k ? first : begin) / 4 + c;
    copy_async<4>(reinterpret_cast<unsigned *>(stage) + r * WORD_PITCH + c, pixels + image * (PIXELS / 4) + word,
                  row < rows && word < PIXELS / 4);
    if constexpr (!along_k) image = order[min(row + S::DEPTH, rows - 1)];
  }

  // Convert the pixels of a stage whose copies have arrived.
  __device__ __forceinline__ const REAL *finish(const REAL *stage, REAL *converted) const {
    const int r = threadIdx.x % ROWS, c = threadIdx.x / ROWS;
    const unsigned word = reinterpret_cast<const unsigned *>(stage)[r * WORD_PITCH + c];
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const int i = along_k ? r : 4 * c + b, p = along_k ? 4 * c + b : r;
      const bool is_one = !along_k && begin + i == PIXELS;
      converted[p * S::PITCH + i] = is_one ? REAL(255) : REAL(int(word >> 8 * b & 255));
    }
    __syncthreads();  // all pixels are converted
    return converted;
  }
};

// A tile of a product: call epilogue(i, j, the sum of left (i, p) right (j, p) over p < count) for its elements.
template <int tile, class Left, class Right, class Epilogue>
__device__ __forceinline__ void multiply(Left left, Right right, int count, Epilogue epilogue) {
  using S = Shape<tile>;
  REAL *const stages = reinterpret_cast<REAL *>(memory), *const converted = stages + 2 * STAGES * S::OPERAND_SIZE;
  const int slice = threadIdx.x / (S::SIDE * S::SIDE), y = threadIdx.x / S::SIDE % S::SIDE, x = threadIdx.x % S::SIDE;
  const auto start = [&](int step) {
    REAL *stage = stages + step % STAGES * 2 * S::OPERAND_SIZE;
    if (const int first = step * S::DEPTH; first < count) {
      left.start(stage, first, count);
      right.start(stage + S::OPERAND_SIZE, first, count);
    }
    commit_copies();
  };
  for (int step = 0; step < STAGES - 1; ++step) start(step);
  REAL sums[THREAD_TILE][THREAD_TILE] = {};
  for (int step = 0; step * S::DEPTH < count; ++step) {
    wait_for_groups<STAGES - 2>();
    __syncthreads();  // the step's operands have arrived, and those of the last step are read: they are replaced next
    start(step + STAGES - 1);
    REAL *stage = stages + step % STAGES * 2 * S::OPERAND_SIZE;
    const REAL *a = left.finish(stage, converted) + slice * S::PITCH + y * V;
    const REAL *b = right.finish(stage + S::OPERAND_SIZE, converted) + slice * S::PITCH + x * V;
    const int terms = min(S::DEPTH, count - step * S::DEPTH);
    for (int first = 0; first < terms; first += 4 * S::SLICES)
#pragma unroll
      for (int p = first; p < first + 4 * S::SLICES; p += S::SLICES) {
        Vector a_vecs[THREAD_TILE / V], b_vecs[THREAD_TILE / V];
#pragma unroll
        for (int v = 0; v < THREAD_TILE / V; ++v) {
          a_vecs[v] = *reinterpret_cast<const Vector *>(a + p * S::PITCH + v * S::SIDE * V);
          b_vecs[v] = *reinterpret_cast<const Vector *>(b + p * S::PITCH + v * S::SIDE * V);
        }
#pragma unroll
        for (int i = 0; i < THREAD_TILE; ++i)
#pragma unroll
          for (int j = 0; j < THREAD_TILE; ++j) sums[i][j] += a_vecs[i / V].value[i % V] * b_vecs[j / V].value[j % V];
      }
  }
  wait_for_copies();
  __syncthreads();  // all operands are read: the slices' sums (SLICES, tile, tile) replace them
#pragma unroll
  for (int i = 0; i < THREAD_TILE; ++i)
#pragma unroll
    for (int j = 0; j < THREAD_TILE; ++j) {
      const int row = (i / V * S::SIDE + y) * V + i % V, column = (j / V * S::SIDE + x) * V + j % V;
      stages[(slice * tile + row) * tile + column] = sums[i][j];
    }
  __syncthreads();  // the sums of all slices are written
#pragma unroll
  for (int e = threadIdx.x; e < tile * tile; e += THREADS) {
    REAL sum = 0;
#pragma unroll
    for (int s = 0; s < S::SLICES; ++s) sum += stages[s * tile * tile + e];
    epilogue(e / tile, e % tile, sum);
  }
}

__device__ __forceinline__ REAL activate(REAL z, bool is_relu) {
  if (is_relu) return z < 0 ? REAL(0) : z;
  return 1 / (1 + exp(-z));
}
// The activation's derivative, from the activation.
__device__ __forceinline__ REAL slope(REAL a, bool is_relu) { return is_relu ? REAL(a > 0) : a * (1 - a); }

// A tile of activations (rows, fan_out): of left (rows, fan_in) times weights, over `divisor`, plus bias.
template <class Left>
__device__ __forceinline__ void forward_tile(Left left, REAL divisor, const REAL *weights, const REAL *bias,
                                             REAL *activations, int rows, int fan_in, int fan_out, int is_relu) {
  const int top = blockIdx.y * TILE, first = blockIdx.x * TILE;
  const Matrix<TILE, false> right = {weights + first, fan_out, fan_out - first};
  multiply<TILE>(left, right, fan_in, [&](int i, int j, REAL sum) {
    const int row = top + i, column = first + j;
    if (row < rows && column < fan_out)
      activations[size_t(row) * fan_out + column] = activate(sum / divisor + bias[column], is_relu);
  });
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    forward_images(const unsigned *pixels, const long long *order, const REAL *weights, const REAL *bias,
                   REAL *activations, int rows, int fan_out, int is_relu) {
  const Images<TILE, true> left(pixels, order, blockIdx.y * TILE, rows);
  forward_tile(left, 255, weights, bias, activations, rows, PIXELS, fan_out, is_relu);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    forward(const REAL *inputs, const REAL *weights, const REAL *bias, REAL *activations, int rows, int fan_in,
            int fan_out, int is_relu) {
  const int top = blockIdx.y * TILE;
  const Matrix<TILE, true> left = {inputs + size_t(top) * fan_in, fan_in, rows - top};
  forward_tile(left, 1, weights, bias, activations, rows, fan_in, fan_out, is_relu);
}

// deltas_below (rows, fan_in) = deltas (rows, fan_out) weights^T, times the slope at activations (rows, fan_in).
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    delta(const REAL *deltas, const REAL *weights, const REAL *activations, REAL *deltas_below, int rows, int fan_in,
          int fan_out, int is_relu) {
  const int top = blockIdx.y * TILE, first = blockIdx.x * TILE;
  const Matrix<TILE, true> left = {deltas + size_t(top) * fan_out, fan_out, rows - top};
  const Matrix<TILE, true> right = {weights + size_t(first) * fan_out, fan_out, fan_in - first};
  multiply<TILE>(left, right, fan_out, [&](int i, int j, REAL sum) {
    const int row = top + i, column = first + j;
    const size_t index = size_t(row) * fan_in + column;
    if (row < rows && column < fan_in) deltas_below[index] = sum * slope(activations[index], is_relu);
  });
}

// The last layer for one row: deltas (rows, 10) and losses from inputs (rows, fan_in), and deltas_below (rows, fan_in).
// Without hidden layers, inputs and deltas_below are null, and the images are the inputs.
extern "C" __global__ void __launch_bounds__(OUTPUT_THREADS)
    output(const REAL *inputs, const unsigned char *pixels, const long long *order, const long long *labels,
           const REAL *weights, const REAL *bias, REAL *deltas, REAL *deltas_below, REAL *losses, int fan_in,
           REAL rate, int is_relu) {
  __shared__ REAL terms[OUTPUT_WARPS][WARP * CLASSES], logits[CLASSES], row_deltas[CLASSES];
  const int row = blockIdx.x, rows = gridDim.x, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  const long long image = order[row];
  const int label = labels[image];
  const auto input = [&](int unit) {
    return inputs ? inputs[size_t(row) * fan_in + unit] : pixels[image * PIXELS + unit] / REAL(255);
  };
  // A thread has one class and every 32nd unit, so that neighbouring threads read neighbouring weights.
  const int unit_of_thread = threadIdx.x / CLASSES, class_of_thread = threadIdx.x % CLASSES;
  REAL sum = 0;
#pragma unroll 4
  for (int unit = unit_of_thread; unit < fan_in; unit += WARP)
    sum += input(unit) * weights[unit * CLASSES + class_of_thread];
  terms[0][threadIdx.x] = sum;
  __syncthreads();  // the sums of all units are written: a warp adds those of a class
  sum = sum_of_warp(terms[0][lane * CLASSES + warp]);
  if (lane == 0) logits[warp] = sum + bias[warp];
  __syncthreads();  // all logits are written, and the sums are read
  if (warp == 0) {
    REAL max_logit = logits[0];
#pragma unroll
    for (int j = 1; j < CLASSES; ++j) max_logit = logits[j] > max_logit ? logits[j] : max_logit;
    const REAL exponential = lane < CLASSES ? exp(logits[lane] - max_logit) : REAL(0);
    const REAL denominator = sum_of_warp(exponential);
    if (lane < CLASSES) {
      row_deltas[lane] = -rate * (exponential / denominator - (lane == label)) / rows;
      deltas[size_t(row) * CLASSES + lane] = row_deltas[lane];
    }
    if (lane == 0) losses[row] = log(denominator) - (logits[label] - max_logit);
  }
  __syncthreads();  // the row's deltas are written
  if (!deltas_below) return;
  // A warp has 32 units: it reads their weights in the order of memory, and a lane then adds the products of a unit.
  for (int first = warp * WARP; first < fan_in; first += OUTPUT_THREADS) {
#pragma unroll
    for (int e = lane; e < WARP * CLASSES; e += WARP)
      if (first + e / CLASSES < fan_in) terms[warp][e] = weights[first * CLASSES + e] * row_deltas[e % CLASSES];
    __syncwarp();  // the warp's products are written
    if (const int unit = first + lane; unit < fan_in) {
      sum = 0;
#pragma unroll
      for (int j = 0; j < CLASSES; ++j) sum += terms[warp][lane * CLASSES + j];
      deltas_below[size_t(row) * fan_in + unit] = sum * slope(input(unit), is_relu);
    }
    __syncwarp();  // they are read, and may be replaced
  }
}

// A layer in `update`: inputs (rows, fan_in), null if they are the images, and the number of its first block.
struct Layer {
  const REAL *inputs, *deltas;
  REAL *weights, *bias;
  long long fan_in, fan_out, first_block;
};

// Add inputs transposed times deltas to the weights, and the column sums of deltas to the bias, as if it were a further
// row of weights whose input is 1. The grid's last block averages the losses.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    update(const Layer *layers, int count, const unsigned *pixels, const long long *order, const REAL *losses,
           REAL *loss, int rows) {
  if (blockIdx.x == gridDim.x - 1) {
    if (threadIdx.x >= WARP) return;
    REAL sum = 0;
    for (int row = threadIdx.x; row < rows; row += WARP) sum += losses[row];
    sum = sum_of_warp(sum);
    if (threadIdx.x == 0) *loss = sum / rows;
    return;
  }
  int number = count - 1;
  while (blockIdx.x < layers[number].first_block) --number;
  const Layer layer = layers[number];
  const int fan_in = layer.fan_in, fan_out = layer.fan_out, block = blockIdx.x - layer.first_block;
  const int tile_columns = (fan_out + UPDATE_TILE - 1) / UPDATE_TILE;
  const int top = block / tile_columns * UPDATE_TILE, first = block % tile_columns * UPDATE_TILE;
  const Matrix<UPDATE_TILE, false> right = {layer.deltas + first, fan_out, fan_out - first};
  const auto add = [&](int i, int j, REAL sum) {
    const int row = top + i, column = first + j;
    if (row > fan_in || column >= fan_out) return;
    (row < fan_in ? layer.weights + size_t(row) * fan_out : layer.bias)[column] += sum;
  };
  if (layer.inputs) {
    const Matrix<UPDATE_TILE, false> left = {layer.inputs + top, fan_in, fan_in - top, fan_in - top};
    multiply<UPDATE_TILE>(left, right, rows, add);
  } else {
    const Images<UPDATE_TILE, false> left(pixels, order, top, rows);
    multiply<UPDATE_TILE>(left, right, rows, [&](int i, int j, REAL sum) { add(i, j, sum / 255); });
  }
}
