// What kind of file system a folder is on, and how much room it has: shards need a local one, since SQLite's
// write-ahead log shares memory between processes and file systems of a network do not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spscope {

// "NFS", "Lustre", ... for the f_type of statfs(2) of a file system that other machines share or that a program of its
// own serves; "" for any other.
std::string_view shared_file_system(std::uint64_t magic);

// Of the file system that a folder is on.
struct FolderRoom {
  std::uint64_t device = 0;                // its number; of another file system another one
  std::optional<std::int64_t> free_bytes;  // nothing when the system does not say, as that of some served by programs
};
FolderRoom room_in(const std::string& folder);

// Throws Error unless shards can lie in `folder`: it is there, may be written, is not on a shared file system
// (kOutputPlace, naming the file system) and has `bytes` free (kStoreWrite, naming both numbers). Hints name
// run.scratch.
void require_local_folder(const std::string& folder, std::int64_t bytes);

}  // namespace spscope
