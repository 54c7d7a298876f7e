#include "backend/mask/tile_order.h"

#include <algorithm>

namespace spscope {

TileOrder tile_order(std::array<int, 3> grid, std::array<int, 3> tile) {
  TileOrder order;
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t begin = 0; begin < grid[axis]; begin += tile[axis]) {
      order.sizes[axis].push_back(static_cast<std::int32_t>(std::min<std::int64_t>(tile[axis], grid[axis] - begin)));
    }
  }
  order.starts.push_back(0);
  for (std::int32_t frames : order.sizes[0]) {
    for (std::int32_t height : order.sizes[1]) {
      for (std::int32_t width : order.sizes[2]) order.starts.push_back(order.starts.back() + frames * height * width);
    }
  }
  return order;
}

std::int64_t num_tiles(std::array<int, 3> grid, std::array<int, 3> tile) {
  std::int64_t tiles = 1;
  for (int axis = 0; axis < 3; ++axis) tiles *= (std::int64_t{grid[axis]} + tile[axis] - 1) / tile[axis];
  return tiles;
}

// Along an axis there are whole tiles and at most one smaller tile: eight kinds of tiles.
std::int64_t num_tile_blocks(std::array<int, 3> grid, std::array<int, 3> tile, int block) {
  std::int64_t blocks = 0;
  for (int kind = 0; kind < 8; ++kind) {
    std::int64_t tiles = 1, tokens = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const bool last = (kind >> axis & 1) != 0;
      tiles *= last ? static_cast<int>(grid[axis] % tile[axis] != 0) : grid[axis] / tile[axis];
      tokens *= last ? grid[axis] % tile[axis] : tile[axis];
    }
    if (tiles > 0) blocks += tiles * ((tokens + block - 1) / block);
  }
  return blocks;
}

}  // namespace spscope
