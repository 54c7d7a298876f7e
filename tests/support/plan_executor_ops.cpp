// What each kind of op does to the stores of PlanRun.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/base/ids.h"
#include "backend/plan/plan_access.h"
#include "tests/support/plan_executor.h"

namespace spscope::testing {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

}  // namespace

// -- cells

const std::vector<std::int32_t>& PlanRun::indices(SetId id) {
  if (indices_.size() <= static_cast<std::size_t>(id)) indices_.resize(static_cast<std::size_t>(id) + 1);
  std::vector<std::int32_t>& list = indices_[static_cast<std::size_t>(id)];
  if (list.empty())
    for (const Span& s : plan_.sets->spans(id))
      for (std::int32_t i = s.begin; i < s.end; ++i) list.push_back(i);
  return list;
}

std::int64_t PlanRun::element_bytes(const Value& value) const {
  const bool fp32 = value.tensors.has(Tensor::kRowStats) || value.tensors.has(Tensor::kNorm);
  return fp32 ? 4 : dtype_bytes(request_.dtype);
}

const double* PlanRun::find_cell(ValueId value, int rank, int c, int o, int i) const {
  const double* found = nullptr;
  for_each_base(plan_, value, [&](ValueId base) {
    const Buffer& b = values_[slot(base, rank)];
    if (!b || b->tensor.width != widths_[at(value)] || c < 0 || c >= b->tensor.columns || o < 0 ||
        o >= b->tensor.outer || i < 0 || i >= b->tensor.inner)
      return;
    if (b->present[b->tensor.cell(c, o, i)]) found = b->tensor.at(c, o, i);
  });
  return found;
}

const double* PlanRun::read_cell(ValueId value, int rank, int c, int o, int i) const {
  const double* cell = find_cell(value, rank, c, o, i);
  require(cell != nullptr, "a rank reads what it does not hold");
  return cell;
}

void PlanRun::write_cell(ValueId id, int rank, int c, int o, int i, const double* elements, int count) {
  const Value& v = plan_.values[at(id)];
  Buffer& b = buffer(id, rank);
  if (!b) {
    b.emplace();
    b->tensor = DenseTensor(request_, v.columns, v.tensors);
    b->present.assign(b->tensor.cells(), 0);
    b->placed.assign(b->tensor.cells(), 0);
    for (const Box& box : v.placement.at(rank))
      for_each_cell(box, [&](int column, int outer, int inner) {
        require(b->tensor.has(column, outer, inner), "a placement leaves the tensor");
        b->placed[b->tensor.cell(column, outer, inner)] = 1;
      });
  }
  DenseTensor& t = b->tensor;
  require(t.has(c, o, i) && b->placed[t.cell(c, o, i)], "a write leaves the placement");
  require(count == static_cast<int>(t.cell_elements()), "a write of another width");
  char& present = b->present[t.cell(c, o, i)];
  if (!present) {
    present = 1;
    b->num_bytes += count * element_bytes(v);
    grow(rank, count * element_bytes(v));
  }
  std::copy_n(elements, count, t.at(c, o, i));
}

// -- attention

// The running (o, m, l) of an op's accumulator at its rank, opened when first used.
PlanRun::PartialTensor& PlanRun::rows_of(const Op& op) {
  const AccId acc = plan_.post_of(op).acc;
  Buffer& rows = rows_[slot(acc, op.rank)];
  if (rows) return *rows;
  rows.emplace();
  rows->tensor = DenseTensor(request_, Axis::kHeads, kPartialRows);
  rows->present.assign(rows->tensor.cells(), 0);
  DenseTensor& t = rows->tensor;
  for (const Box& box : plan_.values[at(plan_.accumulators[at(acc)].q)].placement.at(op.rank))
    for_each_cell(box, [&](int c, int o, int i) {
      require(t.has(c, o, i), "queries outside of the tensor");
      rows->present[t.cell(c, o, i)] = 1;
      for (int b = 0; b < t.batch; ++b) t.at(c, o, i)[b * t.width + request_.head_dim] = kNothing;
      rows->num_bytes += static_cast<std::int64_t>(t.cell_elements()) * 4;
    });
  grow(op.rank, rows->num_bytes);
  return *rows;
}

// Online softmax: o and l are weighed by exp of the old maximum minus the new one.
void PlanRun::fold(PartialTensor& rows, std::size_t cell, int batch, const double* o, double m, double l) {
  require(rows.present[cell] != 0, "rows that the accumulator does not have");
  double* mine = rows.tensor.data.data() + cell * rows.tensor.cell_elements() + batch * rows.tensor.width;
  const int d = request_.head_dim;
  const double peak = std::max(mine[d], m);
  if (peak == kNothing) return;
  const double keep = std::exp(mine[d] - peak), add = std::exp(m - peak);
  for (int j = 0; j < d; ++j) mine[j] = mine[j] * keep + o[j] * add;
  mine[d] = peak;
  mine[d + 1] = mine[d + 1] * keep + l * add;
}

void PlanRun::attend_row(const Op& op, int head, int seq, int row, const std::vector<std::int32_t>& keys) {
  const Post& post = plan_.post_of(op);
  const Accumulator& acc = plan_.accumulators[at(post.acc)];
  const MaskUse& use = plan_.masks[at(acc.mask)];
  const BlockMask& mask = request_.executed_mask(use.axis).mask();
  const bool inner = acc.axis == AttendedAxis::kInner;
  const int d = request_.head_dim;
  PartialTensor& rows = rows_of(op);
  const double* q = inner ? read_cell(acc.q, op.rank, head, seq, row) : read_cell(acc.q, op.rank, head, row, seq);
  require(head < mask.heads() && row < mask.tokens(), "rows outside of the mask");
  std::vector<double> o(at(d));
  for (int b = 0; b < request_.batch; ++b) {
    double m = kNothing, l = 0;
    std::ranges::fill(o, 0.0);
    for (std::int32_t key : keys) {
      const double* kv =
          (inner ? read_cell(post.src, op.rank, head, seq, key) : read_cell(post.src, op.rank, head, key, seq)) +
          b * 2 * d;
      require(key < mask.tokens(), "keys outside of the mask");
      if (!attends_to(mask, head, row, key)) continue;
      double score = 0;
      for (int j = 0; j < d; ++j) score += q[b * d + j] * kv[j];
      score /= std::sqrt(d);
      const double peak = std::max(m, score), keep = std::exp(m - peak), add = std::exp(score - peak);
      for (int j = 0; j < d; ++j) o[at(j)] = o[at(j)] * keep + kv[d + j] * add;
      l = l * keep + add;
      m = peak;
    }
    fold(rows, inner ? rows.tensor.cell(head, seq, row) : rows.tensor.cell(head, row, seq), b, o.data(), m, l);
  }
}

void PlanRun::attend(const Op& op) {
  const Post& post = plan_.post_of(op);
  const Accumulator& acc = plan_.accumulators[at(post.acc)];
  const Value &q = plan_.values[at(acc.q)], &kv = plan_.values[at(post.src)];
  require(widths_[at(acc.q)] == request_.head_dim && q.columns == Axis::kHeads, "no queries");
  require(widths_[at(post.src)] == 2 * request_.head_dim && kv.columns == Axis::kHeads, "no keys");
  for (std::int32_t head : indices(op.heads))
    for (std::int32_t seq : indices(op.seq))
      for (std::int32_t row : indices(op.q)) attend_row(op, head, seq, row, indices(op.k));
}

void PlanRun::merge(const Op& op) {
  const Post& post = plan_.post_of(op);
  require(plan_.values[at(post.src)].tensors == kPartialRows, "no unfinished rows");
  PartialTensor& rows = rows_of(op);
  const int d = request_.head_dim;
  for_each_read(plan_, op, [&](int rank, ValueId value, const Box& box) {
    for_each_cell(box, [&](int c, int o, int i) {
      const double* part = read_cell(value, rank, c, o, i);
      require(rows.tensor.has(c, o, i), "rows outside of the tensor");
      for (int b = 0; b < request_.batch; ++b, part += d + 2)
        fold(rows, rows.tensor.cell(c, o, i), b, part, part[d], part[d + 1]);
    });
  });
}

void PlanRun::finish(const Op& op) {
  const Post& post = plan_.post_of(op);
  const Value& result = plan_.values[at(post.dst)];
  const AccId acc = post.acc;
  PartialTensor& rows = rows_of(op);
  const int d = request_.head_dim;
  const bool unfinished = result.partial != kNone;
  for (const Box& box : plan_.values[at(plan_.accumulators[at(acc)].q)].placement.at(op.rank))
    for_each_cell(box, [&](int c, int o, int i) {
      const double* row = rows.tensor.at(c, o, i);
      if (unfinished) return write_cell(post.dst, op.rank, c, o, i, row, static_cast<int>(rows.tensor.cell_elements()));
      std::vector<double> done;
      for (int b = 0; b < request_.batch; ++b, row += d + 2)
        for (int j = 0; j < d; ++j) done.push_back(row[d + 1] > 0 ? row[j] / row[d + 1] : 0.0);
      write_cell(post.dst, op.rank, c, o, i, done.data(), static_cast<int>(done.size()));
    });
  live_bytes_[at(op.rank)] -= rows.num_bytes;
  rows_[slot(acc, op.rank)].reset();
}

// -- local kernels

void PlanRun::local(const Op& op) {
  const Post& post = plan_.post_of(op);
  const Kernel& kernel = plan_.kernels[at(post.kernel)];
  const auto from = plan_.values[at(post.src)].placement.at(op.rank);
  const auto to = plan_.values[at(post.dst)].placement.at(op.rank);
  const bool zeros = kernel.contracts && from.empty() && !plan_.values[at(post.dst)].pending.empty();
  require(from.size() == to.size() || zeros, "a local kernel with other boxes than its source");
  if (zeros)  // a share of a sum that this rank has no columns of
    for (const Box& box : to) contract(op, kernel, {kEmptySet, box.outer, box.inner}, box);
  for (std::size_t i = 0; i < from.size(); ++i) {
    require(from[i].outer == to[i].outer && from[i].inner == to[i].inner, "a local kernel that leaves its tokens");
    if (kernel.contracts)
      contract(op, kernel, from[i], to[i]);
    else
      map_cells(op, kernel, from[i]);
  }
}

void PlanRun::contract(const Op& op, const Kernel& kernel, const Box& from, const Box& to) {
  const Post& post = plan_.post_of(op);
  const Value &source = plan_.values[at(post.src)], &result = plan_.values[at(post.dst)];
  const Weight& weight = inputs_.weight(kernel.name);
  const auto wanted = std::ranges::find(request_.kernels, kernel.name, &Kernel::name);
  const bool squares = kernel.name == kSumOfSquares;
  const int in = widths_[at(post.src)], out = widths_[at(post.dst)];
  require(source.columns == wanted->in && result.columns == wanted->out && out == weight.out_width() &&
              (squares || in == weight.in_width()),
          "a contraction of other columns");
  std::vector<double> y(at(request_.batch * out));
  for_each_cell(to, [&](int c_out, int o, int i) {
    require(c_out < request_.num_columns(result.columns), "a contraction to other columns");
    std::ranges::fill(y, 0.0);
    for (std::int32_t c : indices(from.columns)) {
      const double* x = read_cell(post.src, op.rank, c, o, i);
      for (int e = 0; e < request_.batch * in; ++e)
        for (int w = 0; w < out; ++w) y[at(e / in * out + w)] += x[e] * (squares ? x[e] : weight(c, e % in, c_out, w));
    }
    write_cell(post.dst, op.rank, c_out, o, i, y.data(), static_cast<int>(y.size()));
  });
}

// The same cell of an operand, or the sum over its columns when they are others.
std::vector<double> PlanRun::operand_cell(ValueId id, Axis axis, int rank, int c, int o, int i, int batch) {
  const Value& v = plan_.values[at(id)];
  const int width = widths_[at(id)];
  std::vector<double> sum(at(width), 0.0);
  const bool same = v.columns == axis;
  for (int column = same ? c : 0; column < (same ? c + 1 : request_.num_columns(v.columns)); ++column) {
    const double* x = read_cell(id, rank, column, o, i) + batch * width;
    for (int w = 0; w < width; ++w) sum[at(w)] += x[w];
  }
  return sum;
}

void PlanRun::map_cells(const Op& op, const Kernel& kernel, const Box& box) {
  const Post& post = plan_.post_of(op);
  const Axis axis = plan_.values[at(post.src)].columns;
  for_each_cell(box, [&](int c, int o, int i) {
    std::vector<double> y;
    for (int b = 0; b < request_.batch; ++b) {
      std::vector<double> own = operand_cell(post.src, axis, op.rank, c, o, i, b);
      std::vector<std::vector<double>> others;
      for (ValueId operand : plan_.value_list(post.operands)) {
        others.push_back(operand_cell(operand, axis, op.rank, c, o, i, b));
        require(!others.back().empty(), "an operand without elements");
      }
      local_cell(kernel.name, request_, o * request_.inner_tokens + i, own, others);
      y.insert(y.end(), own.begin(), own.end());
    }
    write_cell(post.dst, op.rank, c, o, i, y.data(), static_cast<int>(y.size()));
  });
}

// -- moves

PlanRun::Parcel PlanRun::carry(const Message& m, ValueId value) {
  Parcel parcel{m.box, {}};
  const Value& v = plan_.values[at(value)];
  const int elements = request_.batch * widths_[at(value)];
  for_each_cell(m.box, [&](int c, int o, int i) {
    const double* cell = read_cell(value, m.src, c, o, i);
    parcel.elements.insert(parcel.elements.end(), cell, cell + elements);
  });
  if (m.src != m.dst) sent_bytes_[at(m.src)] += static_cast<std::int64_t>(parcel.elements.size()) * element_bytes(v);
  return parcel;
}

void PlanRun::deliver(ValueId value, int rank, const Parcel& parcel) {
  const double* cell = parcel.elements.data();
  const int elements = request_.batch * widths_[at(value)];
  std::size_t left = parcel.elements.size();
  for_each_cell(parcel.box, [&](int c, int o, int i) {
    require(left >= at(elements), "a message of another width");
    write_cell(value, rank, c, o, i, cell, elements);
    cell += elements;
    left -= at(elements);
  });
  require(left == 0, "a message of another width");
}

void PlanRun::copy_messages(const Op& op) {
  const Post& post = plan_.post_of(op);
  for (MessageId id : plan_.messages_of(op)) {
    const Message& m = plan_.messages[at(id)];
    deliver(post.dst, m.dst, carry(m, post.src));
  }
}

// Takes what it expects, in the order in which it was sent: an exchange lands it, a reduce adds it up first.
void PlanRun::receive(const Op& op) {
  const Post& post = plan_.post_of(op);
  std::map<int, std::size_t> taken;
  std::vector<Parcel> sums;
  for (MessageId id : plan_.messages_of(op)) {
    const Message& m = plan_.messages[at(id)];
    if (m.dst != op.rank) continue;
    const Parcel& parcel = mail_.at({op.post, m.src, op.rank}).at(taken[m.src]++);
    if (post.kind == PostKind::kExchange) {
      deliver(post.dst, op.rank, parcel);
      continue;
    }
    const auto same = std::ranges::find(sums, parcel.box, &Parcel::box);
    if (same == sums.end()) {
      sums.push_back(parcel);
      continue;
    }
    require(same->elements.size() == parcel.elements.size(), "shares of different widths");
    for (std::size_t e = 0; e < parcel.elements.size(); ++e) same->elements[e] += parcel.elements[e];
  }
  for (const Parcel& sum : sums) deliver(post.dst, op.rank, sum);
}

}  // namespace spscope::testing
