// Whole solves by kernels with a block for each row.
#include "elementary_rows.cuh"
