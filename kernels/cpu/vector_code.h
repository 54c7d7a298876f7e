// The vector code of the CPU kernels. It is compiled by cpu/highway.cpp, for every instruction set with the choice at
// run time. The bodies are the .inc files of this folder; they are included inside a namespace of each instruction set
// and hence have no include guard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/attention.h"
#include "kernels/cpu/attention_scratch.h"

namespace spscope::kernels::vector_code {

// Folds all tiles of a checked task; `scratch.used` and `scratch.next_tile` are set, `scratch.*_offset` have their
// length.
void attend_task(const AttentionTask& task, AttentionScratch& scratch);

// out[i] = exp(x[i]) for x[i] <= 0.
void exp_nonpositive(const float* x, float* out, std::size_t count);

// Independent chains of acc = acc * factor + addend, `steps` times; returns the number of floating-point operations.
// `factor` and `addend` must not be known when compiling; `result` depends on all chains, so that none is left out.
double run_fma_slice(std::int64_t steps, float factor, float addend, float* result);

std::string_view target_name();

}  // namespace spscope::kernels::vector_code
