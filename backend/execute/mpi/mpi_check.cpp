#include "backend/execute/mpi/mpi_check.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "backend/base/error.h"

namespace spscope::mpi {

void check(int code, const char* file, int line) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(ErrorCode::kRankFailed, fmt::format("MPI: {} ({}:{})", text.data(), file, line),
              "see what mpirun prints; a rank or a host may be gone");
}

int message_count(std::size_t num_bytes) {
  if (num_bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return static_cast<int>(num_bytes);
  throw Error(ErrorCode::kCannotExecute,
              fmt::format("a message of {} bytes: MPI sends at most 2 GiB at once", num_bytes),
              "use more ranks, fewer tokens or a smaller batch");
}

}  // namespace spscope::mpi
