// What a job's layers run on: q, k and v, seeded or from a file with real activations; of whole layers a seeded hidden
// state, and parameters that all layers of the run share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/execute/activations.h"
#include "backend/job/job.h"
#include "backend/mask/array_file.h"

namespace spscope {

// Equal for layer passes with the same inputs: the number of the seeded ones, or the layer of the file.
using InputKey = std::uint64_t;

class ActivationSource {
 public:
  // Reads model.activations when it is set: arrays q, k and v of shape [layers, heads, tokens, head_dim] or
  // [heads, tokens, head_dim]; the one layer then serves all. A spatial-temporal model has q_temporal, k_temporal and
  // v_temporal beside them. Throws Error when arrays are missing or do not fit the model.
  explicit ActivationSource(const Job& job);

  bool from_file() const { return !arrays_.empty(); }
  // The arrays of one layer as they stand in the file. REQUIRES: from_file().
  AttentionInput file_input(int attention, int layer) const;
  InputKey key(int denoise_step, int layer, int pass = 0) const;
  // What the layer runs on, rounded to the run's dtype. The same numbers for every strategy. Leaves early once
  // `interrupt` is set; the result is then not to be used.
  Activations at(const Request& request, int denoise_step, int layer, const std::atomic<bool>* interrupt = nullptr,
                 int pass = 0) const;

 private:
  const Array& array(int attention, int tensor) const {
    return arrays_[static_cast<std::size_t>(attention * 3 + tensor)];
  }
  // What keeps the array from being an input of the model; nullopt when it fits.
  std::optional<Problem> misfit(const Array& array) const;

  const Job& job_;
  std::vector<Array> arrays_;  // q, k, v of each attention
  std::shared_ptr<LayerParameters> parameters_;
};

}  // namespace spscope
