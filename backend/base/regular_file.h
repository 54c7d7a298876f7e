// RegularFile: an existing regular file, open for reading. Files that users name, or that lie in folders where others
// can make files, are opened by it: a named pipe there would make an ordinary open wait for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace spscope {

class RegularFile {
 public:
  // Never waits. A path that cannot be opened, or is not that of a regular file, gives an object that is not open and
  // has the reason.
  explicit RegularFile(const std::string& path);
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  ~RegularFile();

  bool is_open() const { return descriptor_ >= 0; }
  // "it is a folder", "it is a named pipe", "No such file or directory"; "" while it is open.
  const std::string& reason() const { return reason_; }
  int descriptor() const { return descriptor_; }
  // Whether it belongs to the user of this process.
  bool is_ours() const { return is_ours_; }
  // The content from the first byte; nothing when it has more than `most` bytes or cannot be read, for the reason then
  // given. REQUIRES: is_open().
  std::optional<std::string> read(std::size_t most);
  // Reads up to so many bytes from the offset on; fewer at the end of the file or after a fault. REQUIRES: is_open().
  std::string read_at(std::size_t offset, std::size_t most) const;
  // Gives the descriptor to the caller, who closes it.
  int release();

 private:
  int descriptor_ = -1;
  bool is_ours_ = false;
  std::string reason_;
};

}  // namespace spscope
