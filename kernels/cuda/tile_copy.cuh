// Rows from global memory into a swizzled tile of shared memory (attend_shape.h). What lies beyond the rows or beyond
// the head dim becomes 0: zeros add nothing to products, and there is no NaN for a weight of 0 to meet.
#pragma once

#include "kernels/cuda/attend_shape.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"

namespace spscope::kernels::cuda {

// All threads of the block copy kTileRows rows, of which `rows` are there. Whole chunks go asynchronously and belong to
// the thread's next group of copies; head dims that are no multiple of 8 have rows at odd addresses, which threads copy
// themselves, number by number. A caller treats both alike: it waits for the group and then for the block.
//
// A thread has a chunk column of every kStep-th row, so that its addresses differ by constants: kStep is a multiple of
// 8, and more chunks of the row lie a multiple of the swizzle's range apart.
template <class Shape, int kTileRows>
SPSCOPE_DEVICE void copy_tile(SharedAddress tile, const Bf16* data, std::int64_t stride, int rows, int head_dim) {
  constexpr int kLanes = Shape::kChunks % 8 == 0 ? 8 : 4, kStep = Shape::kThreads / kLanes;
  static_assert(Shape::kChunks % kLanes == 0 && kStep % 8 == 0 && kTileRows % kStep == 0);
  if (head_dim % 8 == 0) {
    const int row = thread_index() / kLanes, chunk = thread_index() % kLanes;
    const SharedAddress to = tile + Shape::offset(row, chunk);
    const auto copy = [&](auto there) {
      const Bf16* from = data + row * stride + chunk * 8;
      SPSCOPE_EACH (i, kTileRows / kStep) {
        SPSCOPE_EACH (j, Shape::kChunks / kLanes)
          copy_async(to + i * kStep * Shape::kRowBytes + j * kLanes * 16, from + j * kLanes * 8, there(i, j) ? 16 : 0);
        from += kStep * stride;
      }
    };
    if (rows == kTileRows && head_dim == Shape::kDim)
      copy([](int, int) { return true; });
    else
      copy([&](int i, int j) { return row + i * kStep < rows && (chunk + j * kLanes) * 8 < head_dim; });
    return;
  }
  SPSCOPE_ROLLED
  for (int at = thread_index(); at < kTileRows * Shape::kDim / 2; at += Shape::kThreads) {
    const int row = at / (Shape::kDim / 2), column = at % (Shape::kDim / 2) * 2;
    const Bf16* const from = data + row * stride + column;
    std::uint32_t pair = 0;
    if (row < rows && column < head_dim) pair = load_global(from).bits;
    if (row < rows && column + 1 < head_dim) pair |= static_cast<std::uint32_t>(load_global(from + 1).bits) << 16;
    store_shared(tile + Shape::offset(row, column / 8) + column % 8 * 2, pair);
  }
}

// The tiles of a piece's keys in the order that they are met: keys, values, keys, values and so on, each loaded into
// the next place of the ring. A stretch of keys is cut into tiles of kKeys rows; only the last one of a stretch is
// short.
//
// Where the tiles are is found in two steps, tiles[i] and then keys[...], which take as long as a tile's own loads. So
// threads look up kStretches of them at a time, side by side.
template <class Shape>
class KeyTiles {
 public:
  SPSCOPE_DEVICE explicit KeyTiles(const Attend& launch) : launch_(launch) {}

  // Keys of the tile that load_keys came to last; 0: there was none left.
  SPSCOPE_DEVICE int rows() const { return rows_; }

  // The tile that is computed on next: the oldest in the ring. Asked before the load that follows it.
  SPSCOPE_DEVICE SharedAddress next_keys() const { return place(kTwo ? 0 : next_place(loading_)); }
  SPSCOPE_DEVICE SharedAddress next_values() const { return place(kTwo ? 1 : next_place(loading_)); }

  // Begins to load the next keys, then their values, in turn; each is a group of copies, empty when nothing is left.
  // Whoever calls load_keys again has waited for the block since the values before.
  SPSCOPE_DEVICE void load_keys() {
    if (next_ == known_) look_up();
    rows_ = 0;
    if (next_ < known_) {
      const AttendKeys stretch = this->stretch();
      rows_ = stretch.rows - first_row_ < Shape::kKeys ? stretch.rows - first_row_ : Shape::kKeys;
      load(place(kTwo ? 0 : loading_), stretch.k, stretch.stride);
    }
    end_load();
  }
  SPSCOPE_DEVICE void load_values() {
    if (rows_ > 0) {
      const AttendKeys stretch = this->stretch();
      load(place(kTwo ? 1 : loading_), stretch.v, stretch.stride);
      first_row_ += Shape::kKeys;
      if (first_row_ >= stretch.rows) first_row_ = 0, ++next_;
    }
    end_load();
  }

 private:
  // In a ring of two keys and values have a place each.
  static constexpr bool kTwo = Shape::kRing == 2;

  SPSCOPE_DEVICE static SharedAddress stretches(int i) {
    return shared_begin() + i * static_cast<int>(sizeof(AttendKeys));
  }
  SPSCOPE_DEVICE AttendKeys stretch() const { return load_shared<AttendKeys>(stretches(next_ % Shape::kStretches)); }
  SPSCOPE_DEVICE static SharedAddress place(int at) { return shared_begin() + Shape::kTiles + at * Shape::kTileBytes; }

  SPSCOPE_DEVICE static int next_place(int at) { return at + 1 == Shape::kRing ? 0 : at + 1; }

  SPSCOPE_DEVICE void load(SharedAddress tile, const void* data, std::int64_t stride) const {
    copy_tile<Shape, Shape::kKeys>(tile, static_cast<const Bf16*>(data) + first_row_ * stride, stride, rows_,
                                   launch_.head_dim);
  }
  SPSCOPE_DEVICE void end_load() {
    loading_ = next_place(loading_);
    copy_async_commit();
  }

  // Reads again what it needs to know of the piece: kept, it would cost registers.
  SPSCOPE_DEVICE void look_up() {
    static_assert(sizeof(AttendKeys) * Shape::kStretches == Shape::kQueries);
    const AttendRows piece = load_global(launch_.rows + block_index());
    if (next_ == piece.num_tiles) return;
    const int end = next_ + Shape::kStretches < piece.num_tiles ? next_ + Shape::kStretches : piece.num_tiles;
    SPSCOPE_ROLLED
    for (int i = next_ + thread_index(); i < end; i += Shape::kThreads) {
      const std::int64_t index = piece.first_key + load_global(launch_.tiles + piece.tile_begin + i);
      store_shared(stretches(i % Shape::kStretches), load_global(launch_.keys + index));
    }
    known_ = end;
    sync_block();
  }

  const Attend& launch_;
  int known_ = 0, next_ = 0;  // stretches looked up, and the one to load from
  int first_row_ = 0, rows_ = 0;
  int loading_ = 0;
};

}  // namespace spscope::kernels::cuda
