// A whole solve by one cluster of BLOCKS blocks, for GPUs with clusters: a warp stores its elements of q in the shared
// memory of every block.
//
//   barrier            one phase per  arrivals per phase                                     waited for by
//   mailboxes[0], [1]  2 steps        1: thread 0, which announces the bytes of all of q     the block's warps
//   cluster barrier    call: 2 calls  all threads of the cluster, in ready() and in leave()  the same threads
//
// The mailboxes alternate: step s uses mailbox s % 2 and waits for its phase s / 2, which ends when all warps of the
// cluster have stored their elements.
#include "warp.cuh"

#if __CUDA_ARCH__ < 900
extern "C" __global__ void solve() {}  // cuda_cluster.py refuses such GPUs
#else
#include "cluster.cuh"
#include "in_registers.cuh"

constexpr int OWN = (LENGTH + BLOCKS * WARPS - 1) / (BLOCKS * WARPS);
static_assert(BLOCKS <= 16 && BLOCKS <= WARP, "a cluster has at most 16 blocks");

// The exchange of q through the cluster's shared memory, double-buffered. A warp overwrites the q of the step before
// last, which no warp reads any more: a warp stores its part of a q only after it has read the previous one.
struct ByCluster {
  REAL (*products)[LENGTH];
  Mailbox *mailboxes;
  int n;
  bool sends;  // lane l sends to block l, if that has rows
  unsigned place, box;

  __device__ __forceinline__ ByCluster(REAL (*products)[LENGTH], Mailbox *mailboxes, int n)
      : products(products), mailboxes(mailboxes), n(n) {
    const int lane = threadIdx.x % WARP;
    sends = lane < (n + OWN * WARPS - 1) / (OWN * WARPS);
    place = address_in(lane % BLOCKS, products[0] + first_row<OWN>()), box = address_in(lane % BLOCKS, mailboxes);
    for (int i = threadIdx.x; i < LENGTH; i += BLOCK) products[0][i] = products[1][i] = 0;
    if (threadIdx.x == 0) mailboxes[0].clear(), mailboxes[1].clear();
  }

  __device__ __forceinline__ void ready() const { wait_for_cluster(); }  // all mailboxes are initialised
  __device__ __forceinline__ bool takes_part() const { return first_row<OWN>() < n; }

  __device__ __forceinline__ void begin(int step) const {
    const unsigned bytes = (n + OWN - 1) / OWN * OWN * sizeof(REAL);
    if (threadIdx.x == 0) mailboxes[step & 1].announce(bytes);
  }

  __device__ __forceinline__ void send(int step, const REAL (&sums)[OWN]) const {
    const unsigned turn = step & 1;
    if (sends) ::send(place + turn * (unsigned)sizeof(products[0]), box + turn * (unsigned)sizeof(Mailbox), sums);
  }

  __device__ __forceinline__ const REAL *receive(int step) const {
    mailboxes[step & 1].wait(step / 2);
    return products[step & 1];
  }

  __device__ __forceinline__ void leave() const { wait_for_cluster(); }  // no block exits while others may store to it
};

extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(BLOCK, 1)
    solve(const REAL *matrix, const REAL *b, REAL *x, REAL *history, long long *steps, int n, int iterations,
          int algorithm, REAL tolerance) {
  __shared__ alignas(16) REAL products[2][LENGTH];
  __shared__ Mailbox mailboxes[2];
  ByCluster exchange(products, mailboxes, n);
  solve_by<OWN>(algorithm, {matrix, b, x, history, steps, n, iterations, tolerance}, exchange);
}
#endif
