// SetTable: interned sets of indices of one axis (tokens, heads, channels).
//
// A set is a sorted list of disjoint, non-adjacent spans, identified by an id; equal sets have equal ids, so that
// equality is one comparison and every operation can be memoised by the ids of its operands. All plans of a request
// share one table. Const members may be called from several threads while no thread calls a non-const one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/base/flat_map.h"
#include "backend/base/span_of_axis.h"

namespace spscope {

enum class SetId : std::int32_t {};
inline constexpr SetId kEmptySet{0};

class SetTable {
 public:
  SetTable();

  // Spans in any order; overlapping and adjacent ones are joined, empty ones dropped.
  SetId of(std::vector<Span> spans);
  SetId span(std::int32_t begin, std::int32_t end);
  SetId indices(std::span<const std::int32_t> indices);

  std::span<const Span> spans(SetId id) const {
    const Row& row = rows_[static_cast<std::size_t>(id)];
    return {pool_.data() + row.begin, static_cast<std::size_t>(row.count)};
  }
  std::int64_t size(SetId id) const { return rows_[static_cast<std::size_t>(id)].size; }
  int num_sets() const { return static_cast<int>(rows_.size()); }
  bool has(SetId id) const { return static_cast<int>(id) >= 0 && static_cast<int>(id) < num_sets(); }

  SetId both(SetId a, SetId b);   // intersection
  SetId minus(SetId a, SetId b);  // difference
  SetId unite(std::span<const SetId> ids);
  bool within(SetId a, SetId b) { return both(a, b) == a; }
  // The indices at positions [from, to) of the set.
  SetId slice(SetId id, std::int64_t from, std::int64_t to);
  // The set, of size m, in `parts` pieces whose sizes differ by at most one:
  // piece j holds positions [m j / parts, m (j + 1) / parts).
  std::vector<SetId> even(SetId id, int parts);

 private:
  struct Row {
    std::int32_t begin, count;
    std::int64_t size;
    SetId next;  // another set with the same hash, kEmptySet at the end
  };
  SetId intern(std::span<const Span> spans);

  std::vector<Span> pool_, scratch_;
  std::vector<Row> rows_;
  FlatMap<SetId> by_hash_, both_, minus_, unite_;
  std::vector<SetId> unite_lists_;  // operands of memoised unions: count, ids, result
};

// Members of a set, ascending.
std::vector<std::int32_t> members(const SetTable& sets, SetId set);

}  // namespace spscope
