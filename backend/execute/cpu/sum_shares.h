// Sums of a reduce: the one place where shares are added, so that every communicator adds them in the same order and to
// the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/execute/cpu/copy.h"
#include "backend/execute/program/transfer.h"

namespace spscope {

// Where the source of a part has its cells: in memory that can be reached, or packed (pack_cells) in a message.
struct ShareSource {
  std::span<const CellRun> cells;
  std::span<const std::byte> packed;  // used unless empty
};

// Adds up the shares that a transfer brings to its rank, in fp32, in the order of messages, and rounds once.
// `source_of` says where a share lies, `added` is called after each share with its bytes, `done` after each sum with
// the bytes of staging that it took.
struct SumHooks {
  std::function<ShareSource(const TransferPart&)> source_of;
  std::function<void(const TransferPart&, std::int64_t num_bytes)> added;
  std::function<void(std::int64_t staging_bytes)> done;
};
void sum_shares(const HostMemory& memory, const Transfer& transfer, const SumHooks& hooks);

}  // namespace spscope
