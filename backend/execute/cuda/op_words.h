// OpWords: how far each op is, as numbers in host memory that streams write as they come there. The host reads them
// without a call to the driver, which still works when the device has failed; streams of other processes wait for them.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/base/ids.h"

namespace spscope::cuda {

// The repeat in which the op came there last: 1 is the first one, warm-ups included.
struct OpWord {
  std::atomic<std::uint32_t> posted{0}, taken{0}, ended{0}, unused{0};
};
static_assert(sizeof(OpWord) == 16 && std::atomic<std::uint32_t>::is_always_lock_free);

enum class OpStage {
  kPosted,  // all it depends on at its rank has ended, its partners may take data
  kTaken,   // it has all data from its partners
  kEnded,
};

class OpWords {
 public:
  OpWords() = default;
  // `device`: of the first word, as devices name it.
  OpWords(std::span<OpWord> words, CUdeviceptr device) : words_(words), device_(device) {}

  bool has(OpId op, OpStage stage, std::uint32_t epoch) const { return word(op, stage).load() == epoch; }
  CUdeviceptr address(OpId op, OpStage stage) const {
    return device_ + static_cast<CUdeviceptr>(op) * sizeof(OpWord) +
           static_cast<CUdeviceptr>(stage) * sizeof(std::uint32_t);
  }
  // Lets streams go on that wait for the op, and does not say that it came anywhere.
  void let_pass(OpId op, std::uint32_t epoch) {
    for (const OpStage stage : {OpStage::kPosted, OpStage::kTaken, OpStage::kEnded})
      if (!has(op, stage, epoch)) word(op, stage).store(epoch + kPastAll);
  }

 private:
  static constexpr std::uint32_t kPastAll = 1u << 30;  // streams compare the signed difference with 0

  std::atomic<std::uint32_t>& word(OpId op, OpStage stage) const {
    OpWord& of = words_[static_cast<std::size_t>(op)];
    return stage == OpStage::kPosted ? of.posted : stage == OpStage::kTaken ? of.taken : of.ended;
  }

  std::span<OpWord> words_;
  CUdeviceptr device_ = 0;
};

}  // namespace spscope::cuda
