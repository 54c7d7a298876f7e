// AttendTiles: one attend op of a plan as stretches of rows and keys, and which pairs of them are active: what the
// attention kernel of any device is given.
//
// The op's rows and keys are cut into stretches that lie inside one mask block and one buffer, next to each other in
// memory; these are the q blocks and k blocks that a kernel sees, read in place. (Online softmax does not care how keys
// are cut, so a block that two buffers share needs no gathering.) Active tiles are listed once per head, before any
// run, and serve all sequences, batch entries and repeats.
//
// Heads and sequences that find their rows and keys in the same buffers form a slab; usually there is one.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/execute/program/cells.h"
#include "backend/plan/request.h"

namespace spscope {

struct AttendTiles {
  // Rows of one block in one buffer of queries and one of the accumulator. Holders index Slab::holders.
  struct RowStretch {
    std::int32_t block, rows;
    std::int32_t q_holder, q_position, acc_holder, acc_position;
  };
  struct KeyStretch {
    std::int32_t block, rows, holder, position;
  };
  // Where a buffer holds the heads and sequences of a slab.
  struct Holder {
    BufferId buffer;
    std::vector<std::int32_t> column_position, sequence_position;
  };
  struct Slab {
    std::vector<std::int32_t> heads, sequences;
    std::vector<Holder> holders;
    std::vector<RowStretch> rows;
    std::vector<KeyStretch> keys;
    std::vector<std::int32_t> row_begin;             // [heads][rows + 1] offsets into the head's k_block
    std::vector<std::vector<std::int32_t>> k_block;  // by head: indices of `keys`, ascending in each row
  };

  // REQUIRES: an attend op. Throws Error(kPlanNotHeld) when its rank does not hold its rows or keys.
  AttendTiles(const Plan& plan, const Request& request, CellFinder& finder, const Op& op);

  // The cell of a holder's buffer, whose layout that is, at a position along the attended axis. `head` and `sequence`
  // are positions in the slab's lists.
  std::int64_t cell(const BufferLayout& layout, const Holder& holder, std::size_t head, std::size_t sequence,
                    std::int32_t position) const;

  AttendedAxis axis;
  std::vector<Slab> slabs;
};

}  // namespace spscope
