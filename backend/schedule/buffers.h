// Buffers: the memory that a plan needs at each rank, as (value, rank) and (accumulator, rank) pairs with their bytes.
//
// Views take no memory: they refer to the buffers of their sources. An accumulator holds o, m and l of its rows in
// fp32. The users of a buffer follow from for_each_read and for_each_fill; attends, merges and finishes also use their
// accumulator.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plan/plan_access.h"

namespace spscope {

struct Buffer {
  int rank = 0;
  std::int64_t num_bytes = 0;
  bool given = false;  // holds an input: live from the start
  bool kept = false;   // holds an output: live to the end
};

class BufferTable {
 public:
  explicit BufferTable(const Plan& plan);
  const std::vector<Buffer>& buffers() const { return buffers_; }
  // Index into buffers(); kNone when the rank holds no part of the value.
  std::int32_t of_value(ValueId value, int rank) const { return index_[slot(value, rank)]; }
  std::int32_t of_accumulator(AccId acc, int rank) const { return index_[slot(num_values_ + acc, rank)]; }

  // visit(buffer, writes): every buffer that the op reads, writes or updates, some of them several times.
  template <typename Visit>
  void for_each_use(const Plan& plan, const Op& op, Visit&& visit) const {
    const auto use = [&](std::int32_t buffer, bool writes) {
      if (buffer != kNone) visit(buffer, writes);
    };
    const Post& post = plan.post_of(op);
    for_each_written_rank(plan, op, [&](int rank) { use(of_value(post.dst, rank), true); });
    for_each_read(plan, op, [&](int rank, ValueId id, const Box&) {
      for_each_base(plan, id, [&](ValueId base) { use(of_value(base, rank), false); });
    });
    if (post.acc != kNone) use(of_accumulator(post.acc, op.rank), true);
  }

 private:
  std::size_t slot(std::int32_t holder, int rank) const {
    return static_cast<std::size_t>(holder) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank);
  }
  void add(const Plan& plan, std::int32_t holder, const Placement& placement, std::int64_t cell_bytes, bool given);

  int ranks_;
  std::int32_t num_values_;
  std::vector<std::int32_t> index_;
  std::vector<Buffer> buffers_;
};

}  // namespace spscope
