#include "backend/execute/cpu/mpi_row.h"

#include <array>

#include "backend/execute/cpu/cpu_device.h"
#include "backend/execute/cpu/measure.h"

namespace spscope {

Executor mpi_row(decltype(Executor::prepare) prepare) {
  static constexpr std::array<std::string_view, 1> kComms = {"mpi"};
  return {.device = "cpu",
          .backend = "mpi",
          .comms = kComms,
          .ranks_are_processes = true,
          .summary = "a process for each rank; memory shared inside a node, messages between nodes",
          .unavailable = mpi_unavailable,
          .cannot_run = cpu_cannot_run,
          .prepare = prepare,
          .measure = measure_repeats};
}

}  // namespace spscope
