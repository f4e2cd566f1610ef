/* The untuned program, but the weight change is that of outer_patterns.h. */
#include "untuned.h"

#include "outer_patterns.h"
