// A whole solve by one cluster of BLOCKS blocks, for GPUs with clusters: a warp stores its elements of q = A p in the
// shared memory of every block (`register_solve.cuh` has the algorithm).
//
//   barrier          used in                  arrivals per phase                                waiting threads
//   mbarriers[0]     steps 0, 2, 4, ...       1: thread 0, which expects the bytes of all of q  the block's warps
//   mbarriers[1]     steps 1, 3, 5, ...       the same                                          the same
//   cluster barrier  prepare() and leave()    all threads of the cluster                        the same threads
//
// Step s waits for phase s / 2 of mbarrier s % 2, which ends when all warps of the cluster have stored their elements.
//
// Shapes: matrix (n, n), b and x (n), history (iterations + 1), steps (1), n at most VECTOR_LENGTH.
//
// Launch: grid BLOCKS, one cluster, block BLOCK, no dynamic shared memory.
#include "warp.cuh"

#if __CUDA_ARCH__ < 900
extern "C" __global__ void solve() {}  // cuda_cluster.py refuses such GPUs
#else
#include "register_solve.cuh"
#include "ptx/cluster.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/shared_address.cuh"

constexpr int ROWS_PER_WARP = (VECTOR_LENGTH + BLOCKS * WARPS - 1) / (BLOCKS * WARPS);  // rows of A per warp
static_assert(BLOCKS <= 16 && BLOCKS <= WARP, "a cluster has at most 16 blocks");

// Store values (COUNT) asynchronously in another block's shared memory, and complete their bytes at an mbarrier of that
// block. `address` and `mbarrier` are addresses as map_shared_rank() returns them.
template <int COUNT>
__device__ __forceinline__ void store_values(unsigned address, unsigned mbarrier, const REAL (&values)[COUNT]) {
  if constexpr (COUNT % ELEMENTS_PER_ACCESS == 0) {
#pragma unroll
    for (int start = 0; start < COUNT; start += ELEMENTS_PER_ACCESS) {
      int4 bits;
#pragma unroll
      for (int k = 0; k < ELEMENTS_PER_ACCESS; ++k) reinterpret_cast<REAL *>(&bits)[k] = values[start + k];
      store_async(address + start * (unsigned)sizeof(REAL), bits, mbarrier);
    }
  } else {
#pragma unroll
    for (int k = 0; k < COUNT; ++k) store_async(address + k * (unsigned)sizeof(REAL), values[k], mbarrier);
  }
}

// The exchange of q through the cluster's shared memory: q_buffers (2, VECTOR_LENGTH) holds the q of the last two
// steps. A warp overwrites the q of the step before last, which no warp still reads, since every warp stores its part
// of a q only after it has read the previous q.
struct ClusterExchange {
  REAL (*q_buffers)[VECTOR_LENGTH];
  Mbarrier *mbarriers;
  int n;
  bool is_sender;  // lane l sends to block l, if that block has rows
  // Addresses in that block: of this warp's part of q_buffers[0], and of mbarriers[0].
  unsigned q_address, mbarrier_address;

  __device__ __forceinline__ ClusterExchange(REAL (*q_buffers)[VECTOR_LENGTH], Mbarrier *mbarriers, int n)
      : q_buffers(q_buffers), mbarriers(mbarriers), n(n) {
    const int lane = threadIdx.x % WARP, rank = lane % BLOCKS;
    is_sender = lane < (n + ROWS_PER_WARP * WARPS - 1) / (ROWS_PER_WARP * WARPS);
    q_address = map_shared_rank(shared_address(q_buffers[0] + first_row<ROWS_PER_WARP>()), rank);
    mbarrier_address = map_shared_rank(shared_address(mbarriers), rank);
    for (int i = threadIdx.x; i < VECTOR_LENGTH; i += BLOCK) q_buffers[0][i] = q_buffers[1][i] = 0;
    if (threadIdx.x == 0)
      for (int i = 0; i < 2; ++i) mbarriers[i].init(1), publish_mbarriers();
  }

  __device__ __forceinline__ void prepare() const { cluster_barrier(); }  // all mbarriers have begun
  __device__ __forceinline__ bool is_active() const { return first_row<ROWS_PER_WARP>() < n; }

  __device__ __forceinline__ void begin(int step) const {
    const unsigned bytes = (n + ROWS_PER_WARP - 1) / ROWS_PER_WARP * ROWS_PER_WARP * sizeof(REAL);
    if (threadIdx.x == 0) mbarriers[step & 1].arrive_and_expect(bytes);
  }

  // Send this warp's sums (ROWS_PER_WARP) to all blocks that have rows.
  __device__ __forceinline__ void send(int step, const REAL (&sums)[ROWS_PER_WARP]) const {
    if (!is_sender) return;
    const unsigned buffer = step & 1;
    store_values(q_address + buffer * (unsigned)sizeof(q_buffers[0]),
                 mbarrier_address + buffer * (unsigned)sizeof(Mbarrier), sums);
  }

  __device__ __forceinline__ const REAL *receive(int step) const {
    mbarriers[step & 1].wait<Scope::cluster>(step / 2);
    return q_buffers[step & 1];
  }

  __device__ __forceinline__ void leave() const { cluster_barrier(); }  // no block exits while others may store to it
};

// The solve of matrix (n, n) and b (n).
extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, int n, int iterations,
          int algorithm, REAL tolerance) {
  __shared__ alignas(16) REAL q_buffers[2][VECTOR_LENGTH];
  __shared__ Mbarrier mbarriers[2];
  ClusterExchange exchange(q_buffers, mbarriers, n);
  solve_by<ROWS_PER_WARP>(algorithm, {matrix, b, x, history, steps, n, iterations, tolerance}, exchange);
}
#endif
