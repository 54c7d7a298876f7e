// WholeFile: a file that appears complete under its name or not at all. Writes go to a temporary file in the same
// folder; commit() flushes it to disk, renames it over the name and syncs the folder. Without commit() or publish() the
// temporary file is removed and an existing file of that name is unchanged.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace spscope {

class WholeFile {
 public:
  // Every function throws Error, which names `path`: kOutputPlace when no file can be made there, kStoreWrite when the
  // disk is full or fails.
  explicit WholeFile(std::string path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // The temporary file as /proc/self/fd/N, for a library that opens it by name before commit(). A library that first
  // replaces the link by its text, as SQLite does unless Database opens it, opens what has that name by then.
  std::string held_path() const;
  // REQUIRES: one of the two is called once, as the last call.
  void commit();
  // As commit(), for what is worth no flush to disk: a power cut may lose it.
  void publish();

 private:
  [[noreturn]] void fail() const;

  std::string path_, temporary_;
  int descriptor_ = -1;
};

// Throws Error (kOutputPlace) for "-", which stands for standard output where a command can write there, and never for
// a file of that name.
void refuse_dash(const std::string& path);

// Throws what WholeFile would when no file can be made there, before work is done for it; changes nothing.
void require_writable(const std::string& path);

// The same for files in a folder, which is made later where it is not there. `flag` names it: "--figures".
void require_folder(const std::string& path, std::string_view flag);

// Writes `text` to `path`; on failure throws Error and changes nothing.
void write_whole_file(const std::string& path, std::string_view text);

// Makes a rename in the folder of `path` survive a power cut, where the file system can.
void sync_folder_of(const std::string& path);

}  // namespace spscope
