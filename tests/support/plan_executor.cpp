#include "tests/support/plan_executor.h"

#include <algorithm>
#include <stdexcept>

#include "backend/base/flat_map.h"
#include "backend/base/ids.h"
#include "backend/plan/plan_access.h"
#include "backend/plan/verify_internal.h"

namespace spscope::testing {
namespace {

constexpr int kKept = 1 << 30;  // users of an output: never all ended

// An op that cannot be done: data that is not there, shapes that do not fit.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void require(bool condition, const char* what) {
  if (!condition) throw Fault(what);
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = hash_mix(hash, static_cast<unsigned char>(c));
  return hash;
}

// What a cell of a given value is: the same in every plan of a layer.
std::uint64_t input_symbol(const Value& v, int column, int outer, int inner) {
  std::uint64_t hash = hash_mix(v.tensors.bits, static_cast<std::uint64_t>(v.layer));
  for (const int index : {static_cast<int>(v.columns), column, outer, inner})
    hash = hash_mix(hash, static_cast<std::uint64_t>(index));
  return hash;
}

bool attends_to(const BlockMask& mask, int head, std::int32_t query, std::int32_t key) {
  const auto block = [starts = mask.coarse_starts()](std::int32_t token) {
    return static_cast<std::int32_t>(std::ranges::upper_bound(starts, token) - starts.begin()) - 1;
  };
  return mask.active(head, block(query), block(key));
}

}  // namespace

bool can_be_followed(const Plan& plan, const Request& request) {
  verifying::Findings found;
  verifying::check_form(plan, found);
  return found.empty() && plan.ranks == request.ranks && plan.sets == request.sets &&
         std::ranges::all_of(plan.masks, [&](const MaskUse& mask) { return request.attends(mask.axis); });
}

PlanRun::PlanRun(const Plan& plan, const Request& request) : plan_(plan), request_(request) {}

// -- order of execution

void PlanRun::start() {
  const std::size_t ranks = at(plan_.ranks);
  sent_bytes_.assign(ranks, 0);
  live_bytes_.assign(ranks, 0);
  peak_bytes_.assign(ranks, 0);
  values_.resize(plan_.values.size() * ranks);
  rows_.resize(plan_.accumulators.size() * ranks);
  posted_.assign(plan_.posts.size() * ranks, 0);
  states_.assign(plan_.ops.size(), State::kWaiting);
  lanes_.resize(ranks * at(plan_.lanes));
  heads_.assign(lanes_.size(), 0);
  for (OpId id = 0; at(id) < plan_.ops.size(); ++id) {
    const Op& op = plan_.ops[at(id)];
    lanes_[at(op.rank) * at(plan_.lanes) + at(plan_.post_of(op).lane)].push_back(id);
  }
  count_users();
  for (ValueId id = 0; at(id) < plan_.values.size(); ++id)
    for (int rank = 0; rank < plan_.ranks && value(id).given; ++rank)
      for (const Box& box : value(id).placement.at(rank))
        for_each_cell(box, [&](Cell c) { write(id, rank, c, input_symbol(value(id), c[0], c[1], c[2])); });
}

// Users of a buffer: the ops that write or read it. Views have none: their sources are used.
void PlanRun::count_users() {
  users_.assign(values_.size(), 0);
  used_by_op_.resize(plan_.ops.size());
  for (std::size_t i = 0; i < plan_.ops.size(); ++i) {
    const Op& op = plan_.ops[i];
    std::vector<std::size_t>& used = used_by_op_[i];
    for_each_read(plan_, op, [&](int rank, ValueId read, const Box&) {
      for_each_base(plan_, read, [&](ValueId base) { used.push_back(slot(base, rank)); });
    });
    const Post& post = plan_.post_of(op);
    if (post.kind == PostKind::kLocal || post.kind == PostKind::kFinish) used.push_back(slot(post.dst, op.rank));
    if (moves(post.kind) || post.kind == PostKind::kReduce)
      for_each_fill(plan_, op, [&](int rank, ValueId filled, const Box&) { used.push_back(slot(filled, rank)); });
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (std::size_t buffer : used) ++users_[buffer];
  }
  for (const Output& output : plan_.outputs)
    for_each_base(plan_, output.value, [&](ValueId base) {
      for (int rank = 0; rank < plan_.ranks; ++rank) users_[slot(base, rank)] = kKept;
    });
}

void PlanRun::release(OpId id) {
  for (std::size_t used : used_by_op_[at(id)])
    if (--users_[used] == 0 && values_[used]) {
      live_bytes_[used % at(plan_.ranks)] -= values_[used]->num_bytes;
      values_[used].reset();
    }
}

void PlanRun::grow(int rank, std::int64_t num_bytes) {
  live_bytes_[at(rank)] += num_bytes;
  peak_bytes_[at(rank)] = std::max(peak_bytes_[at(rank)], live_bytes_[at(rank)]);
}

bool PlanRun::ready(const Op& op) const {
  return std::ranges::all_of(plan_.deps(op), [&](OpId dep) { return states_[at(dep)] == State::kEnded; });
}

// A two-sided op sends when it starts; what was sent waits at the receiver.
void PlanRun::begin_op(const Op& op) {
  const Post& post = plan_.post_of(op);
  if (!two_sided(post.kind)) return;
  posted_[slot(op.post, op.rank)] = 1;
  for (MessageId id : plan_.messages_of(op)) {
    const Message& m = plan_.messages[at(id)];
    if (m.src == op.rank) mail_[{op.post, m.src, m.dst}].push_back(carry(m, source_of(plan_, post, m)));
  }
}

bool PlanRun::partners_posted(const Op& op) const {
  const auto posted = [&](int rank) { return posted_[slot(op.post, rank)] != 0; };
  if (plan_.kind_of(op) == PostKind::kBarrier) return std::ranges::all_of(plan_.group(op.group), posted);
  std::map<int, std::size_t> expected;
  for (MessageId id : plan_.messages_of(op)) {
    const Message& m = plan_.messages[at(id)];
    if (m.dst == op.rank)
      ++expected[m.src];
    else if (!posted(m.dst))
      return false;  // a sender waits for its receiver
  }
  return std::ranges::all_of(expected, [&](const auto& source) {
    const auto box = mail_.find({op.post, source.first, op.rank});
    return box != mail_.end() && box->second.size() >= source.second;
  });
}

bool PlanRun::end_op(const Op& op) {
  const PostKind kind = plan_.kind_of(op);
  if (two_sided(kind) && !partners_posted(op)) return false;
  switch (kind) {
    case PostKind::kLocal:
      local(op);
      break;
    case PostKind::kAttend:
      attend(op);
      break;
    case PostKind::kMerge:
      merge(op);
      break;
    case PostKind::kFinish:
      finish(op);
      break;
    case PostKind::kCopy:
    case PostKind::kPull:
    case PostKind::kPush:
      copy_messages(op);
      break;
    case PostKind::kExchange:
    case PostKind::kReduce:
      receive(op);
      break;
    case PostKind::kBarrier:
      break;
  }
  return true;
}

// Tries to move a lane on; whether it did.
bool PlanRun::step(std::size_t lane, bool run_ahead, Rng& rng) {
  if (heads_[lane] == lanes_[lane].size()) return false;
  const OpId id = lanes_[lane][heads_[lane]];
  const Op& op = plan_.ops[at(id)];
  State& state = states_[at(id)];
  bool moved = false;
  if (state == State::kWaiting && ready(op)) {
    begin_op(op);
    state = State::kStarted;
    moved = true;
    if (!run_ahead && rng.below(2) == 0) return true;
  }
  if (state != State::kStarted || !end_op(op)) return moved;
  state = State::kEnded;
  ++heads_[lane];
  release(id);
  return true;
}

Ending PlanRun::run(std::uint64_t order_seed) {
  try {
    start();
    Rng rng(order_seed);
    const bool run_ahead = order_seed % 4 != 0;
    std::vector<std::size_t> order(lanes_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto shuffle = [&] {
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
    };
    shuffle();
    for (bool moved = true; moved;) {
      moved = false;
      if (!run_ahead) shuffle();
      for (std::size_t lane : order) {
        moved = step(lane, run_ahead, rng) || moved;
        if (run_ahead && moved) break;  // back to the first lane that can go on
      }
    }
  } catch (const Fault& fault) {
    failure_ = fault.what();
    return Ending::kFault;
  }
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    if (heads_[lane] < lanes_[lane].size()) {
      failure_ = "op " + std::to_string(lanes_[lane][heads_[lane]]) + " never ends";
      return Ending::kDeadlock;
    }
  return Ending::kDone;
}

// -- cells

template <typename Visit>
void PlanRun::for_each_cell(const Box& box, Visit&& visit) const {
  for (const Span& columns : plan_.sets->spans(box.columns))
    for (std::int32_t c = columns.begin; c < columns.end; ++c)
      for (const Span& outer : plan_.sets->spans(box.outer))
        for (std::int32_t o = outer.begin; o < outer.end; ++o)
          for (const Span& inner : plan_.sets->spans(box.inner))
            for (std::int32_t i = inner.begin; i < inner.end; ++i) visit(Cell{c, o, i});
}

std::int64_t PlanRun::cell_bytes(TensorSet tensors) const {
  const bool fp32 = tensors.has(Tensor::kRowStats) || tensors.has(Tensor::kNorm);
  std::int64_t width = 0;
  for (int t = 0; t < kNumTensors; ++t)
    if (tensors.has(static_cast<Tensor>(t))) width += request_.tensor_width(static_cast<Tensor>(t));
  return request_.batch * width * (fp32 ? 4 : dtype_bytes(request_.dtype));
}

// Empty: the tensor has no such cell.
std::optional<std::size_t> PlanRun::cell_index(Axis columns, Cell cell) const {
  const std::array sizes = {request_.num_columns(columns), request_.outer_tokens, request_.inner_tokens};
  std::size_t index = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (cell[axis] < 0 || cell[axis] >= sizes[axis]) return std::nullopt;
    index = index * at(sizes[axis]) + at(cell[axis]);
  }
  return index;
}

PlanRun::Buffer PlanRun::make_buffer(Axis columns, std::span<const Box> boxes) const {
  Buffer buffer;
  buffer.placed.assign(at(request_.num_columns(columns)) * at(request_.outer_tokens) * at(request_.inner_tokens), 0);
  buffer.cells.resize(buffer.placed.size());
  for (const Box& box : boxes)
    for_each_cell(box, [&](Cell cell) {
      const auto index = cell_index(columns, cell);
      require(index.has_value(), "a placement leaves the tensor");
      buffer.placed[*index] = 1;
    });
  return buffer;
}

std::optional<PlanRun::Symbol> PlanRun::find_cell(ValueId id, int rank, int column, int outer, int inner) const {
  std::optional<Symbol> found;
  for_each_base(plan_, id, [&](ValueId base) {
    const std::optional<Buffer>& buffer = values_[slot(base, rank)];
    const auto index = cell_index(value(base).columns, {column, outer, inner});
    if (buffer && index && value(base).tensors == value(id).tensors && buffer->cells[*index])
      found = buffer->cells[*index];
  });
  return found;
}

PlanRun::Symbol PlanRun::read(ValueId id, int rank, Cell cell) const {
  const std::optional<Symbol> symbol = find_cell(id, rank, cell[0], cell[1], cell[2]);
  require(symbol.has_value(), "a rank reads what it does not hold");
  return *symbol;
}

void PlanRun::write(ValueId id, int rank, Cell cell, Symbol symbol) {
  std::optional<Buffer>& buffer = values_[slot(id, rank)];
  if (!buffer) buffer = make_buffer(value(id).columns, value(id).placement.at(rank));
  const auto index = cell_index(value(id).columns, cell);
  require(index && buffer->placed[*index], "a write leaves the placement");
  if (!buffer->cells[*index]) {
    buffer->num_bytes += cell_bytes(value(id).tensors);
    grow(rank, cell_bytes(value(id).tensors));
  }
  buffer->cells[*index] = symbol;
}

// -- attention: a row is the sum of what it met, until it is finished

// The rows of an op's accumulator at its rank, opened when first used.
PlanRun::Buffer& PlanRun::rows_of(const Op& op) {
  const AccId acc = plan_.post_of(op).acc;
  std::optional<Buffer>& rows = rows_[slot(acc, op.rank)];
  if (rows) return *rows;
  rows = make_buffer(Axis::kHeads, value(plan_.accumulators[at(acc)].q).placement.at(op.rank));
  for (std::size_t i = 0; i < rows->placed.size(); ++i) {
    if (!rows->placed[i]) continue;
    rows->cells[i] = 0;
    rows->num_bytes += cell_bytes(kPartialRows);
  }
  grow(op.rank, rows->num_bytes);
  return *rows;
}

void PlanRun::attend(const Op& op) {
  const Post& post = plan_.post_of(op);
  const Accumulator& acc = plan_.accumulators[at(post.acc)];
  const BlockMask& mask = request_.executed_mask(plan_.masks[at(acc.mask)].axis).mask();
  require(value(acc.q).columns == Axis::kHeads && value(post.src).columns == Axis::kHeads, "no queries or no keys");
  Buffer& rows = rows_of(op);
  const std::size_t attended = acc.axis == AttendedAxis::kInner ? 2 : 1;
  for_each_cell(attend_rows(plan_, op), [&](Cell row) {
    const auto index = cell_index(Axis::kHeads, row);
    require(index && rows.cells[*index] && row[0] < mask.heads() && row[attended] < mask.tokens(),
            "rows that the accumulator does not have");
    const Symbol query = read(acc.q, op.rank, row);
    for (const Span& keys : plan_.sets->spans(op.k))
      for (std::int32_t key = keys.begin; key < keys.end; ++key) {
        Cell met = row;
        met[attended] = key;
        const Symbol symbol = read(post.src, op.rank, met);
        require(key < mask.tokens(), "keys outside of the mask");
        if (attends_to(mask, row[0], row[attended], key)) *rows.cells[*index] += hash_mix(query, symbol);
      }
  });
}

void PlanRun::merge(const Op& op) {
  Buffer& rows = rows_of(op);
  for_each_read(plan_, op, [&](int rank, ValueId part, const Box& box) {
    require(value(part).tensors == kPartialRows, "no unfinished rows");
    for_each_cell(box, [&](Cell cell) {
      const auto index = cell_index(Axis::kHeads, cell);
      require(index && rows.cells[*index], "rows that the accumulator does not have");
      *rows.cells[*index] += read(part, rank, cell);
    });
  });
}

void PlanRun::finish(const Op& op) {
  const Post& post = plan_.post_of(op);
  Buffer& rows = rows_of(op);
  const bool unfinished = value(post.dst).partial != kNone;
  for (const Box& box : value(plan_.accumulators[at(post.acc)].q).placement.at(op.rank))
    for_each_cell(box, [&](Cell cell) {
      const Symbol sum = *rows.cells[*cell_index(Axis::kHeads, cell)];
      write(post.dst, op.rank, cell, unfinished ? sum : hash_mix(hash_of("finished"), sum));
    });
  live_bytes_[at(op.rank)] -= rows.num_bytes;
  rows_[slot(post.acc, op.rank)].reset();
}

// -- local kernels

void PlanRun::local(const Op& op) {
  const Post& post = plan_.post_of(op);
  const Kernel& kernel = plan_.kernels[at(post.kernel)];
  const Value& result = value(post.dst);
  const auto from = value(post.src).placement.at(op.rank), to = result.placement.at(op.rank);
  const bool zeros = kernel.contracts && from.empty() && !result.pending.empty();  // a share that has no columns here
  require(from.size() == to.size() || zeros, "a local kernel with other boxes than its source");
  if (kernel.contracts) {
    const auto wanted = std::ranges::find(request_.kernels, kernel.name, &Kernel::name);
    require(wanted != request_.kernels.end() && wanted->contracts, "the layer has no such contraction");
    require(value(post.src).columns == wanted->in && result.columns == wanted->out &&
                cell_bytes(result.tensors) == cell_bytes(wanted->tensors),
            "a contraction of other columns");
  } else {
    require(cell_bytes(result.tensors) == cell_bytes(value(post.src).tensors), "a result of another width");
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    require(zeros || (from[i].outer == to[i].outer && from[i].inner == to[i].inner),
            "a local kernel that leaves its tokens");
    const SetId columns = zeros ? kEmptySet : from[i].columns;
    for_each_cell(kernel.contracts ? to[i] : from[i], [&](Cell cell) {
      write(post.dst, op.rank, cell,
            kernel.contracts ? contracted(op, kernel, columns, cell) : mapped(op, kernel, cell));
    });
  }
}

// A sum over columns, which ranks may share.
PlanRun::Symbol PlanRun::contracted(const Op& op, const Kernel& kernel, SetId columns, Cell to) const {
  const std::uint64_t weight = hash_mix(hash_of(kernel.name), static_cast<std::uint64_t>(to[0]));
  Symbol sum = 0;
  for (const Span& span : plan_.sets->spans(columns))
    for (std::int32_t c = span.begin; c < span.end; ++c)
      sum += hash_mix(hash_mix(weight, static_cast<std::uint64_t>(c)),
                      read(plan_.post_of(op).src, op.rank, {c, to[1], to[2]}));
  return sum;
}

// Of each operand the same cell, or the sum over its columns when they are others.
PlanRun::Symbol PlanRun::mapped(const Op& op, const Kernel& kernel, Cell cell) const {
  const Post& post = plan_.post_of(op);
  Symbol symbol = hash_mix(hash_of(kernel.name), read(post.src, op.rank, cell));
  for (ValueId operand : plan_.value_list(post.operands)) {
    const Axis columns = value(operand).columns;
    const bool same = columns == value(post.src).columns;
    Symbol sum = 0;
    for (int c = same ? cell[0] : 0; c < (same ? cell[0] + 1 : request_.num_columns(columns)); ++c)
      sum += read(operand, op.rank, {c, cell[1], cell[2]});
    symbol = hash_mix(symbol, sum);
  }
  return symbol;
}

// -- moves

PlanRun::Parcel PlanRun::carry(const Message& m, ValueId id) {
  Parcel parcel{m.box, cell_bytes(value(id).tensors), {}};
  for_each_cell(m.box, [&](Cell cell) { parcel.cells.push_back(read(id, m.src, cell)); });
  if (m.src != m.dst) sent_bytes_[at(m.src)] += static_cast<std::int64_t>(parcel.cells.size()) * parcel.cell_bytes;
  return parcel;
}

void PlanRun::deliver(ValueId id, int rank, const Parcel& parcel) {
  require(parcel.cell_bytes == cell_bytes(value(id).tensors), "a message of another width");
  auto next = parcel.cells.begin();
  for_each_cell(parcel.box, [&](Cell cell) { write(id, rank, cell, *next++); });
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
    const auto same = std::ranges::find(sums, parcel.box, &Parcel::box);
    if (post.kind == PostKind::kExchange)
      deliver(post.dst, op.rank, parcel);
    else if (same == sums.end())
      sums.push_back(parcel);
    else
      for (std::size_t i = 0; i < parcel.cells.size(); ++i) same->cells[i] += parcel.cells[i];
  }
  for (const Parcel& sum : sums) deliver(post.dst, op.rank, sum);
}

}  // namespace spscope::testing
