// The kind of file system that a folder is on, and its free space. Shards need a local file system: SQLite's
// write-ahead log needs memory shared between processes, which network file systems do not provide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spscope {

// What chooses the folder of shards, for hints: the setting of a run, and the flag of attach.
inline constexpr const char* kScratchSetting = "run.scratch (attach: --scratch)";

// "NFS", "Lustre", "FUSE", ... for the statfs(2) f_type of a network, cluster or user-space file system; "" for any
// other.
std::string_view shared_file_system(std::uint64_t magic);

// Of the file system that a folder is on.
struct FolderRoom {
  std::uint64_t device = 0;                // st_dev, which identifies the file system; 0: the folder cannot be read
  std::optional<std::int64_t> free_bytes;  // absent where statvfs(3) reports no size, as on some FUSE file systems
};
FolderRoom room_in(const std::string& folder);

// Of the files in a folder, without those in its subfolders and those that end or cannot be read meanwhile.
std::int64_t bytes_of_files_in(const std::string& folder);

// Throws Error unless `folder` can hold shards: it exists, is writable and not on a shared file system (else
// kOutputPlace, naming the file system), and has `bytes` free (else kStoreWrite, naming both numbers). Hints name
// run.scratch.
void require_local_folder(const std::string& folder, std::int64_t bytes);

}  // namespace spscope
