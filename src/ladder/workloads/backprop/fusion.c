/* The loops of temporaries.c, those over patterns fused. */
#define FACTORED 0
#include "fused.h"
