// Numbers as digits of a byte, for products on tensor cores in integers. REAL is the element type, a macro.
//
// A value v with |v| <= 2^e is represented by the integer nearest to v 2^(BITS - e), which is the sum of d[s] 256^s over
// its DIGITS digits, each from -128 to 127. A product of digits and bytes is exact; the only error is that of this
// rounding, at most 2^(e - BITS - 1), which is below that of REAL at 2^e.
#pragma once

constexpr int DIGITS = sizeof(REAL), BITS = 8 * DIGITS - 2;

// An exponent e for values whose magnitude_bits() are at most `bits`: all of them are below 2^e. It has a lower limit,
// so that 2^(BITS - e) is finite.
__device__ __forceinline__ int exponent_of(unsigned bits) {
  return FLOAT64 ? max(int(bits >> 20) - 1022, -900) : max(int(bits >> 23) - 126, -90);
}

// The upper 32 bits of |value|, which are ordered as the values are.
__device__ __forceinline__ unsigned magnitude_bits(double value) {
  return unsigned(__double2hiint(value)) & 0x7fffffff;
}
__device__ __forceinline__ unsigned magnitude_bits(float value) { return __float_as_uint(value) & 0x7fffffff; }

// 2^e, which is a normal number.
__device__ __forceinline__ REAL power_of_two(int e) {
#if FLOAT64
  return __hiloint2double((e + 1023) << 20, 0);
#else
  return __int_as_float((e + 127) << 23);
#endif
}

// The four-byte words (DIGITS / 4) of a value times `scale`, 2^(BITS - e): byte s % 4 of word s / 4 is digit s.
__device__ __forceinline__ void to_digits(unsigned (&words)[DIGITS / 4], REAL value, REAL scale) {
  constexpr unsigned OFFSET = 0x80808080;  // 128 per byte: the sum's bytes are d[s] + 128, the exclusive or's d[s]
#if FLOAT64
  const unsigned long long bits = (unsigned long long)__double2ll_rn(value * scale) + 0x8080808080808080ull;
  words[0] = unsigned(bits) ^ OFFSET, words[1] = unsigned(bits >> 32) ^ OFFSET;
#else
  words[0] = (unsigned(__float2int_rn(value * scale)) + OFFSET) ^ OFFSET;
#endif
}

// The sum of sums[s] 256^s.
__device__ __forceinline__ REAL from_digits(const int (&sums)[DIGITS]) {
  long long parts[DIGITS / 4];
#pragma unroll
  for (int part = 0; part < DIGITS / 4; ++part) {
    parts[part] = sums[4 * part];
#pragma unroll
    for (int s = 1; s < 4; ++s) parts[part] += (long long)sums[4 * part + s] << 8 * s;
  }
#if FLOAT64
  return double(parts[1]) * 4294967296.0 + double(parts[0]);
#else
  return float(parts[0]);
#endif
}
