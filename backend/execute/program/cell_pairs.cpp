#include "backend/execute/program/cell_pairs.h"

#include "backend/base/check.h"
#include "backend/plan/plan_access.h"

namespace spscope {

bool gives_unfinished_rows(const Plan& plan, const Post& post) {
  return post.kind == PostKind::kFinish && plan.values[static_cast<std::size_t>(post.dst)].partial != kNone;
}

std::vector<CellPair> cell_pairs(const Plan& plan, CellFinder& finder, const Op& op) {
  const Post& post = plan.post_of(op);
  SPSCOPE_CHECK(post.kind == PostKind::kMerge || post.kind == PostKind::kFinish || post.kind == PostKind::kCopy);
  std::vector<CellPair> pairs;
  if (post.kind == PostKind::kCopy) {
    for (MessageId id : plan.messages_of(op)) {
      const Message& m = plan.messages[static_cast<std::size_t>(id)];
      pairs.push_back({finder.value_cells(post.src, m.src, m.box), finder.value_cells(post.dst, m.dst, m.box)});
    }
    return pairs;
  }
  const AttendedAxis walk = plan.accumulators[static_cast<std::size_t>(post.acc)].axis;
  if (post.kind == PostKind::kMerge)
    for_each_read(plan, op, [&](int rank, ValueId value, const Box& box) {
      pairs.push_back(
          {finder.value_cells(value, rank, box, walk), finder.accumulator_cells(post.acc, rank, box, walk)});
    });
  else
    for (const Box& box : plan.values[static_cast<std::size_t>(post.dst)].placement.at(op.rank))
      pairs.push_back(
          {finder.accumulator_cells(post.acc, op.rank, box, walk), finder.value_cells(post.dst, op.rank, box, walk)});
  return pairs;
}

}  // namespace spscope
