// Clusters of SPLITK blocks that share a tile of a product: each block sums over its part of k. SPLITK is 1 by default.
#pragma once

#ifndef SPLITK
#define SPLITK 1
#endif

static_assert(SPLITK >= 1 && SPLITK <= 8, "SPLITK is the size of a cluster, from 1 to 8.");
// CLUSTER_ATTRIBUTE is that of a kernel that launches clusters, BLOCKS_PER_TILE the number of blocks that share a tile.
// Without clusters, before compute capability 9.0, one block computes the whole tile, and the others exit.
#if SPLITK == 1 || defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define CLUSTER_ATTRIBUTE
constexpr int BLOCKS_PER_TILE = 1;
#else
#define CLUSTER_ATTRIBUTE __cluster_dims__(1, 1, SPLITK)
constexpr int BLOCKS_PER_TILE = SPLITK;
#endif
