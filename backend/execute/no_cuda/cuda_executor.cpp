#include "backend/execute/no_cuda/no_cuda.h"

namespace spscope {

Executor executor_cuda() { return cuda_threads_row(no_cuda_parts()); }

}  // namespace spscope
