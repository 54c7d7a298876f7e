#include "backend/execute/program/attend_tiles.h"

#include <algorithm>
#include <map>

#include "backend/base/error.h"
#include "backend/mask/block_mask.h"

namespace spscope {
namespace {

using Holder = AttendTiles::Holder;
using KeyStretch = AttendTiles::KeyStretch;
using RowStretch = AttendTiles::RowStretch;
using Slab = AttendTiles::Slab;

SetId sequences_of(const Box& box, AttendedAxis axis) { return axis == AttendedAxis::kInner ? box.outer : box.inner; }
SetId tokens_of(const Box& box, AttendedAxis axis) { return axis == AttendedAxis::kInner ? box.inner : box.outer; }

bool is_set(std::span<const std::uint64_t> row, std::int32_t bit) {
  return (row[static_cast<std::size_t>(bit) / 64] >> (static_cast<unsigned>(bit) % 64) & 1u) != 0;
}

// Cuts one op into slabs and stretches.
class Builder {
 public:
  Builder(const Plan& plan, const Request& request, CellFinder& finder, const Op& op, AttendedAxis axis)
      : plan_(plan), finder_(finder), op_(op), axis_(axis), mask_(request.executed_mask(axis).mask()) {
    const Post& post = plan.post_of(op);
    const Accumulator& acc = plan.accumulators[static_cast<std::size_t>(post.acc)];
    queries_ = finder.buffers_of_value(acc.q, op.rank);
    accumulators_ = finder.buffers_of_accumulator(post.acc, op.rank);
    keys_ = finder.buffers_of_value(post.src, op.rank);
  }

  std::vector<Slab> slabs();

 private:
  using Group = std::vector<std::int32_t>;  // heads or sequences with the same holders
  const Box& box(BufferId id) const { return finder_.layout().buffer(id).box; }
  std::vector<BufferId> all_buffers() const;
  std::map<std::vector<bool>, Group> group(SetId members_of_op, SetId Box::*set) const;
  void locate(Slab& slab) const;
  void cut_rows(Slab& slab) const;
  void cut_keys(Slab& slab) const;
  void list_tiles(Slab& slab) const;
  CellFinder::Place find_token(const Slab& slab, std::span<const BufferId> among, std::int32_t token,
                               std::int32_t& holder) const;
  std::int32_t end_of_block(std::int32_t token, std::int32_t& block) const;

  const Plan& plan_;
  CellFinder& finder_;
  const Op& op_;
  AttendedAxis axis_;
  const BlockMask& mask_;
  std::vector<BufferId> queries_, accumulators_, keys_;
};

std::vector<BufferId> Builder::all_buffers() const {
  std::vector<BufferId> all = queries_;
  all.insert(all.end(), accumulators_.begin(), accumulators_.end());
  all.insert(all.end(), keys_.begin(), keys_.end());
  return all;
}

// The op's heads or sequences by which buffers hold them.
std::map<std::vector<bool>, Builder::Group> Builder::group(SetId of_op, SetId Box::*set) const {
  std::map<std::vector<bool>, Group> groups;
  const std::vector<BufferId> all = all_buffers();
  for (std::int32_t i : members(*plan_.sets, of_op)) {
    std::vector<bool> held;
    for (BufferId b : all) held.push_back(finder_.place(box(b).*set, i).position >= 0);
    groups[held].push_back(i);
  }
  return groups;
}

std::vector<Slab> Builder::slabs() {
  const auto by_head = group(op_.heads, &Box::columns);
  const auto by_sequence = group(op_.seq, axis_ == AttendedAxis::kInner ? &Box::outer : &Box::inner);
  const std::vector<BufferId> all = all_buffers();
  std::vector<Slab> slabs;
  for (const auto& [holding_heads, heads] : by_head)
    for (const auto& [holding_sequences, sequences] : by_sequence) {
      Slab& slab = slabs.emplace_back();
      slab.heads = heads;
      slab.sequences = sequences;
      for (std::size_t b = 0; b < all.size(); ++b) {
        const bool known = std::ranges::any_of(slab.holders, [&](const Holder& h) { return h.buffer == all[b]; });
        if (holding_heads[b] && holding_sequences[b] && !known) slab.holders.push_back({all[b], {}, {}});
      }
      locate(slab);
      cut_rows(slab);
      cut_keys(slab);
      list_tiles(slab);
    }
  return slabs;
}

void Builder::locate(Slab& slab) const {
  for (Holder& holder : slab.holders) {
    for (std::int32_t head : slab.heads)
      holder.column_position.push_back(finder_.place(box(holder.buffer).columns, head).position);
    for (std::int32_t sequence : slab.sequences)
      holder.sequence_position.push_back(finder_.place(sequences_of(box(holder.buffer), axis_), sequence).position);
  }
}

CellFinder::Place Builder::find_token(const Slab& slab, std::span<const BufferId> among, std::int32_t token,
                                      std::int32_t& holder) const {
  for (std::size_t h = 0; h < slab.holders.size(); ++h) {
    if (std::ranges::find(among, slab.holders[h].buffer) == among.end()) continue;
    const CellFinder::Place place = finder_.place(tokens_of(box(slab.holders[h].buffer), axis_), token);
    if (place.position < 0) continue;
    holder = static_cast<std::int32_t>(h);
    return place;
  }
  throw Error(ErrorCode::kPlanNotHeld, "an attend op needs rows or keys that its rank does not hold");
}

std::int32_t Builder::end_of_block(std::int32_t token, std::int32_t& block) const {
  const auto starts = mask_.coarse_starts();
  const auto after = std::ranges::upper_bound(starts, token);
  block = static_cast<std::int32_t>(after - starts.begin()) - 1;
  return *after;
}

void Builder::cut_rows(Slab& slab) const {
  for (const Span& span : plan_.sets->spans(op_.q))
    for (std::int32_t token = span.begin; token < span.end;) {
      RowStretch s{};
      const std::int32_t block_end = end_of_block(token, s.block);
      const CellFinder::Place q = find_token(slab, queries_, token, s.q_holder);
      const CellFinder::Place acc = find_token(slab, accumulators_, token, s.acc_holder);
      s.rows = std::min({span.end, block_end, token + q.left, token + acc.left}) - token;
      s.q_position = q.position;
      s.acc_position = acc.position;
      token += s.rows;
      RowStretch* last = slab.rows.empty() ? nullptr : &slab.rows.back();
      const bool joins = last != nullptr && last->block == s.block && last->q_holder == s.q_holder &&
                         last->acc_holder == s.acc_holder && last->q_position + last->rows == s.q_position &&
                         last->acc_position + last->rows == s.acc_position;
      if (joins)
        last->rows += s.rows;
      else
        slab.rows.push_back(s);
    }
}

void Builder::cut_keys(Slab& slab) const {
  for (const Span& span : plan_.sets->spans(op_.k))
    for (std::int32_t token = span.begin; token < span.end;) {
      KeyStretch s{};
      const std::int32_t block_end = end_of_block(token, s.block);
      const CellFinder::Place place = find_token(slab, keys_, token, s.holder);
      s.rows = std::min({span.end, block_end, token + place.left}) - token;
      s.position = place.position;
      token += s.rows;
      KeyStretch* last = slab.keys.empty() ? nullptr : &slab.keys.back();
      const bool joins = last != nullptr && last->block == s.block && last->holder == s.holder &&
                         last->position + last->rows == s.position;
      if (joins)
        last->rows += s.rows;
      else
        slab.keys.push_back(s);
    }
}

void Builder::list_tiles(Slab& slab) const {
  slab.k_block.resize(slab.heads.size());
  for (std::size_t h = 0; h < slab.heads.size(); ++h) {
    std::vector<std::int32_t>& tiles = slab.k_block[h];
    slab.row_begin.push_back(0);
    for (const RowStretch& row : slab.rows) {
      const auto active = mask_.row(slab.heads[h], row.block);
      for (std::size_t k = 0; k < slab.keys.size(); ++k)
        if (is_set(active, slab.keys[k].block)) tiles.push_back(static_cast<std::int32_t>(k));
      slab.row_begin.push_back(static_cast<std::int32_t>(tiles.size()));
    }
    tiles.shrink_to_fit();
  }
}

}  // namespace

AttendTiles::AttendTiles(const Plan& plan, const Request& request, CellFinder& finder, const Op& op)
    : axis(plan.accumulators[static_cast<std::size_t>(plan.post_of(op).acc)].axis),
      slabs(Builder(plan, request, finder, op, axis).slabs()) {}

std::int64_t AttendTiles::cell(const BufferLayout& layout, const Holder& holder, std::size_t head, std::size_t sequence,
                               std::int32_t position) const {
  const std::int64_t sequence_stride = axis == AttendedAxis::kInner ? layout.outer_stride : layout.inner_stride;
  return holder.column_position[head] * layout.column_cells + holder.sequence_position[sequence] * sequence_stride +
         position * layout.stride(axis);
}

}  // namespace spscope
