// Small twins of workloads whose heads, tokens and text do not divide: the same remainders, at most 12
// blocks and a head dim of at most 16.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "backend/mask/pattern.h"
#include "backend/plan/request.h"

namespace spscope {

struct TestedWorkload {
  std::string_view name = {};  // for test names: letters, digits, underscores
  int heads = 0, head_dim = 0;
  std::array<int, 3> grid = {};
  int block = 0;
  int text_tokens = 0;
  TextLayout text = TextLayout::kShard;
  int batch = 1;
  bool spatiotemporal = false;  // frames are the outer axis
  // Whole layers.
  LayerBlock block_of_layer = LayerBlock::kAttention;
  int context_tokens = 0, mlps = 1;
  bool text_first = false;
  bool dense_only = false;  // others differ from it in little, and are tried on masks

  bool whole_layer() const { return block_of_layer != LayerBlock::kAttention; }
};

std::span<const TestedWorkload> workloads();
// Number of ranks that every strategy is tried on.
std::span<const int> rank_counts(const TestedWorkload& workload);
// Whether the workload is tried on the mask pattern. All on `dense`, most on `sparge`, attention also on `headwise` and
// on a third of the other patterns, so that each of these is tried on three workloads. REQUIRES: elements of
// workloads() and of patterns().
bool runs_on(const TestedWorkload& workload, const Pattern& pattern);

// What is known when planning: the mask that runs; another one of the same pattern, as of an earlier denoise step; or
// nothing.
enum class Known { kExecutedMask, kOtherMask, kNothing };

// The request for a workload whose masks follow `pattern`.
Request make_request(const TestedWorkload& workload, const Pattern& pattern, int ranks, Dtype dtype,
                     Known known = Known::kExecutedMask);

// Every setting of a strategy worth a test, legal or not: all products of degrees, and each of them with every choice
// of one other parameter.
std::vector<Parameters> all_settings(const std::vector<Parameter>& parameters, int ranks);

}  // namespace spscope
