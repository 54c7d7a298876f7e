#include "backend/study/input_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "backend/base/regular_file.h"
#include "backend/config/config_fields.h"

namespace spscope {
namespace {

class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  void add_file(const std::filesystem::path& path) {
    constexpr std::size_t kPieceBytes = 1 << 20;
    const RegularFile file(path.string());
    if (!file.is_open()) return;
    std::size_t at = 0;
    for (std::string piece; !(piece = file.read_at(at, kPieceBytes)).empty(); at += piece.size()) add(piece);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::string input_hash(const RunConfig& config) {
  RunConfig copy = config;
  Fnv1a hash;
  bool any = false;
  for (const FieldRow& row : config_fields()) {
    if (row.role != FieldRole::kInputPath) continue;
    const std::string& path = *std::get<std::string*>(row.ref(copy));
    if (path.empty()) continue;
    any = true;
    for (const std::filesystem::path& file : files_of(input_path(config, path))) {
      hash.add(file.filename().string());
      hash.add_file(file);
    }
  }
  return any ? fmt::format("{:016x}", hash.value()) : "";
}

}  // namespace spscope
