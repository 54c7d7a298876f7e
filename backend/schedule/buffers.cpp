#include "backend/schedule/buffers.h"

#include "backend/base/ids.h"

namespace spscope {

BufferTable::BufferTable(const Plan& plan)
    : ranks_(plan.ranks), num_values_(static_cast<std::int32_t>(plan.values.size())) {
  index_.assign((plan.values.size() + plan.accumulators.size()) * at(ranks_), kNone);
  for (ValueId id = 0; id < num_values_; ++id) {
    const Value& value = plan.values[at(id)];
    if (value.sources.empty()) add(plan, id, value.placement, plan.cell_bytes(value), value.given);
  }
  const std::int64_t row_bytes = plan.width(kPartialRows) * std::int64_t{sizeof(float)} * plan.batch;
  for (AccId acc = 0; acc < static_cast<AccId>(plan.accumulators.size()); ++acc)
    add(plan, num_values_ + acc, plan.values[at(plan.accumulators[at(acc)].q)].placement, row_bytes, false);
  for (const Output& output : plan.outputs)
    for_each_base(plan, output.value, [&](ValueId base) {
      for (int rank = 0; rank < ranks_; ++rank)
        if (const std::int32_t b = of_value(base, rank); b != kNone) buffers_[at(b)].kept = true;
    });
}

void BufferTable::add(const Plan& plan, std::int32_t holder, const Placement& placement, std::int64_t cell_bytes,
                      bool given) {
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::int64_t num_bytes = volume(*plan.sets, placement.at(rank)) * cell_bytes;
    if (num_bytes == 0) continue;
    index_[slot(holder, rank)] = static_cast<std::int32_t>(buffers_.size());
    buffers_.push_back({rank, num_bytes, given, false});
  }
}

}  // namespace spscope
