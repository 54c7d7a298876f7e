// cuda_cannot_run(): what GPU ranks do not cover.
#pragma once

#include <vector>

#include "backend/execute/execute.h"

namespace spscope::cuda {

std::vector<Problem> cuda_cannot_run(const Plan& plan, const ExecuteOptions& options);

}  // namespace spscope::cuda
