// Partners: the ops of other ranks with which an op of communication begins.
//
// Of an exchange these are the ops at the other ends of its messages, of a reduce or a barrier all others of its group.
// A pull or push begins by itself. Such ops begin when the last of them has posted (schedule/schedule.h).
#pragma once

#include <vector>

#include "backend/plan/plan.h"

namespace spscope {

class Partners {
 public:
  explicit Partners(const Plan& plan);

  // visit(partner) for each; of an exchange once a message.
  template <typename Visit>
  void for_each(OpId id, Visit&& visit) const {
    const Op& op = plan_.ops[static_cast<std::size_t>(id)];
    if (const int meeting = meeting_of(id); meeting != kNone) {
      for (const OpId member : members_[static_cast<std::size_t>(meeting)])
        if (member != id) visit(member);
    } else if (plan_.kind_of(op) == PostKind::kExchange) {
      for (const MessageId m : plan_.messages_of(op)) {
        const Ends& ends = ends_[static_cast<std::size_t>(m)];
        const OpId partner = ends.first == id ? ends.second : ends.first;
        if (partner != kNone) visit(partner);
      }
    }
  }

  // The ops of one reduce or barrier of one group have a number, all others kNone.
  int num_meetings() const { return static_cast<int>(members_.size()); }
  int meeting_of(OpId id) const { return meeting_[static_cast<std::size_t>(id)]; }

 private:
  struct Ends {
    OpId first = kNone, second = kNone;  // of a message between ranks
  };
  const Plan& plan_;
  std::vector<Ends> ends_;    // by message
  std::vector<int> meeting_;  // by op
  std::vector<std::vector<OpId>> members_;
};

}  // namespace spscope
