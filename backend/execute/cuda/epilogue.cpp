#include "backend/execute/cuda/epilogue.h"

#include <algorithm>

#include "backend/base/ids.h"
#include "backend/plan/plan_access.h"

namespace spscope::cuda {
namespace {

// Ops of one rank on one accumulator.
struct Uses {
  OpId attend = kNone, finish = kNone;
  int attends = 0, finishes = 0, merges = 0;
};

}  // namespace

bool attends_all_rows(const Plan& plan, const MemoryLayout& layout, const Op& op, SlotId accumulator) {
  const BufferSlot& slot = layout.slot(accumulator);
  std::int64_t cells = 0;
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b)
    cells += layout.buffer(b).num_cells;
  return volume(*plan.sets, attend_rows(plan, op)) == cells;
}

std::vector<Epilogue> find_epilogues(const Plan& plan, const MemoryLayout& layout) {
  std::vector<Uses> uses(plan.accumulators.size() * at(plan.ranks));
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[at(id)];
    const Post& post = plan.post_of(op);
    if (post.acc == kNone) continue;
    Uses& of = uses[at(post.acc) * at(plan.ranks) + at(op.rank)];
    if (post.kind == PostKind::kAttend) of.attend = id, ++of.attends;
    if (post.kind == PostKind::kFinish) of.finish = id, ++of.finishes;
    if (post.kind == PostKind::kMerge) ++of.merges;
  }
  std::vector<Epilogue> epilogues;
  for (const Uses& of : uses) {
    if (of.attends != 1 || of.finishes != 1 || of.merges != 0) continue;
    const Op& attend = plan.ops[at(of.attend)];
    const Post& finish = plan.post_of(plan.ops[at(of.finish)]);
    const Value& result = plan.values[at(finish.dst)];
    const Value& queries = plan.values[at(plan.accumulators[at(finish.acc)].q)];
    const SlotId accumulator = layout.accumulator_slot(finish.acc, attend.rank);
    if (result.partial != kNone || accumulator == kNone) continue;
    if (!std::ranges::equal(result.placement.at(attend.rank), queries.placement.at(attend.rank))) continue;
    if (!attends_all_rows(plan, layout, attend, accumulator)) continue;
    epilogues.push_back({of.attend, of.finish, accumulator, layout.value_slot(finish.dst, attend.rank)});
  }
  return epilogues;
}

}  // namespace spscope::cuda
