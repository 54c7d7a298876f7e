#include "backend/execute/mpi/node_board.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "backend/base/ids.h"
#include "backend/base/result.h"
#include "backend/execute/agree.h"

namespace spscope::mpi {
namespace {

constexpr std::size_t kLineBytes = 64, kPageBytes = 4096;

std::size_t bytes_before_added(const NodeBoard& board) {
  return whole_lines(sizeof(StopRecord)) + whole_lines(board.num_ops * sizeof(OpFlags)) +
         whole_lines(board.num_lanes * sizeof(NowLine)) +
         whole_lines(board.num_ranks * sizeof(std::atomic<std::int64_t>));
}

// The added part may begin up to a page later.
std::size_t bytes_of(const NodeBoard& board) {
  return bytes_before_added(board) + (board.added_bytes > 0 ? kPageBytes : 0) + whole_lines(board.added_bytes);
}

void lay_over(std::byte* memory, NodeBoard& board) {
  const auto next = [&memory]<typename T>(std::span<T>& array, std::size_t count) {
    array = {reinterpret_cast<T*>(memory), count};
    memory += whole_lines(count * sizeof(T));
  };
  std::span<StopRecord> stop;
  next(stop, 1);
  next(board.control.ops, board.num_ops);
  next(board.lanes, board.num_lanes);
  next(board.control.reported_ns, board.num_ranks);
  board.control.stop = stop.data();
  // Processes map the window at other addresses, but all at the start of a page.
  const std::size_t past = reinterpret_cast<std::uintptr_t>(memory) % kPageBytes;
  board.added = {memory + (past > 0 ? kPageBytes - past : 0), board.added_bytes};
}

using NowPages = std::vector<std::shared_ptr<const NowPageView>>;

// The pages of the other ranks of the node, by position in it; nullptr where a rank has none. nullopt unless every
// process of the node can map all of them: ranks in containers on one host may have scratch folders of their own.
std::optional<NowPages> open_pages(MpiWorld& world, int lanes, const std::string& own_path) {
  const std::vector<int>& node = world.ranks_of_node();
  const std::vector<std::string> paths = world.share_in_node(own_path);
  NowPages pages(node.size());
  bool opened = true;
  for (std::size_t i = 0; i < node.size() && opened; ++i) {
    if (node[i] == world.rank() || paths[i].empty()) continue;
    const auto view = capture([&] { return std::make_shared<const NowPageView>(paths[i]); });
    opened = view && (*view)->line(node[i], lanes - 1) != nullptr;
    if (opened) pages[i] = *view;
  }
  if (!world.all_in_node(opened)) return std::nullopt;
  return pages;
}

}  // namespace

std::size_t whole_lines(std::size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

NodeBoard::NodeBoard(const Plan& plan, std::size_t added)
    : num_ops(plan.ops.size()),
      num_lanes(at(plan.ranks) * at(plan.lanes)),
      num_ranks(at(plan.ranks)),
      added_bytes(added) {}

void share_board(MpiWorld& world, std::vector<std::int64_t> bytes, NodeBoard& board) {
  const std::size_t board_bytes = bytes_of(board);
  bytes.front() += static_cast<std::int64_t>(board_bytes);
  const bool grow = world.window().must_grow(bytes);
  throw_agreed(world, grow ? world.window().cannot_grow(bytes) : std::nullopt);
  if (grow) world.window().grow(bytes);
  lay_over(world.window().segment(0), board);
  if (world.rank() == world.ranks_of_node().front()) {
    std::memset(world.window().segment(0), 0, board_bytes);
    for (NowLine& line : board.lanes) line.publish(LaneNow());
  }
  for (std::size_t i = 0; i < world.ranks_of_node().size(); ++i)
    board.segments.push_back(world.window().segment(i) + (i == 0 ? board_bytes : 0));
}

void place_lines(MpiWorld& world, const Plan& plan, OpRecorder* recorder, NodeBoard& board) {
  const std::vector<int>& node = world.ranks_of_node();
  const std::optional<NowPages> pages = open_pages(world, plan.lanes, recorder != nullptr ? recorder->page_path() : "");
  for (NowLine& line : board.lanes) {
    board.control.lines.push_back(&line);
    board.control.writable.push_back(world.rank() == node.front() ? &line : nullptr);
    board.control.copies.push_back(nullptr);
  }
  for (std::size_t i = 0; i < node.size(); ++i)
    for (int lane = 0; lane < plan.lanes; ++lane) {
      const std::size_t index = at(node[i]) * at(plan.lanes) + at(lane);
      NowLine* const on_board = &board.lanes[index];
      if (node[i] != world.rank()) {
        board.control.writable[index] = nullptr;
        if (pages && (*pages)[i] != nullptr) board.control.lines[index] = (*pages)[i]->line(node[i], lane);
        continue;
      }
      NowLine* const own = recorder != nullptr ? recorder->line(node[i], lane) : nullptr;
      board.control.writable[index] = own != nullptr ? own : on_board;
      board.control.lines[index] = board.control.writable[index];
      if (own != nullptr && !pages) board.control.copies[index] = on_board;
    }
  if (pages) board.control.pages = *pages;
}

}  // namespace spscope::mpi
