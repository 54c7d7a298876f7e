// GemmWork: one op of a contracting kernel with a weight, made ready to run as matrix products.
//
// Cells of a value are [column][token][element]; a product wants rows of tokens. Each chunk of tokens is packed to
// [token][input channel], multiplied by the part of the weight that belongs to the rank's input and output columns, and
// unpacked. Columns that are not next to each other make one product for each pair of runs, added up in fp32; what is
// stored is rounded once. Machine code is made here, none while a run is under way.
#pragma once

#include <vector>

#include "backend/execute/cpu/attend_work.h"
#include "backend/execute/layer_parameters.h"
#include "kernels/gemm.h"

namespace spscope {

// A run of the weight's rows (input channels) and columns (output channels) that a rank multiplies by, and where they
// lie in its packed rows.
struct WeightPart {
  std::int64_t in_first = 0, depth = 0, in_at = 0;
  std::int64_t out_first = 0, columns = 0, out_at = 0;
};
// Parts for the members of two sets of columns, widths in elements of a column. Parts of equal `out_at` follow each
// other, the first with in_at 0.
std::vector<WeightPart> weight_parts(const SetTable& sets, SetId in_columns, std::int64_t in_width, SetId out_columns,
                                     std::int64_t out_width);

class GemmWork {
 public:
  // REQUIRES: an op of a contracting kernel with a weight. Throws Error: kPlanNotHeld, kUnavailable.
  GemmWork(const Plan& plan, const Request& request, CellFinder& finder, const Op& op, LayerParameters& parameters);

  void run(const HostMemory& memory, ComputeScratch& scratch) const;

 private:
  struct Chunk {
    std::vector<CellRun> in, out;
    std::int64_t tokens = 0;
    std::size_t first_gemm = 0;  // in the box's gemms, one for each part
  };
  struct BoxWork {
    std::int64_t in_columns = 0, out_columns = 0;
    std::vector<WeightPart> parts;
    std::vector<kernels::Gemm> gemms;
    std::vector<Chunk> chunks;
  };
  std::size_t find_gemms(BoxWork& box, std::int64_t tokens) const;
  void run_chunk(const HostMemory& memory, const BoxWork& box, const Chunk& chunk, int entry,
                 ComputeScratch& scratch) const;

  const ParameterMatrix& weight_;
  std::int64_t in_width_, out_width_;
  int batch_;
  std::vector<BoxWork> boxes_;
};

}  // namespace spscope
