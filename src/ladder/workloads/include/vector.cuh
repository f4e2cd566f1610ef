// Vectors of 16 bytes, the widest access.
#pragma once

constexpr int V = 16 / sizeof(REAL);  // elements in a vector of 16 bytes
struct alignas(16) Vector {
  REAL of[V];
};
