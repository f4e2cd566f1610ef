/* The loops of temporaries.c, with those over patterns fused. */
#define FACTORED 0
#include "fused.h"
