// Those functions of the kernels' ptx/wgmma.cuh that need no tensor cores, on the CPU.
#pragma once

template <int registers>
void release_registers() {}
template <int registers>
void claim_registers() {}
