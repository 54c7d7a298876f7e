#include "backend/execute/cuda_rows.h"

#include <array>

namespace spscope {
namespace {

constexpr std::array<std::string_view, 1> kComms = {"peer"};

}  // namespace

Executor cuda_threads_row(const CudaParts& parts) {
  return {.device = "cuda",
          .backend = "threads",
          .comms = kComms,
          .ranks_are_processes = false,
          .summary = "streams of this process for the lanes of each rank; ranks share the GPUs, copy engines move data",
          .unavailable = parts.unavailable,
          .cannot_run = parts.cannot_run,
          .prepare = parts.prepare,
          .measure = parts.measure,
          .calibrate = parts.calibrate};
}

Executor cuda_mpi_row(const CudaParts& parts) {
  return {.device = "cuda",
          .backend = "mpi",
          .comms = kComms,
          .ranks_are_processes = true,
          .summary = "a process for each rank, on the GPUs of one host; copy engines move data between processes",
          .unavailable = parts.unavailable,
          .cannot_run = parts.cannot_run,
          .prepare = parts.prepare,
          .measure = parts.measure,
          .calibrate = parts.calibrate};
}

}  // namespace spscope
