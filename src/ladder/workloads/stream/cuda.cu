// STREAM on a GPU, on arrays (count). REAL is the element type. A block of BLOCK threads processes BLOCK_ELEMENTS
// elements, those of one partial sum of `read`, with 16-byte accesses; the last elements are accessed one by one.
//
// Launch: grid ceil(count / BLOCK_ELEMENTS), block BLOCK, no dynamic shared memory.
constexpr long long BLOCK_ELEMENTS = 65536;  // as in __init__.py
constexpr int WIDTH = 16 / sizeof(REAL);  // elements of a vector
struct alignas(16) Vector {
  REAL value[WIDTH];
};

// Call `on_vector(v)` for the whole vectors of this block's part of `count` elements, and `on_element(i)` for the
// elements after these.
template <class OnVector, class OnElement>
__device__ void for_each(long long count, OnVector on_vector, OnElement on_element) {
  const long long first = (long long)blockIdx.x * BLOCK_ELEMENTS;
  const long long end = first + BLOCK_ELEMENTS < count ? first + BLOCK_ELEMENTS : count;  // one past the last element
  const long long vectors = end / WIDTH;
#pragma unroll 4
  for (long long v = first / WIDTH + threadIdx.x; v < vectors; v += BLOCK) on_vector(v);
  for (long long i = vectors * WIDTH + threadIdx.x; i < end; i += BLOCK) on_element(i);
}

// out (gridDim.x) = the sum of each block's elements of a (count).
extern "C" __global__ void __launch_bounds__(BLOCK) read(const REAL *a, REAL *out, long long count) {
  __shared__ REAL sums[BLOCK];
  REAL sum = 0;
  for_each(
      count,
      [&](long long v) {
        const Vector vector = reinterpret_cast<const Vector *>(a)[v];
        for (int element = 0; element < WIDTH; ++element) sum += vector.value[element];
      },
      [&](long long i) { sum += a[i]; });
  sums[threadIdx.x] = sum;
  for (int half = BLOCK / 2; half; half /= 2) {
    __syncthreads();  // the sums of the previous step are complete
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

// out (count) = a (count).
extern "C" __global__ void __launch_bounds__(BLOCK) copy(const REAL *a, REAL *out, long long count) {
  for_each(
      count, [&](long long v) { reinterpret_cast<Vector *>(out)[v] = reinterpret_cast<const Vector *>(a)[v]; },
      [&](long long i) { out[i] = a[i]; });
}

// out (count) = a (count) + 3 b (count).
extern "C" __global__ void __launch_bounds__(BLOCK)
    triad(const REAL *a, const REAL *b, REAL *out, long long count) {
  const REAL factor = 3;
  for_each(
      count,
      [&](long long v) {
        Vector result = reinterpret_cast<const Vector *>(a)[v];
        const Vector b_vector = reinterpret_cast<const Vector *>(b)[v];
        for (int element = 0; element < WIDTH; ++element) result.value[element] += factor * b_vector.value[element];
        reinterpret_cast<Vector *>(out)[v] = result;
      },
      [&](long long i) { out[i] = a[i] + factor * b[i]; });
}
