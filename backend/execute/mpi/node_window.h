// NodeWindow: memory that the processes of a node share (an MPI window), one segment for each of them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/base/error.h"

namespace spscope::mpi {

class NodeWindow {
 public:
  explicit NodeWindow(MPI_Comm node);
  ~NodeWindow();
  NodeWindow(const NodeWindow&) = delete;

  // Whether segments have to grow to hold so many bytes each. The same answer in all processes of the node.
  bool must_grow(std::span<const std::int64_t> bytes) const;
  // Why they cannot: too little room in /dev/shm, where Open MPI keeps them; it would die by a signal.
  std::optional<Error> cannot_grow(std::span<const std::int64_t> bytes) const;
  // Makes them at least that large and touches every page. Collective in the node. What was there is lost.
  void grow(std::span<const std::int64_t> bytes);
  // By position in the node.
  std::byte* segment(std::size_t position) const { return segments_[position]; }

 private:
  MPI_Comm node_;
  int position_ = 0;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::int64_t> bytes_;
  std::vector<std::byte*> segments_;
};

}  // namespace spscope::mpi
