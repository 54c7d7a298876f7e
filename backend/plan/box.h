// Box: a product of three sets (columns, outer tokens, inner tokens), the shape of everything that a rank holds, reads
// or sends. The token grid is [outer][inner]: full 3D attention is 1 x tokens, a spatial-temporal model is frames x
// positions. A Placement lists the boxes of each rank; the same box at several ranks is a replica.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/plan/set_table.h"

namespace spscope {

struct Box {
  SetId columns = kEmptySet, outer = kEmptySet, inner = kEmptySet;
  bool empty() const { return columns == kEmptySet || outer == kEmptySet || inner == kEmptySet; }
  friend bool operator==(const Box&, const Box&) = default;
};
using BoxList = std::vector<Box>;

// Elements: columns x outer x inner.
std::int64_t volume(const SetTable& sets, const Box& box);
std::int64_t volume(const SetTable& sets, std::span<const Box> boxes);
// The intersection; nullopt when it is empty.
std::optional<Box> meet(SetTable& sets, const Box& a, const Box& b);
// a without b, as disjoint boxes appended to `out`.
void subtract(SetTable& sets, const Box& a, const Box& b, BoxList& out);
// The part of `box` that none of `boxes` covers, as disjoint boxes; empty when it is covered.
BoxList uncovered(SetTable& sets, const Box& box, std::span<const Box> boxes);
bool covered(SetTable& sets, const Box& box, std::span<const Box> boxes);

class Placement {
 public:
  Placement() = default;
  // No boxes at any rank.
  explicit Placement(int ranks) : first_(static_cast<std::size_t>(ranks) + 1, 0) {}
  // boxes_of(rank) -> BoxList; empty boxes are dropped.
  template <typename Function>
  static Placement make(int ranks, Function&& boxes_of) {
    Placement placement;
    placement.first_.push_back(0);
    for (int rank = 0; rank < ranks; ++rank) {
      for (const Box& box : boxes_of(rank)) placement.push(box);
      placement.close_rank();
    }
    return placement;
  }

  int ranks() const { return static_cast<int>(first_.size()) - 1; }
  std::span<const Box> at(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return {boxes_.data() + first_[r], static_cast<std::size_t>(first_[r + 1] - first_[r])};
  }
  std::span<const Box> boxes() const { return boxes_; }
  // What rank g[j] holds goes to rank g[(j + by) mod size], for every group g.
  Placement rotate(std::span<const std::vector<int>> groups, int by = 1) const;
  friend bool operator==(const Placement&, const Placement&) = default;

  // For filling rank by rank.
  void push(const Box& box) {
    if (first_.empty()) first_.push_back(0);
    if (!box.empty()) boxes_.push_back(box);
  }
  void close_rank() { first_.push_back(static_cast<std::int32_t>(boxes_.size())); }

 private:
  std::vector<std::int32_t> first_;  // ranks + 1 offsets into boxes_
  BoxList boxes_;
};

}  // namespace spscope
