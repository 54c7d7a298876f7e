// One rank's part of a post that communicates, as every communicator gets it.
//
// A rank describes its own end of a message as cells of its own buffers. It knows the other end too where the transfer
// is one-sided, and where the source lies in memory that its process shares with another one (a window).
#pragma once

#include <span>
#include <vector>

#include "backend/execute/program/cells.h"
#include "backend/plan/plan.h"

namespace spscope {

// One message. `from` and `to` are empty where the end is not known.
struct TransferPart {
  MessageId message = kNone;
  int src = 0, dst = 0;
  std::span<const CellRun> from, to;
};

// One rank's part of a post.
struct Transfer {
  OpId op = kNone;
  PostKind kind = PostKind::kExchange;
  PostId sequence = kNone;
  GroupId group = kNone;
  int lane = 1, rank = 0;
  std::vector<TransferPart> parts;  // ascending by message
  // Ranks that must have posted before data can move: those with which an exchange has messages, the whole group of a
  // reduce or barrier. Ascending from the next higher rank on, cyclically, so that receivers spread over the senders.
  std::vector<int> partners;
  int num_takers = 0;  // ranks that get data from this one
};

}  // namespace spscope
