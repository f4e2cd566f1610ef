// The kernels of version 1, a block for each row of the matrix.
//
// Launch: as in elementary_rows.cuh.
#include "elementary_rows.cuh"

// matrix[i] = i.
extern "C" __global__ void init(REAL *matrix) { matrix[linear_index()] = linear_index(); }
