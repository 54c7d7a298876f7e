// OutputGather: where the ranks of a run hold its outputs, and the outputs put together from what they hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/execute/outputs.h"
#include "backend/execute/program/cells.h"

namespace spscope {

// Every rank's share of every output, located before the run.
class OutputGather {
 public:
  OutputGather(const Plan& plan, CellFinder& finder);

  // A box of an output at a rank that holds it.
  struct Share {
    std::size_t output;
    int rank;
    Box box;
    std::vector<CellRun> cells;
    std::int64_t num_elements;  // of one batch entry
  };
  std::span<const Share> shares() const { return shares_; }  // by output, then rank
  // The outputs from what every rank holds: its shares one after the other, each [batch][cells][width].
  std::vector<OutputTensor> gather(std::span<const std::vector<float>> held_by_rank) const;

 private:
  // An output that is being put together.
  struct Gathered;
  void place(const float* held, const Share& share, int entry, Gathered& whole) const;

  const Plan& plan_;
  std::vector<Share> shares_;
};

}  // namespace spscope
