#include "backend/collect/scratch.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "backend/base/error.h"
#include "backend/config/environment.h"

namespace spscope {
ScratchFile::ScratchFile(const std::string& folder) {
  const std::string parent = folder.empty() ? default_scratch_folder() : folder;
  std::string pattern = parent + "/spscope-XXXXXX";
  if (!mkdtemp(pattern.data()))
    throw Error(ErrorCode::kOutputPlace,
                fmt::format("cannot make a scratch folder: {}: {}", std::strerror(errno), parent),
                "set run.scratch to a folder that can be written");
  folder_ = pattern;
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace spscope
