// PartnerOps: which op of a post belongs to a rank, for communicators that meet partners.
#pragma once

#include "backend/base/check.h"
#include "backend/base/flat_map.h"
#include "backend/plan/plan.h"

namespace spscope {

class PartnerOps {
 public:
  explicit PartnerOps(const Plan& plan) {
    for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
      const Op& op = plan.ops[static_cast<std::size_t>(id)];
      if (two_sided(plan.kind_of(op))) op_of_.insert(key(op.post, op.rank), id);
    }
  }
  // REQUIRES: the rank takes part in the post, which is two-sided.
  OpId at(PostId sequence, int rank) const {
    const OpId* op = op_of_.find(key(sequence, rank));
    SPSCOPE_CHECK(op != nullptr);
    return *op;
  }

 private:
  static std::uint64_t key(PostId sequence, int rank) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(sequence)) << 32 | static_cast<std::uint32_t>(rank);
  }
  FlatMap<OpId> op_of_;
};

}  // namespace spscope
