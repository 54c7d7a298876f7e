// In place of MPI, where the build has none: a row that says so.
#include "backend/execute/cpu/mpi_row.h"

namespace spscope {

Problem mpi_unavailable() {
  return {ErrorCode::kUnavailable, "run.backend", "this program was built without MPI (libopenmpi-dev)",
          "install it and configure again, or use --launcher threads"};
}

std::unique_ptr<RankWorld> start_mpi_world(const WorldOptions&) { throw Error({mpi_unavailable()}); }

Executor executor_mpi() {
  return mpi_row([](const Plan&, const Request&, const Activations&,
                    const ExecuteOptions&) -> std::unique_ptr<Execution> { throw Error({mpi_unavailable()}); });
}

}  // namespace spscope
