#include "backend/base/file_system.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "backend/base/error.h"

namespace spscope {
namespace {

constexpr const char* kHint = "set run.scratch (attach: --scratch) to a folder on a local disk";

// From statfs(2), linux/magic.h and the file systems' own sources.
struct FileSystem {
  std::uint32_t magic;
  std::string_view name;
};
constexpr FileSystem kShared[] = {
    {0x6969, "NFS"},      {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},   {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB"},  {0x517b, "SMB"},        {0x65735546, "FUSE"},   {0x01021997, "9p"},
    {0x00c36400, "Ceph"}, {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},  {0x20030528, "OrangeFS"},
    {0x5346414f, "AFS"},  {0x6b414653, "AFS"},    {0x73757245, "Coda"},   {0x564c, "NCP"},
    {0x01161970, "GFS2"}, {0x7461636f, "OCFS2"},  {0x786f4256, "vboxsf"}, {0xbacbacbc, "VMware folders"},
};

}  // namespace

std::string_view shared_file_system(std::uint64_t magic) {
  for (const FileSystem& row : kShared)
    if (row.magic == static_cast<std::uint32_t>(magic)) return row.name;
  return {};
}

FolderRoom room_in(const std::string& folder) {
  FolderRoom room;
  struct stat status {};
  struct statvfs system {};
  if (::stat(folder.c_str(), &status) == 0) room.device = status.st_dev;
  if (::statvfs(folder.c_str(), &system) == 0 && system.f_blocks > 0)
    room.free_bytes = static_cast<std::int64_t>(system.f_bavail) * static_cast<std::int64_t>(system.f_frsize);
  return room;
}

std::int64_t bytes_of_files_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const bool is_file = it->is_regular_file(gone);
    const std::uintmax_t size = is_file ? it->file_size(gone) : 0;
    if (is_file && !gone) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

void require_local_folder(const std::string& folder, std::int64_t bytes) {
  struct stat status;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kOutputPlace, fmt::format("cannot keep a run in the scratch folder \"{}\": {}", folder, why),
                kHint);
  };
  if (::stat(folder.c_str(), &status) != 0) refuse(std::strerror(errno));
  if (!S_ISDIR(status.st_mode)) refuse("not a folder");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
  struct statfs system;
  if (::statfs(folder.c_str(), &system) != 0) refuse(std::strerror(errno));
  if (const std::string_view name = shared_file_system(static_cast<std::uint64_t>(system.f_type)); !name.empty())
    refuse(fmt::format("it is on {}, where a database that is being written is not safe", name));
  const std::optional<std::int64_t> free_bytes = room_in(folder).free_bytes;
  if (free_bytes && *free_bytes < bytes)
    throw Error(
        ErrorCode::kStoreWrite,
        fmt::format("the scratch folder \"{}\" has {} bytes free, and this run needs {}", folder, *free_bytes, bytes),
        "free space there, or set run.scratch to a folder with more");
}

}  // namespace spscope
