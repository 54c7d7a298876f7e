#include "bench/fit/write_file.h"

#include <filesystem>
#include <fstream>

namespace spscope {

void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

}  // namespace spscope
