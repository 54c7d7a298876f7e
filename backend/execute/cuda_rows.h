// The executors of run.device = cuda, the same rows whether the build has kernels for GPUs (execute/cuda) or not
// (execute/no_cuda), and what there is for them on this machine.
#pragma once

#include <string>
#include <vector>

#include "backend/execute/execute.h"

namespace spscope {

// What differs between builds.
struct CudaParts {
  decltype(Executor::unavailable) unavailable;
  decltype(Executor::cannot_run) cannot_run;
  decltype(Executor::prepare) prepare;
  decltype(Executor::measure) measure;
  decltype(Executor::calibrate) calibrate;
};
Executor cuda_threads_row(const CudaParts& parts);
Executor cuda_mpi_row(const CudaParts& parts);

// Driver and GPUs; nothing where there is no driver or the build has no kernels, which the rows say.
std::vector<DeviceFact> cuda_facts();

}  // namespace spscope
