// The row of the executor `mpi`, the same whether the build has MPI (execute/mpi) or not (execute/no_mpi).
#pragma once

#include "backend/execute/execute.h"

namespace spscope {

// `prepare` runs plans on the processes of MPI, or says why that is not possible.
Executor mpi_row(decltype(Executor::prepare) prepare);

}  // namespace spscope
