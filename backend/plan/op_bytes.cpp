#include "backend/plan/op_bytes.h"

namespace spscope {

OpBytes op_bytes(const Plan& plan, const Op& op) {
  OpBytes bytes;
  bool several = false;
  for (MessageId id : plan.messages_of(op)) {
    const Message& message = plan.messages[static_cast<std::size_t>(id)];
    if (message.src == message.dst || (message.src != op.rank && message.dst != op.rank)) continue;
    const bool sends = message.src == op.rank;
    (sends ? bytes.sent : bytes.received) += message.bytes;
    const int other = sends ? message.dst : message.src;
    several |= bytes.peer >= 0 && bytes.peer != other;
    bytes.peer = other;
  }
  if (several) bytes.peer = -1;
  return bytes;
}

}  // namespace spscope
