// Rules holds and race: what an op reads is held at its rank and was made before.
//
// A read is ordered after the op that made the data when that op is earlier on the same lane of the same rank, a direct
// dependency, or of a rank that passed a barrier with the reader's in between. A barrier counts when it waits for all
// lanes of its rank and all lanes of its rank wait for it.
#include <fmt/format.h>

#include <algorithm>

#include "backend/base/stop_point.h"
#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

class Reads {
 public:
  Reads(const Context& c, Findings& found) : c_(c), p_(c.plan), found_(found) {}

  void check() {
    for (int rank = 0; rank < p_.ranks; ++rank)
      if (!c_.index.barriers(rank).empty()) check_barriers(rank);
    for (OpId id = 0; id < static_cast<OpId>(p_.ops.size()); ++id, stop_point())
      for_each_read(p_, p_.ops[at(id)],
                    [&](int rank, ValueId value, const Box& box) { check_read(id, rank, value, box); });
  }

 private:
  int lane_of(const Op& op) const { return p_.post_of(op).lane; }

  // Every lane of a rank waits for its barriers by program order (rule order).
  void check_barriers(int rank) {
    std::vector<OpId> last(at(p_.lanes), kNone);
    for (const OpId id : ops_of_rank(rank)) {
      const Op& op = p_.ops[at(id)];
      const int lane = lane_of(op);
      const auto deps = p_.deps(op);
      if (p_.kind_of(op) == PostKind::kBarrier)
        for (int other = 0; other < p_.lanes; ++other)
          if (other != lane && last[at(other)] != kNone && std::ranges::find(deps, last[at(other)]) == deps.end())
            found_.add(Rule::kRace, fmt::format("barrier {} does not wait for op {}", id, last[at(other)]));
      last[at(lane)] = id;
    }
  }

  std::vector<OpId> ops_of_rank(int rank) const {
    std::vector<OpId> ops;
    for (int lane = 0; lane < p_.lanes; ++lane) {
      const auto list = c_.index.ops_of_lane(rank, lane);
      ops.insert(ops.end(), list.begin(), list.end());
    }
    std::ranges::sort(ops);
    return ops;
  }

  void check_read(OpId id, int rank, ValueId value, const Box& box) {
    if (!covered(c_.sets, box, c_.value(value).placement.at(rank)))
      found_.add(Rule::kHolds, fmt::format("op {} ({}) reads what rank {} does not hold of value {}", id,
                                           post_kind_name(p_.kind_of(p_.ops[at(id)])), rank, value));
    for_each_base(p_, value, [&](ValueId base) {
      for (OpId maker : c_.index.makers(base, rank))
        if (!ordered(maker, id))
          found_.add(Rule::kRace, fmt::format("op {} may read value {} before op {} made it", id, value, maker));
    });
  }

  bool ordered(OpId maker, OpId reader) const {
    const Op &made = p_.ops[at(maker)], &op = p_.ops[at(reader)];
    if (made.rank == op.rank && lane_of(made) == lane_of(op))
      return c_.index.lane_position(maker) < c_.index.lane_position(reader);
    const auto deps = p_.deps(op);
    if (std::ranges::find(deps, maker) != deps.end()) return true;
    const auto barriers = c_.index.barriers(op.rank);
    return std::ranges::any_of(barriers, [&](OpId id) {
      const Op& barrier = p_.ops[at(id)];
      return made.post < barrier.post && barrier.post < op.post && c_.index.member(barrier.group, made.rank);
    });
  }

  const Context& c_;
  const Plan& p_;
  Findings& found_;
};

}  // namespace

void check_reads(const Context& c, Findings& found) { Reads(c, found).check(); }

}  // namespace spscope::verifying
