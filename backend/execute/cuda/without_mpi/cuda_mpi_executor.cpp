// GPU ranks in processes of their own, where the build has no MPI: a row that says so.
#include "backend/execute/cuda/cannot_run.h"
#include "backend/execute/cuda_rows.h"
#include "backend/execute/rank_world.h"

namespace spscope {

Executor executor_cuda_mpi() {
  return cuda_mpi_row({.unavailable = mpi_unavailable,
                       .cannot_run = cuda::cuda_cannot_run,
                       .prepare = [](const Plan&, const Request&, const Activations&, const ExecuteOptions&)
                           -> std::unique_ptr<Execution> { throw Error({mpi_unavailable()}); },
                       .measure = nullptr,
                       .calibrate = nullptr});
}

}  // namespace spscope
