#include "backend/execute/mpi/node_window.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/base/host.h"
#include "backend/base/segment_folder.h"
#include "backend/execute/mpi/mpi_check.h"

namespace spscope::mpi {
namespace {

constexpr std::int64_t kWindowPageBytes = 4096;
constexpr std::int64_t kOverheadBytes = 1 << 20;  // what Open MPI keeps beside a window

std::int64_t whole_pages(std::int64_t bytes) {
  return (bytes + kWindowPageBytes - 1) / kWindowPageBytes * kWindowPageBytes;
}

}  // namespace

NodeWindow::NodeWindow(MPI_Comm node) : node_(node) {
  int size = 0;
  check(MPI_Comm_size(node, &size));
  check(MPI_Comm_rank(node, &position_));
  bytes_.assign(static_cast<std::size_t>(size), 0);
}

NodeWindow::~NodeWindow() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
}

bool NodeWindow::must_grow(std::span<const std::int64_t> bytes) const {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] > bytes_[i]) return true;
  return false;
}

std::optional<Error> NodeWindow::cannot_grow(std::span<const std::int64_t> bytes) const {
  struct statvfs room {};
  if (bytes.size() == 1 || statvfs(SegmentFolder::kParent, &room) != 0)
    return std::nullopt;  // one process: memory of its own
  std::int64_t needed = kOverheadBytes, given_back = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    needed += whole_pages(std::max(bytes[i], bytes_[i]));
    given_back += whole_pages(bytes_[i]);
  }
  const std::int64_t free = static_cast<std::int64_t>(room.f_bavail * room.f_frsize) + given_back;
  if (needed <= free) return std::nullopt;
  return Error(
      ErrorCode::kSharedMemory,
      fmt::format("{} of host {} has {} bytes free, and the ranks there need {} to share", SegmentFolder::kParent,
                  host_name(), free, needed),
      "free or enlarge it (docker run --shm-size, mount -o remount,size=... /dev/shm), use fewer ranks a host, "
      "or --launcher threads");
}

void NodeWindow::grow(std::span<const std::int64_t> bytes) {
  if (window_ != MPI_WIN_NULL) check(MPI_Win_free(&window_));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes_[i] = std::max(bytes_[i], whole_pages(bytes[i]));
  const auto position = static_cast<std::size_t>(position_);
  void* mine = nullptr;
  check(MPI_Win_allocate_shared(static_cast<MPI_Aint>(std::max(bytes_[position], kWindowPageBytes)), 1, MPI_INFO_NULL,
                                node_, &mine, &window_));
  segments_.assign(bytes_.size(), nullptr);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    MPI_Aint size = 0;
    int unit = 0;
    check(MPI_Win_shared_query(window_, static_cast<int>(i), &size, &unit, &segments_[i]));
  }
  // The first touch of a page costs ten times a copy into it.
  std::memset(mine, 0, static_cast<std::size_t>(std::max(bytes_[position], kWindowPageBytes)));
}

}  // namespace spscope::mpi
