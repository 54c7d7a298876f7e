// In place of MPI, where the build has none: a row that says so.
#include <array>

#include "backend/execute/execute.h"

namespace spscope {

std::string_view mpi_unavailable() { return "this program was built without MPI (libopenmpi-dev)"; }

std::unique_ptr<RankWorld> start_mpi_world(const WorldOptions&) {
  throw Error(ErrorCode::kUnavailable, std::string(mpi_unavailable()),
              "install it and configure again, or use --launcher threads");
}

Executor executor_mpi() {
  static constexpr std::array<std::string_view, 1> kComms = {"mpi"};
  return {.device = "cpu",
          .backend = "mpi",
          .comms = kComms,
          .summary = "a process for each rank; memory shared inside a node, messages between nodes",
          .unavailable = mpi_unavailable,
          .cannot_run = [](const Plan&, const ExecuteOptions&) { return std::vector<Problem>(); },
          .prepare = [](const Plan&, const Request&, const Activations&, const ExecuteOptions&)
              -> std::unique_ptr<Execution> { throw Error(ErrorCode::kUnavailable, std::string(mpi_unavailable())); },
          .measure = nullptr};
}

}  // namespace spscope
