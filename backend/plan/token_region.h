// TokenRegion: a set of tokens of the grid [outer][inner] in canonical form: equal sets have equal forms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/plan/box.h"

namespace spscope {

class TokenRegion {
 public:
  TokenRegion() = default;
  // All tokens of the boxes; their columns do not matter.
  TokenRegion(SetTable& sets, std::span<const Box> boxes);

  bool empty() const { return rows_.empty(); }
  void unite(SetTable& sets, const TokenRegion& other);
  TokenRegion both(SetTable& sets, const TokenRegion& other) const;
  // Mixes the tokens into a hash, by content: equal regions of any two tables mix alike.
  std::uint64_t mix_into(std::uint64_t hash, const SetTable& sets) const;

 private:
  // These outer positions have these inner tokens. Different rows have disjoint outer and different inner sets, and
  // follow each other by their first outer position.
  struct Row {
    SetId outer, inner;
  };
  void add(SetTable& sets, Row row);
  void normalise(SetTable& sets);

  std::vector<Row> rows_;
};

}  // namespace spscope
