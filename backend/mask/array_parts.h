// Shared by the readers of array files: files as byte streams, checked sizes and the wording of errors.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backend/base/error.h"
#include "backend/mask/array_file.h"

namespace spscope {

// The location of an array for messages: `array "q" of "dump.npz"`, or the file alone.
std::string place_of(const std::string& path, const std::string& array = {});

// Fills the whole span or throws Error kMaskTruncated.
using ReadExact = std::function<void(std::span<std::byte>)>;

// A file opened for reading. Throws Error kMaskFile when it cannot be opened or is not a regular file.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  std::int64_t num_bytes() const { return num_bytes_; }
  void seek(std::int64_t offset);
  void read(std::span<std::byte> out);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::int64_t num_bytes_ = 0;
};

// Bytes of an array of this shape. Throws Error kMaskShape for a negative dimension and kMaskTooLarge when the product
// exceeds `limit`, also where it would overflow 64 bits.
std::int64_t checked_bytes(const std::string& place, std::span<const std::int64_t> shape, ElementType type,
                           std::int64_t limit);
// "[4, 128, 128]"
std::string shape_text(std::span<const std::int64_t> shape);

bool is_wanted(const ReadOptions& options, const std::string& name);
// Throws Error kMaskFile, listing the existing names, unless every wanted name was found.
void require_wanted(const std::string& path, const ReadOptions& options, std::span<const std::string> names);

// Reads one array in .npy format from a stream of `size` bytes. `place` is for messages.
Array read_npy(const std::string& place, std::int64_t size, const ReadExact& read, std::int64_t max_bytes);

}  // namespace spscope
