// In place of MPI, where the build has none: a row that says so.
#include "backend/execute/cpu/mpi_row.h"

namespace spscope {

std::string_view mpi_unavailable() { return "this program was built without MPI (libopenmpi-dev)"; }

std::unique_ptr<RankWorld> start_mpi_world(const WorldOptions&) {
  throw Error(ErrorCode::kUnavailable, std::string(mpi_unavailable()),
              "install it and configure again, or use --launcher threads");
}

Executor executor_mpi() {
  return mpi_row(
      [](const Plan&, const Request&, const Activations&, const ExecuteOptions&) -> std::unique_ptr<Execution> {
        throw Error(ErrorCode::kUnavailable, std::string(mpi_unavailable()));
      });
}

}  // namespace spscope
