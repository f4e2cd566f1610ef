// Whole solves by kernels with a linear index.
#include "elementary_parts.cuh"
