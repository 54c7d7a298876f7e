// Tokens of a video ordered tile by tile, so that a tile of neighbouring tokens is contiguous in the sequence, as in
// methods that sparsify by tiles. Tiles are in (frame, y, x) order, tokens inside a tile too. Tiles at the far borders
// are smaller when the tile does not divide the video; nothing is padded.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace spscope {

struct TileOrder {
  std::array<std::vector<std::int32_t>, 3> sizes;  // tokens of each tile along frames, height, width
  std::vector<std::int32_t> starts;                // first token of each tile, then the number of tokens

  int count(int axis) const { return static_cast<int>(sizes[axis].size()); }
  int tiles() const { return static_cast<int>(starts.size()) - 1; }
  // REQUIRES: indices below count(axis).
  int tile(int frame, int y, int x) const { return (frame * count(1) + y) * count(2) + x; }
};

// REQUIRES: positive extents and tiles, fewer than 2^31 tokens.
TileOrder tile_order(std::array<int, 3> grid, std::array<int, 3> tile);
// Tiles of a grid, and blocks when each tile is cut into blocks of `block` tokens, without making them.
std::int64_t num_tiles(std::array<int, 3> grid, std::array<int, 3> tile);
std::int64_t num_tile_blocks(std::array<int, 3> grid, std::array<int, 3> tile, int block);

}  // namespace spscope
