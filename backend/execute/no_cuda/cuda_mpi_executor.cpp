#include "backend/execute/no_cuda/no_cuda.h"

namespace spscope {

Executor executor_cuda_mpi() { return cuda_mpi_row(no_cuda_parts()); }

}  // namespace spscope
