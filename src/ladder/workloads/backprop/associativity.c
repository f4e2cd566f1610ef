/* The loops of fusion.c with fewer operations. */
#define FACTORED 1
#include "fused.h"
