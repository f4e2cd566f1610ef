/* The activation functions of a generator's layers. */
#pragma once
#include "logistic.h"
#include "tile.h"

enum activation { NONE, RELU, TANH };

/* Activate values (count) in place; they are aligned to vectors, and `count` is a multiple of LANES. */
static inline void activate(REAL *values, long count, enum activation activation)
{
    Vector *const end = (Vector *)(values + count);
    if (activation == RELU)
        for (Vector *vector = (Vector *)values; vector < end; vector++)
            *vector = blend(*vector > broadcast(0), *vector, broadcast(0));
    /* tanh(z) = 2 logistic(2 z) - 1, with the absolute rounding error of numbers near 1. */
    if (activation == TANH)
        for (Vector *vector = (Vector *)values; vector < end; vector++)
            *vector = 2 * logistic_of(2 * *vector) - 1;
}
