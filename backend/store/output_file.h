// OutputFile: the place of a store that is being written. OUT.tmp lies in the folder of OUT and is locked against a
// second run; commit() adds the checksums of its pages, makes it durable and renames it. Without commit() the file is
// removed.
//
// The lock is flock on OUT.tmp itself, so a crash leaves no lock behind: the next run takes over the file that the
// crash left, and only then. What else lies under that name, as a link, or a file of another user, is never written to.
#pragma once

#include <string>

namespace spscope {

// What a path holds, as far as writing to it is concerned.
enum class FileKind { kAbsent, kEmpty, kStore, kForeign, kFolder, kSpecial };
// Reads at most the header; throws Error (kStoreOpen) when it cannot.
FileKind file_kind(const std::string& path);

class OutputFile {
 public:
  // Throws Error: kStoreExists, kStoreForeign, kStoreBusy, kOutputPlace, kStoreWrite.
  OutputFile(std::string path, bool force);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  // The file that is locked, as /proc/self/fd/N. Database opens that very file, whatever the name of it stands for by
  // now.
  std::string held_path() const;
  // Cuts it to nothing. Throws Error.
  void clear();
  // REQUIRES: the file is a complete SQLite file, and nobody has it open any more.
  void commit();

  // Throws what the constructor would throw, but for an unwritable folder that only trying shows.
  static void check(const std::string& path, bool force);

 private:
  int open_temporary() const;
  void lock();
  void rename_into_place();
  [[noreturn]] void fail(const char* what) const;

  std::string path_, temporary_;
  bool force_;
  int fd_ = -1;
};

}  // namespace spscope
