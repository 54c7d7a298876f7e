// Who computes each tile of a layer pass: the ranks, their ring steps and attend ops, from the plan.
//
// An attend op covers heads x rows x keys of some sequences. Nothing is listed per tile until it is asked for: an op is
// kept as the blocks that its rows and keys touch, each with the share that they hold of it, and a view asks for one
// head at a time. A strategy may cut a block over ranks or ring steps (refined masks, rows cut inside a block,
// sequences dealt out): then a tile has several owners, each with the share of its area. The shares of an active tile
// add up to 1, to more where a part of it is computed several times (redundant), and an inactive tile may have owners
// too: nothing is computed there. A spatial-temporal layer has a mask for each axis; its sequences are the tokens of
// the other axis.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/mask/block_mask.h"
#include "backend/plan/plan.h"

namespace spscope {

struct TileOwner {
  OpId op = kNone;
  int rank = 0, ring_step = 0;
  double area = 0;   // share of the tile that it covers, over all sequences, 0 to 1
  double moved = 0;  // of `area`, in rows outside of the rank's home (row_homes in plan_figures.h)
};

// The owner of each tile of one head that covers most of it; of equal ones the lowest op. Row by row, blocks x blocks.
struct HeadOwners {
  enum Mark : std::uint8_t {
    kShared = 1,     // several ops cover parts of it
    kRedundant = 2,  // the shares add up to more than 1
    kMoved = 4,      // most of the area of `op` is in moved rows
  };
  std::int32_t blocks = 0;
  std::vector<OpId> op;  // kNone: nobody
  std::vector<std::uint8_t> marks;
  std::size_t index(std::int32_t q_block, std::int32_t k_block) const {
    return static_cast<std::size_t>(q_block) * static_cast<std::size_t>(blocks) + static_cast<std::size_t>(k_block);
  }
};

// The tiles that an op covers: every active one of these heads, rows and columns of blocks.
struct OpTiles {
  std::vector<Span> heads;
  std::vector<std::int32_t> q_blocks, k_blocks;  // ascending
};

class TileOwners {
 public:
  // `block_starts`: the cuts of the mask that is not refined (BlockMask::coarse_starts). Of a plan that runs several
  // passes of guidance at once, the first one counts: the others compute the same tiles of other samples.
  // REQUIRES: cuts of the tokens of that axis. Takes O(attend ops); keeps no reference to the plan.
  TileOwners(const Plan& plan, AttendedAxis axis, std::span<const std::int32_t> block_starts);

  std::int32_t blocks() const { return static_cast<std::int32_t>(starts_.size()) - 1; }
  // By op. REQUIRES: a head and blocks of the mask.
  std::vector<TileOwner> owners(int head, std::int32_t q_block, std::int32_t k_block) const;
  HeadOwners of_head(int head) const;
  // Those that attend a part of a head, ascending, whether its tiles are active or not.
  std::vector<int> ranks(int head) const;
  // The rank that computes most of each tile of a head, over all of its ops, row by row: kNone where nobody does, and
  // kSeveralRanks where none does more than half of it.
  static constexpr std::int32_t kSeveralRanks = -2;
  std::vector<std::int32_t> ranks_of_head(int head) const;
  // Active tiles of a head by rank, by area, times sequences and batch: sums over heads are RankUsage::tiles.
  // REQUIRES: a mask with these cuts.
  std::vector<double> tiles_by_rank(const BlockMask& mask, int head) const;
  // Nothing for an op that is no attend of this axis.
  OpTiles tiles_of(OpId op) const;

 private:
  struct Share {
    std::int32_t block;
    double part;  // of the tokens of the block
  };
  using Cover = std::vector<Share>;
  struct Attend {
    OpId op;
    int rank, ring_step;
    SetId heads;
    std::int32_t q, k, moved;  // in covers_
    double sequences;          // share of all
  };
  bool has_head(const Attend& attend, int head) const;

  std::vector<std::int32_t> starts_;
  int ranks_ = 0;
  double num_sequences_ = 1;  // x batch
  std::vector<Cover> covers_;
  std::vector<Attend> attends_;           // by op
  std::vector<std::vector<Span>> heads_;  // by SetId; empty for sets that are none of heads
};

// All heads of a mask: active tiles by rank (times sequences and batch, by area), how many there are, and of these how
// many have a mark.
struct TileSummary {
  std::vector<double> tiles_by_rank;
  std::int64_t active = 0, shared = 0, redundant = 0, moved = 0;
};
// Takes O(heads x blocks x blocks x owners of a tile). REQUIRES: a mask with the cuts of `owners`.
TileSummary tile_summary(const TileOwners& owners, const BlockMask& mask);

// Active tiles of each row and column of a head: what a row of queries costs, and how often keys are read.
struct HeadLoads {
  std::vector<std::int32_t> rows, columns;  // by q block, by k block
};
HeadLoads head_loads(const BlockMask& mask, int head);

}  // namespace spscope
