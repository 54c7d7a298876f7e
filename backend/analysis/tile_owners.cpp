#include "backend/analysis/tile_owners.h"

#include <algorithm>
#include <bit>
#include <map>

#include "backend/analysis/plan_figures.h"
#include "backend/base/ids.h"

namespace spscope {
namespace {

constexpr double kRounding = 1e-9;

// Forward passes of guidance are numbered by Value::layer, after the attentions of a layer.
int pass_of(const Plan& plan, const Accumulator& acc) {
  const auto attends = [&](AttendedAxis axis) {
    return std::ranges::any_of(plan.accumulators, [&](const Accumulator& a) { return a.axis == axis; });
  };
  const int attentions = attends(AttendedAxis::kOuter) && attends(AttendedAxis::kInner) ? 2 : 1;
  return plan.values[at(acc.q)].layer / attentions;
}

}  // namespace

TileOwners::TileOwners(const Plan& plan, AttendedAxis axis, std::span<const std::int32_t> block_starts)
    : starts_(block_starts.begin(), block_starts.end()), ranks_(plan.ranks) {
  const bool inner = axis == AttendedAxis::kInner;
  const double sequences = inner ? plan.outer_tokens : plan.inner_tokens;
  num_sequences_ = sequences * plan.batch;
  SetTable sets = *plan.sets;  // threads that look for owners share the plan, and new sets are made here
  const RowHomes homes = row_homes(plan, sets);
  std::map<SetId, std::int32_t> known;
  const auto cover_of = [&](SetId tokens) {
    const auto [found, is_new] = known.try_emplace(tokens, static_cast<std::int32_t>(covers_.size()));
    if (!is_new) return found->second;
    Cover& cover = covers_.emplace_back();
    for (const Span& span : sets.spans(tokens))
      for (std::int32_t b =
               static_cast<std::int32_t>(std::ranges::upper_bound(starts_, span.begin) - starts_.begin()) - 1;
           b < blocks() && starts_[at(b)] < span.end; ++b) {
        const double tokens_in = std::min(span.end, starts_[at(b + 1)]) - std::max(span.begin, starts_[at(b)]);
        const double part = tokens_in / (starts_[at(b + 1)] - starts_[at(b)]);
        if (!cover.empty() && cover.back().block == b)
          cover.back().part += part;
        else
          cover.push_back({b, part});
      }
    return found->second;
  };
  for (OpId id = 0; at(id) < plan.ops.size(); ++id) {
    const Op& op = plan.ops[at(id)];
    if (plan.kind_of(op) != PostKind::kAttend) continue;
    const Accumulator& acc = plan.accumulators[at(plan.post_of(op).acc)];
    if (acc.axis != axis || pass_of(plan, acc) != 0) continue;
    const SetId moved = homes.axis == axis ? sets.minus(op.q, homes.home[at(op.rank)]) : kEmptySet;
    attends_.push_back({id, op.rank, plan.post_of(op).ring_step, op.heads, cover_of(op.q), cover_of(op.k),
                        cover_of(moved), static_cast<double>(sets.size(op.seq)) / sequences});
    heads_.resize(std::max(heads_.size(), at(static_cast<std::int32_t>(op.heads)) + 1));
    std::vector<Span>& heads = heads_[static_cast<std::size_t>(op.heads)];
    if (heads.empty()) heads.assign(sets.spans(op.heads).begin(), sets.spans(op.heads).end());
  }
}

bool TileOwners::has_head(const Attend& attend, int head) const {
  return std::ranges::any_of(heads_[static_cast<std::size_t>(attend.heads)],
                             [&](const Span& span) { return span.begin <= head && head < span.end; });
}

std::vector<TileOwner> TileOwners::owners(int head, std::int32_t q_block, std::int32_t k_block) const {
  const auto part = [&](std::int32_t cover, std::int32_t block) {
    const Cover& shares = covers_[at(cover)];
    const auto found = std::ranges::lower_bound(shares, block, {}, &Share::block);
    return found != shares.end() && found->block == block ? found->part : 0;
  };
  std::vector<TileOwner> list;
  for (const Attend& a : attends_) {
    if (!has_head(a, head)) continue;
    const double keys = part(a.k, k_block) * a.sequences, area = part(a.q, q_block) * keys;
    if (area > 0) list.push_back({a.op, a.rank, a.ring_step, area, part(a.moved, q_block) * keys});
  }
  return list;
}

HeadOwners TileOwners::of_head(int head) const {
  HeadOwners owners;
  owners.blocks = blocks();
  const std::size_t tiles = at(owners.blocks) * at(owners.blocks);
  owners.op.assign(tiles, kNone);
  owners.marks.assign(tiles, 0);
  std::vector<float> most(tiles, 0), sum(tiles, 0);
  std::vector<double> moved_of_row(at(owners.blocks), 0);
  for (const Attend& a : attends_) {
    if (!has_head(a, head)) continue;
    for (const Share& share : covers_[at(a.moved)]) moved_of_row[at(share.block)] = share.part;
    for (const Share& row : covers_[at(a.q)])
      for (const Share& key : covers_[at(a.k)]) {
        const std::size_t tile = owners.index(row.block, key.block);
        const auto area = static_cast<float>(row.part * key.part * a.sequences);
        std::uint8_t& marks = owners.marks[tile];
        if (owners.op[tile] != kNone) marks |= HeadOwners::kShared;
        sum[tile] += area;
        if (sum[tile] > 1 + 1e-4F) marks |= HeadOwners::kRedundant;
        if (owners.op[tile] != kNone && area <= most[tile] * (1 + 1e-6F)) continue;
        most[tile] = area;
        owners.op[tile] = a.op;
        const bool moved = moved_of_row[at(row.block)] * 2 > row.part * (1 + kRounding);
        marks = static_cast<std::uint8_t>(moved ? marks | HeadOwners::kMoved : marks & ~HeadOwners::kMoved);
      }
    for (const Share& share : covers_[at(a.moved)]) moved_of_row[at(share.block)] = 0;
  }
  return owners;
}

std::vector<int> TileOwners::ranks(int head) const {
  std::vector<int> ranks;
  for (const Attend& a : attends_)
    if (has_head(a, head)) ranks.push_back(a.rank);
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<std::int32_t> TileOwners::ranks_of_head(int head) const {
  std::vector<const Attend*> attends;
  for (const Attend& a : attends_)
    if (has_head(a, head)) attends.push_back(&a);
  std::ranges::stable_sort(attends, {}, &Attend::rank);
  const std::size_t tiles = at(blocks()) * at(blocks());
  std::vector<std::int32_t> ranks(tiles, kNone);
  std::vector<float> most(tiles, 0), sum(tiles, 0), of_rank(tiles, 0);
  for (std::size_t i = 0; i < attends.size(); ++i) {
    const Attend& a = *attends[i];
    for (const Share& row : covers_[at(a.q)])
      for (const Share& key : covers_[at(a.k)])
        of_rank[at(row.block) * at(blocks()) + at(key.block)] += static_cast<float>(row.part * key.part * a.sequences);
    if (i + 1 < attends.size() && attends[i + 1]->rank == a.rank) continue;
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      sum[tile] += of_rank[tile];
      if (of_rank[tile] > most[tile] * (1 + 1e-4F)) most[tile] = of_rank[tile], ranks[tile] = a.rank;
      of_rank[tile] = 0;
    }
  }
  for (std::size_t tile = 0; tile < tiles; ++tile)
    if (ranks[tile] != kNone && most[tile] * 2 <= sum[tile] * (1 + 1e-4F)) ranks[tile] = kSeveralRanks;
  return ranks;
}

std::vector<double> TileOwners::tiles_by_rank(const BlockMask& mask, int head) const {
  std::vector<double> tiles(at(ranks_), 0);
  for (const Attend& a : attends_) {
    if (!has_head(a, head)) continue;
    for (const Share& row : covers_[at(a.q)]) {
      double keys = 0;
      for (const Share& key : covers_[at(a.k)])
        if (mask.active(head, row.block, key.block)) keys += key.part;
      tiles[at(a.rank)] += row.part * keys * a.sequences * num_sequences_;
    }
  }
  return tiles;
}

OpTiles TileOwners::tiles_of(OpId op) const {
  OpTiles tiles;
  const auto found = std::ranges::lower_bound(attends_, op, {}, &Attend::op);
  if (found == attends_.end() || found->op != op) return tiles;
  tiles.heads = heads_[static_cast<std::size_t>(found->heads)];
  for (const Share& share : covers_[at(found->q)]) tiles.q_blocks.push_back(share.block);
  for (const Share& share : covers_[at(found->k)]) tiles.k_blocks.push_back(share.block);
  return tiles;
}

TileSummary tile_summary(const TileOwners& owners, const BlockMask& mask) {
  TileSummary summary;
  for (int head = 0; head < mask.heads(); ++head) {
    const std::vector<double> tiles = owners.tiles_by_rank(mask, head);
    summary.tiles_by_rank.resize(tiles.size(), 0);
    for (std::size_t r = 0; r < tiles.size(); ++r) summary.tiles_by_rank[r] += tiles[r];
    const HeadOwners of_head = owners.of_head(head);
    for (std::int32_t q = 0; q < of_head.blocks; ++q)
      for (std::int32_t k = 0; k < of_head.blocks; ++k) {
        if (!mask.active(head, q, k)) continue;
        const std::uint8_t marks = of_head.marks[of_head.index(q, k)];
        ++summary.active;
        summary.shared += (marks & HeadOwners::kShared) != 0;
        summary.redundant += (marks & HeadOwners::kRedundant) != 0;
        summary.moved += (marks & HeadOwners::kMoved) != 0;
      }
  }
  return summary;
}

HeadLoads head_loads(const BlockMask& mask, int head) {
  HeadLoads loads;
  loads.rows.assign(at(mask.coarse_blocks()), 0);
  loads.columns.assign(at(mask.coarse_blocks()), 0);
  for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q) {
    const std::span<const std::uint64_t> row = mask.row(head, q);
    for (std::size_t word = 0; word < row.size(); ++word)
      for (std::uint64_t bits = row[word]; bits != 0; bits &= bits - 1) {
        ++loads.rows[at(q)];
        ++loads.columns[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      }
  }
  return loads;
}

}  // namespace spscope
