#include "backend/execute/cuda/attend_pieces.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

#include "backend/base/ids.h"

namespace spscope::cuda {
namespace {

namespace kc = kernels::cuda;

// Of a kernel of fewer rows, against the one of most: it reads each tile of keys more often from the second-level
// cache, which is what it then waits for (docs/gpu-check.md).
constexpr double kRateOfFewRows = 0.8;

// Neighbouring stretches of rows of a head that meet the same keys and lie next to each other in memory, as in dense
// parts of a mask: one stretch for the kernel.
struct JoinedRows {
  std::int32_t rows, q_holder, q_position, acc_holder, acc_position;
  std::size_t list;  // the stretch whose list of keys all of them have
};

std::vector<JoinedRows> join_rows(const AttendTiles::Slab& slab, std::size_t head) {
  const std::int32_t* const row_begin = slab.row_begin.data() + head * (slab.rows.size() + 1);
  const auto keys_of = [&](std::size_t row) {
    return std::span(slab.k_block[head]).subspan(at(row_begin[row]), at(row_begin[row + 1] - row_begin[row]));
  };
  std::vector<JoinedRows> joined;
  for (std::size_t r = 0; r < slab.rows.size(); ++r) {
    const AttendTiles::RowStretch& row = slab.rows[r];
    if (!joined.empty()) {
      JoinedRows& last = joined.back();
      if (row.q_holder == last.q_holder && row.acc_holder == last.acc_holder &&
          row.q_position == last.q_position + last.rows && row.acc_position == last.acc_position + last.rows &&
          std::ranges::equal(keys_of(r), keys_of(last.list))) {
        last.rows += row.rows;
        continue;
      }
    }
    joined.push_back({row.rows, row.q_holder, row.q_position, row.acc_holder, row.acc_position, r});
  }
  return joined;
}

std::int64_t num_keys_of(const AttendTiles::Slab& slab, std::size_t head, std::size_t list) {
  const std::int32_t* const row_begin = slab.row_begin.data() + head * (slab.rows.size() + 1);
  std::int64_t num_keys = 0;
  for (std::int32_t t = row_begin[list]; t < row_begin[list + 1]; ++t)
    num_keys += slab.keys[at(slab.k_block[head][at(t)])].rows;
  return num_keys;
}

// Pairs that a kernel computes, those of rows that its last block of a stretch does not have among them.
std::int64_t executed_pairs(const AttendTiles& tiles, std::int32_t rows_per_block) {
  std::int64_t pairs = 0;
  for (const AttendTiles::Slab& slab : tiles.slabs)
    for (std::size_t head = 0; head < slab.heads.size(); ++head)
      for (const JoinedRows& rows : join_rows(slab, head)) {
        const std::int64_t blocks = (rows.rows + rows_per_block - 1) / rows_per_block;
        pairs += blocks * rows_per_block * num_keys_of(slab, head, rows.list);
      }
  return pairs;
}

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
  void add_rows(const AttendTiles::Slab& slab, const std::vector<JoinedRows>& joined, const Where& where,
                std::int64_t first_tile);
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

void Pieces::add_rows(const AttendTiles::Slab& slab, const std::vector<JoinedRows>& joined, const Where& where,
                      std::int64_t first_tile) {
  const auto first_key = static_cast<std::int64_t>(keys.size());
  const std::int32_t* const row_begin = slab.row_begin.data() + where.head * (slab.rows.size() + 1);
  for (const JoinedRows& row : joined) {
    const AttendTiles::Holder &q = slab.holders[at(row.q_holder)], &acc = slab.holders[at(row.acc_holder)];
    const std::int64_t num_keys = num_keys_of(slab, where.head, row.list);
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
      piece.tile_begin = first_tile + row_begin[row.list];
      piece.num_tiles = row_begin[row.list + 1] - row_begin[row.list];
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
    const std::vector<JoinedRows> joined = join_rows(slab, head);
    tiles.insert(tiles.end(), slab.k_block[head].begin(), slab.k_block[head].end());
    for (int entry = 0; entry < batch_; ++entry)
      for (std::size_t sequence = 0; sequence < slab.sequences.size(); ++sequence) {
        const Where where{head, sequence, entry};
        groups_.push_back(rows.size());
        add_rows(slab, joined, where, first_tile);
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
  const int head_dim = plan.tensor_width[static_cast<int>(Tensor::kQ)];
  const auto choose = [&](std::int32_t rows) {
    return kc::choose_attend(plan.dtype, head_dim, rows, gpu.compute_capability());
  };
  const kc::AttendChoice few = choose(1), most = choose(std::numeric_limits<std::int32_t>::max());
  const bool takes_few = static_cast<double>(executed_pairs(*op.tiles, few.rows_per_block)) <
                         kRateOfFewRows * static_cast<double>(executed_pairs(*op.tiles, most.rows_per_block));
  const kc::AttendChoice& choice = takes_few ? few : most;
  const Pieces pieces(plan, op, slots, choice.rows_per_block, kTailOfSm * gpu.num_sms);
  const auto count = static_cast<std::int32_t>(pieces.rows.size());
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  return {
      choice.kernel, static_cast<unsigned>(count),
      kc::Attend{table.add(pieces.rows), table.add(pieces.keys), table.add(pieces.tiles), count, head_dim, scale, 0}};
}

}  // namespace spscope::cuda
