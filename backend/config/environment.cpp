#include "backend/config/environment.h"

#include <algorithm>
#include <cstdlib>

namespace spscope {

std::string default_scratch_folder() {
  for (const char* name : {"SLURM_TMPDIR", "TMPDIR"})
    if (const char* value = std::getenv(name); value && *value) return value;
  return "/tmp";
}

bool started_by_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

int pretended_ranks_per_node() {
  const char* value = std::getenv("SPSCOPE_RANKS_PER_NODE");
  return value != nullptr ? std::max(0, std::atoi(value)) : 0;
}

}  // namespace spscope
