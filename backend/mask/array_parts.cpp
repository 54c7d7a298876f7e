#include "backend/mask/array_parts.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backend/base/check.h"
#include "backend/base/memory_limit.h"
#include "backend/base/nearest_name.h"
#include "backend/base/regular_file.h"

namespace spscope {

std::string place_of(const std::string& path, const std::string& array) {
  return array.empty() ? fmt::format("\"{}\"", path) : fmt::format("array \"{}\" of \"{}\"", array, path);
}

InputFile::InputFile(const std::string& path) : path_(path) {
  RegularFile file(path);
  if (!file.is_open())
    throw Error(ErrorCode::kMaskFile, fmt::format("cannot open {}: {}", place_of(path), file.reason()),
                "give the path of a file that you may read");
  struct stat status = {};
  if (::fstat(file.descriptor(), &status) == 0) num_bytes_ = status.st_size;
  file_.reset(::fdopen(file.release(), "rb"));
}

void InputFile::seek(std::int64_t offset) {
  if (fseeko(file_.get(), offset, SEEK_SET) != 0) {
    throw Error(ErrorCode::kMaskFile, fmt::format("cannot seek in {}: {}", place_of(path_), std::strerror(errno)),
                "give a file on a disk, not a pipe or a device");
  }
}

void InputFile::read(std::span<std::byte> out) {
  if (std::fread(out.data(), 1, out.size(), file_.get()) == out.size()) return;
  if (std::ferror(file_.get())) {
    throw Error(ErrorCode::kMaskFile, fmt::format("cannot read {}: {}", place_of(path_), std::strerror(errno)),
                "copy it to a disk that can be read");
  }
  throw Error(ErrorCode::kMaskTruncated, fmt::format("{} ends too early", place_of(path_)),
              "copy or save the file again");
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

// The bytes of such an array as text; the product may exceed 64 bits.
std::string needed_text(std::span<const std::int64_t> shape, ElementType type) {
  double bytes = element_bytes(type);
  for (std::int64_t extent : shape) bytes *= static_cast<double>(extent);
  return bytes < 9e18 ? memory_text(static_cast<std::int64_t>(bytes)) : "more than 8 EiB";
}

std::int64_t checked_bytes(const std::string& place, std::span<const std::int64_t> shape, ElementType type,
                           std::int64_t limit) {
  SPSCOPE_CHECK(limit >= 0);
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0) {
      throw Error(ErrorCode::kMaskShape, fmt::format("{} has the shape {}", place, shape_text(shape)),
                  "dimensions cannot be negative");
    }
    empty |= extent == 0;
  }
  if (empty) return 0;
  // The product stays at or below the limit, so it cannot overflow; a 0 elsewhere was dealt with above.
  std::int64_t bytes = element_bytes(type);
  for (std::int64_t extent : shape) {
    if (extent > limit / bytes) {
      throw Error(ErrorCode::kMaskTooLarge,
                  fmt::format("{} of shape {} and type {} needs {}, the limit is {}", place, shape_text(shape),
                              element_name(type), needed_text(shape, type), memory_text(limit)),
                  "save one denoise step and layer to a file, and masks as uint8, or give a larger --max-memory");
    }
    bytes *= extent;
  }
  return bytes;
}

bool is_wanted(const ReadOptions& options, const std::string& name) {
  return options.only.empty() || std::find(options.only.begin(), options.only.end(), name) != options.only.end();
}

void require_wanted(const std::string& path, const ReadOptions& options, std::span<const std::string> names) {
  for (const std::string& wanted : options.only) {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) continue;
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string near = nearest_name(wanted, candidates);
    throw Error(ErrorCode::kMaskFile, fmt::format("{} has no array \"{}\"", place_of(path), wanted),
                near.empty() ? fmt::format("it has: {}", fmt::join(names, ", "))
                             : fmt::format("did you mean \"{}\"? it has: {}", near, fmt::join(names, ", ")));
  }
}

}  // namespace spscope
