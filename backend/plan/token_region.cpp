#include "backend/plan/token_region.h"

#include <algorithm>
#include <map>

namespace spscope {

TokenRegion::TokenRegion(SetTable& sets, std::span<const Box> boxes) {
  std::map<SetId, std::vector<SetId>> inner_of;  // by outer set: most plans have one, and then one union is all
  for (const Box& box : boxes)
    if (box.outer != kEmptySet && box.inner != kEmptySet) inner_of[box.outer].push_back(box.inner);
  for (const auto& [outer, inner] : inner_of) add(sets, {outer, sets.unite(inner)});
  normalise(sets);
}

// Splits the rows that share outer positions with the new one.
void TokenRegion::add(SetTable& sets, Row row) {
  std::vector<Row> rows;
  for (const Row& old : rows_) {
    const SetId shared = sets.both(old.outer, row.outer);
    if (const SetId rest = sets.minus(old.outer, shared); rest != kEmptySet) rows.push_back({rest, old.inner});
    if (shared != kEmptySet) rows.push_back({shared, sets.unite(std::vector{old.inner, row.inner})});
    row.outer = sets.minus(row.outer, shared);
  }
  if (row.outer != kEmptySet && row.inner != kEmptySet) rows.push_back(row);
  rows_ = std::move(rows);
}

void TokenRegion::normalise(SetTable& sets) {
  std::map<SetId, std::vector<SetId>> outer_of;  // by inner set
  for (const Row& row : rows_) outer_of[row.inner].push_back(row.outer);
  rows_.clear();
  for (const auto& [inner, outer] : outer_of) rows_.push_back({sets.unite(outer), inner});
  std::ranges::sort(rows_, {}, [&](const Row& row) { return sets.spans(row.outer).front().begin; });
}

void TokenRegion::unite(SetTable& sets, const TokenRegion& other) {
  for (const Row& row : other.rows_) add(sets, row);
  normalise(sets);
}

TokenRegion TokenRegion::both(SetTable& sets, const TokenRegion& other) const {
  TokenRegion result;
  for (const Row& a : rows_)
    for (const Row& b : other.rows_) {
      const Row row{sets.both(a.outer, b.outer), sets.both(a.inner, b.inner)};
      if (row.outer != kEmptySet && row.inner != kEmptySet) result.rows_.push_back(row);
    }
  result.normalise(sets);
  return result;
}

std::uint64_t TokenRegion::mix_into(std::uint64_t hash, const SetTable& sets) const {
  hash = hash_mix(hash, rows_.size());
  for (const Row& row : rows_)
    for (SetId id : {row.outer, row.inner}) {
      const auto spans = sets.spans(id);
      hash = hash_mix(hash, spans.size());
      for (const Span& s : spans)
        hash = hash_mix(hash, static_cast<std::uint64_t>(s.begin) << 32 | static_cast<std::uint32_t>(s.end));
    }
  return hash;
}

}  // namespace spscope
