#include "backend/config/environment.h"

#include <cstdlib>

namespace spscope {

std::string default_scratch_folder() {
  for (const char* name : {"SLURM_TMPDIR", "TMPDIR"})
    if (const char* value = std::getenv(name); value && *value) return value;
  return "/tmp";
}

}  // namespace spscope
