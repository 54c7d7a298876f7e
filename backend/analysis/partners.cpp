#include "backend/analysis/partners.h"

#include "backend/base/flat_map.h"

namespace spscope {

Partners::Partners(const Plan& plan) : plan_(plan), ends_(plan.messages.size()), meeting_(plan.ops.size(), kNone) {
  FlatMap<int> meetings;
  for (OpId id = 0; static_cast<std::size_t>(id) < plan.ops.size(); ++id) {
    const Op& op = plan.ops[static_cast<std::size_t>(id)];
    const PostKind kind = plan.kind_of(op);
    if (kind == PostKind::kReduce || kind == PostKind::kBarrier) {
      const std::uint64_t key = static_cast<std::uint64_t>(op.post) << 32 | static_cast<std::uint32_t>(op.group);
      const int meeting = meetings.insert(key, num_meetings());
      if (meeting == num_meetings()) members_.emplace_back();
      members_[static_cast<std::size_t>(meeting)].push_back(id);
      meeting_[static_cast<std::size_t>(id)] = meeting;
    } else if (kind == PostKind::kExchange) {
      for (const MessageId m : plan.messages_of(op)) {
        const Message& message = plan.messages[static_cast<std::size_t>(m)];
        Ends& ends = ends_[static_cast<std::size_t>(m)];
        if (message.src != message.dst) (ends.first == kNone ? ends.first : ends.second) = id;
      }
    }
  }
}

}  // namespace spscope
