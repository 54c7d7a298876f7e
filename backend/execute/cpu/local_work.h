// LocalWork: one op of a local kernel that is no matrix product, made ready to run: where the cells of each chunk of
// its tokens lie, the parameters of the columns that the rank holds, and the angles of its positions.
#pragma once

#include <optional>
#include <vector>

#include "backend/execute/cpu/local_kernels.h"
#include "backend/execute/cpu/rotary.h"
#include "backend/execute/cpu/text_attention.h"

namespace spscope {

class LocalWork {
 public:
  // `parameters` may be nullptr when the kernel has none.
  // REQUIRES: an op of a kernel of local_kernels(). Throws Error(kPlanNotHeld) when the rank lacks an operand.
  LocalWork(const Plan& plan, const Request& request, CellFinder& finder, const Op& op, LayerParameters* parameters);

  void run(const HostMemory& memory, ComputeScratch& scratch) const;

 private:
  struct Chunk {
    std::vector<std::vector<CellRun>> operands;
    std::vector<CellRun> out;
    std::int64_t tokens = 0;
    std::vector<RotaryTable::Position> positions;  // of kernels that turn
  };
  struct BoxWork {
    std::int64_t columns = 0;
    std::vector<float> first_parameter, second_parameter;  // of these columns
    std::optional<TextProjection> text;
    std::vector<Chunk> chunks;
  };
  void run_chunk(const HostMemory& memory, const BoxWork& box, const Chunk& chunk, int entry, const LocalCall& call,
                 ComputeScratch& scratch) const;
  void run_plane(const HostMemory& memory, const Chunk& chunk, std::size_t plane, int entry, LocalCall call) const;

  const LocalKernel* kernel_;
  std::int64_t norm_channels_, predictions_;
  int batch_;
  std::optional<RotaryTable> rotary_;
  std::vector<BoxWork> boxes_;
};

}  // namespace spscope
