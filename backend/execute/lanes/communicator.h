// Communicator: how data gets from rank to rank. Executors give it one rank's part of a post at a time; a post's number
// is the sequence number of its communicator, which is (group, lane), on every backend.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/program/transfer.h"

namespace spscope {

class Communicator {
 public:
  virtual ~Communicator() = default;
  // Carries out the transfer and returns when this rank's part has ended. Sets begin_ns (the last partner had posted,
  // data can move) and end_ns on the raw clock. Called by the lane that owns the transfer.
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
