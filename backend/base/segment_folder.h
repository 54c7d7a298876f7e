// SegmentFolder: a folder of this process in /dev/shm for the memory that it shares with other processes of its run.
//
// MPI libraries put their segments into /dev/shm itself, under names that can be guessed, and leave them there for ever
// when all processes are killed at once. In a folder of mode 0700 nobody else can put anything in the place of a
// segment. Its process holds a lock on it, which ends with the process however that ends: a folder of this user that
// is not locked is of nobody, and every run removes those that it finds.
#pragma once

#include <string>

namespace spscope {

class SegmentFolder {
 public:
  // Where segments lie. A file system in memory, on every Linux.
  static constexpr const char* kParent = "/dev/shm";

  // Removes folders in `parent` that ended processes of this user left.
  static void remove_abandoned(const std::string& parent = kParent);

  // Removes what is left, and makes a folder of this process.
  explicit SegmentFolder(const std::string& parent = kParent);
  // Removes it, with all that is in it.
  ~SegmentFolder();
  SegmentFolder(const SegmentFolder&) = delete;
  SegmentFolder& operator=(const SegmentFolder&) = delete;

  // "" when none can be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace spscope
