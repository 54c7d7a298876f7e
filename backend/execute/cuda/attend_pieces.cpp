#include "backend/execute/cuda/attend_pieces.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "backend/base/ids.h"

namespace spscope::cuda {
namespace {

namespace kc = kernels::cuda;

// Pieces an SM whose order is by length alone: twice those that are resident at once, of which there are up to 4.
constexpr int kTailOfSm = 8;

// The arrays of one launch.
class Pieces {
 public:
  Pieces(const Plan& plan, const OpPlan& op, const DeviceSlots& slots, std::int32_t rows_per_block, int tail)
      : tiles_of_(*op.tiles),
        op_(op),
        slots_(slots),
        head_dim_(plan.tensor_width[static_cast<int>(Tensor::kQ)]),
        batch_(plan.batch),
        rows_per_block_(rows_per_block) {
    for (const AttendTiles::Slab& slab : tiles_of_.slabs) add(slab);
    sort(static_cast<std::size_t>(tail));
  }

  std::vector<kc::AttendRows> rows;
  std::vector<kc::AttendKeys> keys;
  std::vector<std::int32_t> tiles;

 private:
  // One head, sequence and batch entry of a slab, as positions.
  struct Where {
    std::size_t head, sequence;
    int entry;
  };
  void add(const AttendTiles::Slab& slab);
  void add_keys(const AttendTiles::Slab& slab, const Where& where);
  void add_rows(const AttendTiles::Slab& slab, const Where& where, std::int64_t first_tile);
  void sort(std::size_t tail);
  const BufferLayout& layout_of(const AttendTiles::Holder& holder) const {
    return slots_.layout().buffer(holder.buffer);
  }
  void* address(const AttendTiles::Holder& holder, BufferId buffer, const Where& where, std::size_t plane,
                std::int32_t position) const {
    const std::int64_t cell =
        tiles_of_.cell(slots_.layout().buffer(buffer), holder, where.head, where.sequence, position);
    return reinterpret_cast<void*>(slots_.address(buffer, plane, where.entry, cell));
  }
  std::int64_t row_stride(BufferId buffer) const {
    return slots_.layout().buffer(buffer).stride(tiles_of_.axis) * head_dim_;
  }
  // The buffer of the result that holds the same box as one of the accumulator.
  BufferId result_of(BufferId accumulator) const {
    const MemoryLayout& layout = slots_.layout();
    return layout.slot(op_.epilogue->result).first_buffer + accumulator -
           layout.slot(op_.epilogue->accumulator).first_buffer;
  }

  const AttendTiles& tiles_of_;
  const OpPlan& op_;
  const DeviceSlots& slots_;
  const int head_dim_, batch_;
  const std::int32_t rows_per_block_;
  std::vector<std::int64_t> num_keys_;  // by piece: that its rows meet
  std::vector<std::size_t> groups_;     // the first piece of each head and sequence, in order
};

void Pieces::add_keys(const AttendTiles::Slab& slab, const Where& where) {
  for (const AttendTiles::KeyStretch& key : slab.keys) {
    const AttendTiles::Holder& holder = slab.holders[at(key.holder)];
    keys.push_back({address(holder, holder.buffer, where, 0, key.position),
                    address(holder, holder.buffer, where, 1, key.position), row_stride(holder.buffer), key.rows, 0});
  }
}

void Pieces::add_rows(const AttendTiles::Slab& slab, const Where& where, std::int64_t first_tile) {
  const auto first_key = static_cast<std::int64_t>(keys.size());
  const std::int32_t* const row_begin = slab.row_begin.data() + where.head * (slab.rows.size() + 1);
  for (std::size_t r = 0; r < slab.rows.size(); ++r) {
    const AttendTiles::RowStretch& row = slab.rows[r];
    const AttendTiles::Holder &q = slab.holders[at(row.q_holder)], &acc = slab.holders[at(row.acc_holder)];
    std::int64_t num_keys = 0;
    for (std::int32_t t = row_begin[r]; t < row_begin[r + 1]; ++t)
      num_keys += slab.keys[at(slab.k_block[where.head][at(t)])].rows;
    for (std::int32_t first = 0; first < row.rows; first += rows_per_block_) {
      kc::AttendRows piece{};
      piece.q = address(q, q.buffer, where, 0, row.q_position + first);
      piece.q_stride = row_stride(q.buffer);
      if (op_.epilogue != nullptr) {
        const BufferId result = result_of(acc.buffer);
        piece.finished = address(acc, result, where, 0, row.acc_position + first);
        piece.finished_stride = row_stride(result);
      } else {
        const auto floats = [&](std::size_t plane) {
          return static_cast<float*>(address(acc, acc.buffer, where, plane, row.acc_position + first));
        };
        piece.out = floats(0), piece.row_max = floats(1), piece.row_sum = floats(2);
        piece.out_stride = row_stride(acc.buffer);
      }
      piece.first_key = first_key;
      piece.tile_begin = first_tile + row_begin[r];
      piece.num_tiles = row_begin[r + 1] - row_begin[r];
      piece.rows = std::min(rows_per_block_, row.rows - first);
      piece.fresh = op_.fresh || op_.epilogue != nullptr ? 1 : 0;
      rows.push_back(piece);
      num_keys_.push_back(num_keys);
    }
  }
}

void Pieces::add(const AttendTiles::Slab& slab) {
  for (std::size_t head = 0; head < slab.heads.size(); ++head) {
    const auto first_tile = static_cast<std::int64_t>(tiles.size());
    tiles.insert(tiles.end(), slab.k_block[head].begin(), slab.k_block[head].end());
    for (int entry = 0; entry < batch_; ++entry)
      for (std::size_t sequence = 0; sequence < slab.sequences.size(); ++sequence) {
        const Where where{head, sequence, entry};
        groups_.push_back(rows.size());
        add_rows(slab, where, first_tile);
        add_keys(slab, where);
      }
  }
}

void Pieces::sort(std::size_t tail) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto longest_first = [&](std::size_t begin, std::size_t end) {
    std::ranges::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
                             order.begin() + static_cast<std::ptrdiff_t>(end), std::greater(),
                             [&](std::size_t i) { return num_keys_[i] * rows[i].rows; });
  };
  for (std::size_t i = 0; i < groups_.size(); ++i)
    longest_first(groups_[i], i + 1 < groups_.size() ? groups_[i + 1] : rows.size());
  longest_first(rows.size() - std::min(tail, rows.size()), rows.size());
  std::vector<kc::AttendRows> sorted;
  for (const std::size_t i : order) sorted.push_back(rows[i]);
  rows = std::move(sorted);
}

}  // namespace

Launch make_attend(const Plan& plan, const OpPlan& op, const DeviceSlots& slots, const GpuFacts& gpu,
                   LaunchTable& table) {
  std::int32_t longest = 1;
  for (const AttendTiles::Slab& slab : op.tiles->slabs)
    for (const AttendTiles::RowStretch& row : slab.rows) longest = std::max(longest, row.rows);
  const int head_dim = plan.tensor_width[static_cast<int>(Tensor::kQ)];
  const kc::AttendChoice choice = kc::choose_attend(plan.dtype, head_dim, longest, gpu.compute_capability());
  const Pieces pieces(plan, op, slots, choice.rows_per_block, kTailOfSm * gpu.num_sms);
  const auto count = static_cast<std::int32_t>(pieces.rows.size());
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  return {
      choice.kernel, static_cast<unsigned>(count),
      kc::Attend{table.add(pieces.rows), table.add(pieces.keys), table.add(pieces.tiles), count, head_dim, scale, 0}};
}

}  // namespace spscope::cuda
