// References of a job that are kept while it goes on: layer passes with the same inputs and the same masks have the
// same outputs, as every denoise step has whose activations come from a file and whose masks do not change.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <tuple>

#include "backend/execute/reference/reference.h"
#include "backend/job/layer_activations.h"

namespace spscope {

class ReferenceCache {
 public:
  // The reference of a layer pass, made anew unless it is kept; nullptr once `interrupt` is set.
  std::shared_ptr<const Reference> of(const Request& request, const Activations& input, InputKey key,
                                      const RunSection& run, const std::atomic<bool>* interrupt);
  int made() const { return made_; }

 private:
  // Equal for layer passes with equal outputs: inputs, and the masks of both axes.
  using Key = std::tuple<InputKey, std::uint64_t, std::uint64_t>;
  struct Kept {
    Key key;
    std::shared_ptr<const Reference> reference;
  };
  std::list<Kept> kept_;  // the last one used first
  int made_ = 0;
};

}  // namespace spscope
