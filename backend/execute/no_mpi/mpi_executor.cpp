// In place of MPI: says that there is none.
#include "backend/execute/execute.h"

namespace spscope {

std::string_view mpi_unavailable() { return "this program was built without MPI (libopenmpi-dev)"; }

std::unique_ptr<RankWorld> start_mpi_world(const WorldOptions&) {
  throw Error(ErrorCode::kUnavailable, std::string(mpi_unavailable()),
              "install it and configure again, or use --launcher threads");
}

ExecuteResult execute_mpi(const Plan&, const Request&, const Activations&, const ExecuteOptions&) {
  throw Error(ErrorCode::kUnavailable, std::string(mpi_unavailable()),
              "install it and configure again, or use --launcher threads");
}

}  // namespace spscope
