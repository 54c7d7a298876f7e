// Combining the guidance passes of an executed run: once a denoise step, after its last layer, the ranks of a replica
// really exchange the noise predictions of the passes that ran at once and compute the guided one
// (strategies/combine_guidance.h).
//
// The projection that ends a model does not run: channel c of a prediction is channel c of what the last layer that ran
// left at a video token, counted from 0 again where that has fewer channels (o: all channels of head 0, then head 1).
#pragma once

#include <span>
#include <vector>

#include "backend/job/layer_times.h"

namespace spscope {

// The predictions of all passes as a hidden state, [batch, passes x prediction channels, 1, video tokens].
// `outputs_by_pass`: of the layer of `pass`, a request of one pass.
std::vector<float> predictions_of(std::span<const std::vector<OutputTensor>> outputs_by_pass, const Model& model,
                                  const Request& pass);

struct CombinedPasses {
  std::vector<std::int64_t> bytes_sent;  // by rank of the replica, counted; those of the plan
  std::int64_t makespan_ns = 0;          // median of the repeats
  // Of every token: the predictions of all passes against u + scale x sum (c - u) in double precision of the same
  // predictions.
  std::optional<Verification> check;
  std::vector<float> guided;  // [batch, prediction channels, 1, video tokens]; known where outputs are
};

// Where ranks are processes, `predictions` is read at rank 0, and given to all of them outside of what is timed and
// counted, as inputs are. Throws Error as time_layer() does. REQUIRES: Job::combines_passes().
CombinedPasses combine_passes(const TimingContext& context, std::vector<float> predictions);

}  // namespace spscope
