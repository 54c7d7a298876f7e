// The public side of attention on the CPU: checks the task, prepares the scratch, and calls the vector code.
#include "kernels/attention.h"

#include <cstddef>

#include "backend/base/check.h"
#include "kernels/cpu/attention_scratch.h"
#include "kernels/cpu/vector_code.h"
#include "kernels/exponential.h"

namespace spscope::kernels {
namespace {

// Marks the k blocks in use and sets the places of `scratch` that are indexed by block.
void start_task(const AttentionTask& task, AttentionScratch& scratch) {
  const std::size_t num_q = task.q.size(), num_k = task.k.size();
  SPSCOPE_CHECK(task.head_dim >= 1 && task.head_dim <= kMaxHeadDim);
  SPSCOPE_CHECK(task.state.size() == num_q && task.v.size() == num_k && task.row_begin.size() == num_q + 1);
  scratch.used.assign(num_k, 0);
  scratch.key_offset.resize(num_k);
  scratch.value_offset.resize(num_k);
  scratch.next_tile.assign(task.row_begin.begin(), task.row_begin.end() - 1);
  for (std::size_t q_block = 0; q_block < num_q; ++q_block) {
    SPSCOPE_CHECK(task.q[q_block].rows >= 1 && task.q[q_block].rows <= kMaxBlockRows);
    std::int32_t previous = -1;
    for (std::int32_t i = task.row_begin[q_block]; i < task.row_begin[q_block + 1]; ++i) {
      const std::int32_t k_block = task.k_block[i];
      SPSCOPE_CHECK(k_block > previous && k_block < static_cast<std::int32_t>(num_k));
      scratch.used[k_block] = 1;
      previous = k_block;
    }
  }
  for (std::size_t k_block = 0; k_block < num_k; ++k_block) {
    SPSCOPE_CHECK(!scratch.used[k_block] || (task.k[k_block].rows >= 1 && task.k[k_block].rows <= kMaxBlockRows &&
                                             task.v[k_block].rows == task.k[k_block].rows));
  }
}

}  // namespace

AttentionWorkspace::AttentionWorkspace() : scratch_(std::make_unique<AttentionScratch>()) {}
AttentionWorkspace::~AttentionWorkspace() = default;
AttentionWorkspace::AttentionWorkspace(AttentionWorkspace&&) noexcept = default;
AttentionWorkspace& AttentionWorkspace::operator=(AttentionWorkspace&&) noexcept = default;

std::int64_t AttentionWorkspace::num_bytes() const {
  const AttentionScratch& s = *scratch_;
  return s.keys.num_bytes() + s.values.num_bytes() + s.queries.num_bytes() + s.out.num_bytes() + s.scores.num_bytes() +
         s.row.num_bytes();
}

void attend(const AttentionTask& task, AttentionWorkspace& workspace) {
  start_task(task, workspace.scratch());
  vector_code::attend_task(task, workspace.scratch());
}

void exp_nonpositive(std::span<const float> x, std::span<float> out) {
  SPSCOPE_CHECK(x.size() == out.size());
  vector_code::exp_nonpositive(x.data(), out.data(), x.size());
}

}  // namespace spscope::kernels
