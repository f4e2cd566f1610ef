/* The activations of a generator's layers. */
#pragma once
#include "logistic.h"
#include "tile.h"

enum activation { NONE, RELU, TANH };

/* Activate values (count) in place: aligned, and whole vectors. */
static inline void activate(REAL *values, long count, enum activation activation)
{
    Vector *const end = (Vector *)(values + count);
    if (activation == RELU)
        for (Vector *each = (Vector *)values; each < end; each++)
            *each = chosen(*each > all(0), *each, all(0));
    /* tanh(z) = 2 logistic(2 z) - 1, with the absolute rounding error of numbers near 1. */
    if (activation == TANH)
        for (Vector *each = (Vector *)values; each < end; each++)
            *each = 2 * logistic_of(2 * *each) - 1;
}
