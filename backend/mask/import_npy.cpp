// Reads .npy: one numpy array, named after its file.
#include <filesystem>
#include <string_view>

#include "backend/mask/array_parts.h"

namespace spscope {

std::vector<Array> import_npy(const std::string& path, const ReadOptions& options) {
  InputFile file(path);
  Array array = read_npy(
      place_of(path), file.num_bytes(), [&file](std::span<std::byte> out) { file.read(out); }, options.max_bytes);
  array.name = std::filesystem::path(path).stem().string();
  std::vector<Array> arrays;
  arrays.push_back(std::move(array));
  return arrays;
}

}  // namespace spscope
