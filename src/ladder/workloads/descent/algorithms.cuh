// The algorithms by number, as in `launch.py` (JACOBI: CG with Jacobi's preconditioner), and the limit below which a
// divisor counts as 0. REAL and FLOAT64 are macros.
#pragma once

enum Algorithm { STEEPEST, CG, JACOBI };

constexpr REAL SMALLEST_NORMAL = FLOAT64 ? REAL(2.3e-308) : REAL(1.2e-38f);  // about the smallest normal number
