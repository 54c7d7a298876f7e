// NodeBoard: what the ranks of a node share beside buffers: the board of the run's control, and what the executor adds.
// It lies at the start of the first rank's segment of the node's window.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/execute/lanes/run_control.h"
#include "backend/execute/mpi/mpi_world.h"

namespace spscope::mpi {

// `bytes` rounded up to whole cache lines.
std::size_t whole_lines(std::size_t bytes);

struct NodeBoard {
  // `added_bytes`: what the executor adds, from a page on.
  NodeBoard(const Plan& plan, std::size_t added_bytes);

  std::size_t num_ops, num_lanes, num_ranks, added_bytes;
  // -- set by share_board()
  ControlBoard control;
  std::span<NowLine> lanes;
  std::span<std::byte> added;
  std::vector<std::byte*> segments;  // by position in the node: the rank's own bytes
};

// Makes room for the board and for `bytes` of each rank of the node. All is zero on the board once every process has
// passed a barrier. Collective. Throws Error.
void share_board(MpiWorld& world, std::vector<std::int64_t> bytes, NodeBoard& board);

// Where the lanes of all ranks say what they do: those of this node in the pages of their recorders, where they have
// them and all processes of the node can map them; all others on the board. The first process of a node writes those of
// other nodes, as they report. Collective in the node. Throws Error.
void place_lines(MpiWorld& world, const Plan& plan, OpRecorder* recorder, NodeBoard& board);

}  // namespace spscope::mpi
