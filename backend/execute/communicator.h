// Communicator: how data gets from rank to rank. Executors give it one rank's part of a post at a time; a post's number
// is the sequence number of its communicator, which is (group, lane), on every backend.
//
// A rank describes its own end of a message as cells of its own buffers. It knows the other end too where the transfer
// is one-sided, and where the source lies in memory that its process shares with another one (a window).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/execute/cells.h"
#include "backend/plan/timeline.h"

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

// Bytes that really moved between ranks, by rank. A copy inside a rank counts nothing.
struct CountedBytes {
  std::vector<std::int64_t> sent, received, sent_intra_node, sent_inter_node;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  // Carries out the transfer and returns when this rank's part has ended. Sets begin_ns (the last partner had posted,
  // data can move) and end_ns on the run clock. Called by the lane that owns the transfer.
  virtual void run(const Transfer& transfer, OpTimes& times) = 0;
  // An op of any lane of this process has ended; for communicators that must tell other processes.
  virtual void ended(OpId) {}
  // Bytes counted since the last reset().
  virtual CountedBytes traffic() const = 0;
  // Most bytes of staging that sums and messages took at one time, by rank.
  virtual std::vector<std::int64_t> staging_peak_bytes() const = 0;
  virtual void reset() = 0;
};

}  // namespace spscope
