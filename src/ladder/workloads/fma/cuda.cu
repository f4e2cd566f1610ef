// The recurrence x <- a x + b on a GPU, `length` steps from start (elements) to out (elements). REAL is the element
// type. A thread has CHAINS independent elements, so that no multiply-add waits for the previous one; neighbouring
// threads have neighbouring elements.
//
// Launch: grid ceil(elements / (BLOCK * CHAINS)), block BLOCK, no dynamic shared memory.
static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "block must be a multiple of 32 and at most 1024");
static_assert(CHAINS >= 1 && CHAINS <= 64, "chains must be 1 to 64, which the registers hold");
constexpr int UNROLLED_STEPS = 512 / CHAINS;  // without a branch, so that the loop overhead is below one per cent

// One step of all elements x (CHAINS) of a thread.
__device__ __forceinline__ void step(REAL (&x)[CHAINS], REAL a, REAL b) {
#pragma unroll
  for (int chain = 0; chain < CHAINS; ++chain) x[chain] = fma(a, x[chain], b);
}

// out (elements) = start (elements) after `length` steps.
extern "C" __global__ void __launch_bounds__(BLOCK)
    recurrence(const REAL *start, REAL *out, long long elements, int length, REAL a, REAL b) {
  const long long first = (long long)blockIdx.x * (BLOCK * CHAINS) + threadIdx.x;
  REAL x[CHAINS];
#pragma unroll
  for (int chain = 0; chain < CHAINS; ++chain)
    x[chain] = first + chain * BLOCK < elements ? start[first + chain * BLOCK] : REAL(0);
  int remaining = length;
  for (; remaining >= UNROLLED_STEPS; remaining -= UNROLLED_STEPS) {
#pragma unroll
    for (int i = 0; i < UNROLLED_STEPS; ++i) step(x, a, b);
  }
#pragma unroll 1
  for (; remaining; --remaining) step(x, a, b);
#pragma unroll
  for (int chain = 0; chain < CHAINS; ++chain)
    if (first + chain * BLOCK < elements) out[first + chain * BLOCK] = x[chain];
}
