// Activations: what one layer is run on, before anything is cut over ranks: the whole q, k and v of its attentions, or,
// where whole layers run, its hidden state x and the parameters of its kernels.
//
// Inputs are generated from a seed, or given as arrays, and are already rounded to the run's dtype, so that a reference
// on these numbers and a run in bf16 see the same input.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/plan/request.h"

namespace spscope {

class LayerParameters;

// q, k and v of one attention, each [batch, heads, outer_tokens, inner_tokens, head_dim]. 3D attention has one outer
// token, so that its arrays are [batch, heads, tokens, head_dim].
struct AttentionInput {
  std::vector<float> q, k, v;
};

struct Activations {
  // Of guidance that run at once: their inputs one after the other, `attentions_of_pass` of Value::layer apart.
  int passes = 1, attentions_of_pass = 1;
  int batch = 1, heads = 1, head_dim = 1;
  std::int32_t outer_tokens = 1, inner_tokens = 0;
  // Of attention alone, by Value::layer: full 3D or spatial, then temporal.
  std::vector<AttentionInput> attentions;
  // Of whole layers.
  std::int32_t hidden = 0;
  std::vector<float> x;  // [passes, batch, hidden, outer_tokens, inner_tokens]
  std::shared_ptr<LayerParameters> parameters;

  // Of one pass.
  std::int64_t num_channels() const { return std::int64_t{batch} * hidden * outer_tokens * inner_tokens; }
  std::int64_t num_rows() const { return std::int64_t{batch} * heads * outer_tokens * inner_tokens; }
  std::int64_t row(int batch_entry, int head, std::int32_t outer, std::int32_t inner) const {
    return ((std::int64_t{batch_entry} * heads + head) * outer_tokens + outer) * inner_tokens + inner;
  }
};

// Standard normal numbers, the same for the same seed whatever is computed from them: q, k and v, or x where the
// request is for a whole layer. `parameters` are those of the run; a nullptr makes new ones of the same seed. Leaves
// early once `interrupt` is set; the numbers are then not to be used.
Activations generate_activations(const Request& request, std::uint64_t seed,
                                 std::shared_ptr<LayerParameters> parameters = nullptr,
                                 const std::atomic<bool>* interrupt = nullptr);

// Activations of attention alone from arrays that were read from files; rounds them to the request's dtype.
// Throws Error(kActivations) naming every array that is missing, has the wrong number of elements, holds NaN or
// infinity after rounding, or is so large that scores or outputs may exceed fp32.
Activations make_activations(const Request& request, std::vector<AttentionInput> arrays);

// The inputs of passes that run at once, from those of each. REQUIRES: one at least, all of one request.
Activations activations_at_once(std::vector<Activations> passes);

// Throws Error(kActivations) unless these are activations of the request's shape.
void require_fit(const Activations& activations, const Request& request);

// Rounds every number to what `dtype` can store.
void round_to(Dtype dtype, std::span<float> numbers);

}  // namespace spscope
