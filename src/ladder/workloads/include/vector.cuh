// Vectors of 16 bytes, the widest access of a thread. REAL is the element type, a macro.
#pragma once

constexpr int V = 16 / sizeof(REAL);  // elements in a vector
struct alignas(16) Vector {
  REAL value[V];
};
