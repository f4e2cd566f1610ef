// Whole solves by one block: n warps for a matrix, n threads for vectors.
#include "elementary_warps.cuh"
