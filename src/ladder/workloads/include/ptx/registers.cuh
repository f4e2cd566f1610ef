// What the compiler may do with a value in a register.
#pragma once

// Keep the compiler from computing a value again wherever it is used, which saves registers but takes instructions.
__device__ __forceinline__ void keep_in_register(int &value) { asm volatile("" : "+r"(value)); }
