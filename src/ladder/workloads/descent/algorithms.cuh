// The algorithms by their numbers, as `launch.py` has them, and what is next to nothing. REAL and FLOAT64 are given when
// compiling.
#pragma once

enum Algorithm { STEEPEST, CG, JACOBI };

constexpr REAL LEAST = FLOAT64 ? REAL(2.3e-308) : REAL(1.2e-38f);  // about the least normal number
