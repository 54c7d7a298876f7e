// Rotary position embedding: by which angles the pairs of channels of q and k are turned at each token of the grid.
//
// Channels (2i, 2i + 1) of a part of p channels are turned by position x 10000^(-2i / p). Parts of a head of D
// channels:
//   RotaryForm::kVideo   frame: the rest, row: 2 (D / 6), column: 2 (D / 6), as in Wan; text tokens are not turned
//   RotaryForm::kFrame   row: the rest, column: 2 (D / 4)
//   RotaryForm::kFrames  the outer index: all
// The last channel of an odd D is not turned.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/plan/layer_kernels.h"

namespace spscope {

class RotaryTable {
 public:
  // A token's position along each part; kNone: it is not turned.
  using Position = std::array<std::int32_t, 3>;

  // REQUIRES: the request's grid holds its video tokens.
  RotaryTable(const Request& request, RotaryForm form);

  Position position(std::int32_t outer, std::int32_t inner) const;
  // Cosine and sine, each [positions][head_dim / 2].
  void angles(std::span<const Position> positions, std::span<float> cosine, std::span<float> sine) const;

 private:
  struct Part {
    std::int32_t pairs = 0;
    std::vector<float> cosine, sine;  // [positions][pairs]
  };
  void add_part(int pairs, std::int32_t positions);

  RotaryForm form_;
  std::int32_t video_begin_, video_end_, rows_, columns_;
  std::vector<Part> parts_;
};

}  // namespace spscope
