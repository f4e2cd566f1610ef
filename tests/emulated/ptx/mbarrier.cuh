// The functions of the kernels' ptx/mbarrier.cuh for a block on the CPU.
#pragma once
#include <vector>

#include "async_copy.cuh"
#include "device.h"

struct Mbarrier {
  int count, missing, bytes, phases;  // missing arrivals and bytes of the current phase, and ended phases

  void init(int threads) { count = missing = threads, bytes = phases = 0; }
  void arrive_and_expect(int expected) { bytes += expected, arrive(); }
  void arrive() { --missing, end_phase(); }
  void arrive(int rank) { require(rank == 0, "Only clusters of one block are emulated."), arrive(); }
  void arrive_after_copies() { wait_for_copies(), arrive(); }
  void receive(int received) { bytes -= received, end_phase(); }
  bool has_ended(int phase) const { return phases % 2 != (phase & 1); }
  void wait(int phase) {
    while (!has_ended(phase)) let_others_run();
  }

 private:
  void end_phase() {
    require(missing >= 0, "More threads arrive at a barrier than it counts.");
    note_progress();
    if (missing || bytes) return;
    missing = count, ++phases;
  }
};

inline void publish_mbarriers() {}
