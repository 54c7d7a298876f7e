#include "backend/execute/cpu/attend_work.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "backend/base/error.h"
#include "backend/execute/cpu/token_chunks.h"
#include "backend/mask/block_mask.h"
#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

// Q blocks in one kernel call: enough that packing the keys again costs under a hundredth of the call, few enough that
// a call lasts seconds on the largest workloads, so that a rank shows that it is alive.
constexpr std::size_t kQueryBlocksPerCall = 128;

SetId sequences_of(const Box& box, AttendedAxis axis) { return axis == AttendedAxis::kInner ? box.outer : box.inner; }
SetId tokens_of(const Box& box, AttendedAxis axis) { return axis == AttendedAxis::kInner ? box.inner : box.outer; }

bool is_set(std::span<const std::uint64_t> row, std::int32_t bit) {
  return (row[static_cast<std::size_t>(bit) / 64] >> (static_cast<unsigned>(bit) % 64) & 1u) != 0;
}

}  // namespace

std::int64_t ComputeScratch::staging_bytes() const {
  std::int64_t bytes = attention.num_bytes() + gemm.num_bytes();
  bytes += static_cast<std::int64_t>(rounded.capacity() * sizeof(Bf16) + statistics.capacity() * sizeof(double) +
                                     row_state.capacity() * sizeof(float));
  for (const std::vector<float>& array : staging) bytes += static_cast<std::int64_t>(array.capacity() * sizeof(float));
  return bytes;
}

// Cuts one op into slabs and stretches.
class AttendWork::Builder {
 public:
  Builder(const Plan& plan, const Request& request, CellFinder& finder, const Op& op, AttendedAxis axis)
      : plan_(plan), finder_(finder), op_(op), axis_(axis), mask_(request.executed_mask(axis).mask()) {
    const Post& post = plan.post_of(op);
    const Accumulator& acc = plan.accumulators[static_cast<std::size_t>(post.acc)];
    queries_ = finder.buffers_of_value(acc.q, op.rank);
    accumulators_ = finder.buffers_of_accumulator(post.acc, op.rank);
    keys_ = finder.buffers_of_value(post.src, op.rank);
  }

  std::vector<Slab> slabs();

 private:
  using Group = std::vector<std::int32_t>;  // heads or sequences with the same holders
  const Box& box(BufferId id) const { return finder_.layout().buffer(id).box; }
  std::vector<BufferId> all_buffers() const;
  std::map<std::vector<bool>, Group> group(SetId members_of_op, SetId Box::*set) const;
  void locate(Slab& slab) const;
  void cut_rows(Slab& slab) const;
  void cut_keys(Slab& slab) const;
  void list_tiles(Slab& slab) const;
  CellFinder::Place find_token(const Slab& slab, std::span<const BufferId> among, std::int32_t token,
                               std::int32_t& holder) const;
  std::int32_t end_of_block(std::int32_t token, std::int32_t& block) const;

  const Plan& plan_;
  CellFinder& finder_;
  const Op& op_;
  AttendedAxis axis_;
  const BlockMask& mask_;
  std::vector<BufferId> queries_, accumulators_, keys_;
};

std::vector<BufferId> AttendWork::Builder::all_buffers() const {
  std::vector<BufferId> all = queries_;
  all.insert(all.end(), accumulators_.begin(), accumulators_.end());
  all.insert(all.end(), keys_.begin(), keys_.end());
  return all;
}

// The op's heads or sequences by which buffers hold them.
std::map<std::vector<bool>, AttendWork::Builder::Group> AttendWork::Builder::group(SetId of_op, SetId Box::*set) const {
  std::map<std::vector<bool>, Group> groups;
  const std::vector<BufferId> all = all_buffers();
  for (std::int32_t i : members(*plan_.sets, of_op)) {
    std::vector<bool> held;
    for (BufferId b : all) held.push_back(finder_.place(box(b).*set, i).position >= 0);
    groups[held].push_back(i);
  }
  return groups;
}

std::vector<AttendWork::Slab> AttendWork::Builder::slabs() {
  const auto by_head = group(op_.heads, &Box::columns);
  const auto by_sequence = group(op_.seq, axis_ == AttendedAxis::kInner ? &Box::outer : &Box::inner);
  const std::vector<BufferId> all = all_buffers();
  std::vector<Slab> slabs;
  for (const auto& [holding_heads, heads] : by_head)
    for (const auto& [holding_sequences, sequences] : by_sequence) {
      Slab& slab = slabs.emplace_back();
      slab.heads = heads;
      slab.sequences = sequences;
      for (std::size_t b = 0; b < all.size(); ++b) {
        const bool known = std::ranges::any_of(slab.holders, [&](const Holder& h) { return h.buffer == all[b]; });
        if (holding_heads[b] && holding_sequences[b] && !known) slab.holders.push_back({all[b], {}, {}});
      }
      locate(slab);
      cut_rows(slab);
      cut_keys(slab);
      list_tiles(slab);
    }
  return slabs;
}

void AttendWork::Builder::locate(Slab& slab) const {
  for (Holder& holder : slab.holders) {
    for (std::int32_t head : slab.heads)
      holder.column_position.push_back(finder_.place(box(holder.buffer).columns, head).position);
    for (std::int32_t sequence : slab.sequences)
      holder.sequence_position.push_back(finder_.place(sequences_of(box(holder.buffer), axis_), sequence).position);
  }
}

CellFinder::Place AttendWork::Builder::find_token(const Slab& slab, std::span<const BufferId> among, std::int32_t token,
                                                  std::int32_t& holder) const {
  for (std::size_t h = 0; h < slab.holders.size(); ++h) {
    if (std::ranges::find(among, slab.holders[h].buffer) == among.end()) continue;
    const CellFinder::Place place = finder_.place(tokens_of(box(slab.holders[h].buffer), axis_), token);
    if (place.position < 0) continue;
    holder = static_cast<std::int32_t>(h);
    return place;
  }
  throw Error(ErrorCode::kPlanNotHeld, "an attend op needs rows or keys that its rank does not hold");
}

std::int32_t AttendWork::Builder::end_of_block(std::int32_t token, std::int32_t& block) const {
  const auto starts = mask_.coarse_starts();
  const auto after = std::ranges::upper_bound(starts, token);
  block = static_cast<std::int32_t>(after - starts.begin()) - 1;
  return *after;
}

void AttendWork::Builder::cut_rows(Slab& slab) const {
  for (const Span& span : plan_.sets->spans(op_.q))
    for (std::int32_t token = span.begin; token < span.end;) {
      RowStretch s{};
      const std::int32_t block_end = end_of_block(token, s.block);
      const CellFinder::Place q = find_token(slab, queries_, token, s.q_holder);
      const CellFinder::Place acc = find_token(slab, accumulators_, token, s.acc_holder);
      s.rows = std::min({span.end, block_end, token + q.left, token + acc.left}) - token;
      s.q_position = q.position;
      s.acc_position = acc.position;
      token += s.rows;
      RowStretch* last = slab.rows.empty() ? nullptr : &slab.rows.back();
      const bool joins = last != nullptr && last->block == s.block && last->q_holder == s.q_holder &&
                         last->acc_holder == s.acc_holder && last->q_position + last->rows == s.q_position &&
                         last->acc_position + last->rows == s.acc_position;
      if (joins)
        last->rows += s.rows;
      else
        slab.rows.push_back(s);
    }
}

void AttendWork::Builder::cut_keys(Slab& slab) const {
  for (const Span& span : plan_.sets->spans(op_.k))
    for (std::int32_t token = span.begin; token < span.end;) {
      KeyStretch s{};
      const std::int32_t block_end = end_of_block(token, s.block);
      const CellFinder::Place place = find_token(slab, keys_, token, s.holder);
      s.rows = std::min({span.end, block_end, token + place.left}) - token;
      s.position = place.position;
      token += s.rows;
      KeyStretch* last = slab.keys.empty() ? nullptr : &slab.keys.back();
      const bool joins = last != nullptr && last->block == s.block && last->holder == s.holder &&
                         last->position + last->rows == s.position;
      if (joins)
        last->rows += s.rows;
      else
        slab.keys.push_back(s);
    }
}

void AttendWork::Builder::list_tiles(Slab& slab) const {
  slab.k_block.resize(slab.heads.size());
  for (std::size_t h = 0; h < slab.heads.size(); ++h) {
    std::vector<std::int32_t>& tiles = slab.k_block[h];
    slab.row_begin.push_back(0);
    for (const RowStretch& row : slab.rows) {
      const auto active = mask_.row(slab.heads[h], row.block);
      for (std::size_t k = 0; k < slab.keys.size(); ++k)
        if (is_set(active, slab.keys[k].block)) tiles.push_back(static_cast<std::int32_t>(k));
      slab.row_begin.push_back(static_cast<std::int32_t>(tiles.size()));
    }
    tiles.shrink_to_fit();
  }
}

AttendWork::AttendWork(const Plan& plan, const Request& request, CellFinder& finder, const Op& op)
    : axis_(plan.accumulators[static_cast<std::size_t>(plan.post_of(op).acc)].axis),
      dtype_(plan.dtype),
      head_dim_(plan.tensor_width[static_cast<int>(Tensor::kQ)]),
      batch_(plan.batch),
      scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim_)))),
      slabs_(Builder(plan, request, finder, op, axis_).slabs()) {}

std::int64_t AttendWork::num_tiles() const {
  std::int64_t n = 0;
  for (const Slab& slab : slabs_)
    for (const auto& tiles : slab.k_block)
      n += static_cast<std::int64_t>(tiles.size() * slab.sequences.size()) * batch_;
  return n;
}

void AttendWork::run(const HostMemory& memory, ComputeScratch& scratch) const {
  for (int entry = 0; entry < batch_; ++entry)
    for (const Slab& slab : slabs_)
      for (std::size_t head = 0; head < slab.heads.size(); ++head)
        for (std::size_t sequence = 0; sequence < slab.sequences.size(); ++sequence)
          attend_sequence(memory, slab, head, sequence, entry, scratch);
}

void AttendWork::attend_sequence(const HostMemory& memory, const Slab& slab, std::size_t head, std::size_t sequence,
                                 int entry, ComputeScratch& scratch) const {
  const auto stride = [&](std::int32_t holder) {
    return memory.layout().buffer(slab.holders[static_cast<std::size_t>(holder)].buffer).stride(axis_);
  };
  const auto address = [&](std::int32_t holder_index, std::size_t plane, std::int32_t position) {
    const Holder& holder = slab.holders[static_cast<std::size_t>(holder_index)];
    const BufferLayout& layout = memory.layout().buffer(holder.buffer);
    const std::int64_t sequence_stride = axis_ == AttendedAxis::kInner ? layout.outer_stride : layout.inner_stride;
    const std::int64_t cell = holder.column_position[head] * layout.column_cells +
                              holder.sequence_position[sequence] * sequence_stride + position * layout.stride(axis_);
    return memory.address(holder.buffer, plane, entry, cell);
  };
  scratch.q.clear();
  scratch.k.clear();
  scratch.v.clear();
  scratch.state.clear();
  for (const KeyStretch& key : slab.keys) {
    scratch.k.push_back({address(key.holder, 0, key.position), key.rows, stride(key.holder) * head_dim_});
    scratch.v.push_back({address(key.holder, 1, key.position), key.rows, stride(key.holder) * head_dim_});
  }
  for (const RowStretch& row : slab.rows) {
    const auto floats = [&](std::size_t plane) {
      return reinterpret_cast<float*>(address(row.acc_holder, plane, row.acc_position));
    };
    scratch.q.push_back({address(row.q_holder, 0, row.q_position), row.rows, stride(row.q_holder) * head_dim_});
    scratch.state.push_back({floats(0), floats(1), floats(2), stride(row.acc_holder) * head_dim_});
  }
  kernels::AttentionTask task{.dtype = dtype_,
                              .head_dim = head_dim_,
                              .scale = scale_,
                              .q = {},
                              .state = {},
                              .k = scratch.k,
                              .v = scratch.v,
                              .row_begin = {},
                              .k_block = slab.k_block[head]};
  const std::span row_begin = std::span(slab.row_begin).subspan(head * (slab.rows.size() + 1), slab.rows.size() + 1);
  for (std::size_t first = 0; first < slab.rows.size(); first += kQueryBlocksPerCall) {
    const std::size_t count = std::min(kQueryBlocksPerCall, slab.rows.size() - first);
    task.q = std::span(scratch.q).subspan(first, count);
    task.state = std::span(scratch.state).subspan(first, count);
    task.row_begin = row_begin.subspan(first, count + 1);
    kernels::attend(task, scratch.attention);
    if (scratch.beat) scratch.beat();
  }
}

}  // namespace spscope
