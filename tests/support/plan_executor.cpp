#include "tests/support/plan_executor.h"

#include <algorithm>

#include "backend/base/ids.h"
#include "backend/plan/plan_access.h"

namespace spscope::testing {
namespace {

constexpr int kMaxLanes = 64;
constexpr int kKept = 1 << 30;  // users of an output: never all ended

bool within(std::int32_t id, std::size_t count) { return id >= 0 && at(id) < count; }
bool within(IdRange range, std::size_t count) {
  return range.begin >= 0 && range.begin <= range.end && at(range.end) <= count;
}

class ReferenceCheck {
 public:
  ReferenceCheck(const Plan& plan, const Request& request) : p_(plan), request_(request) {}

  void check() const {
    require(p_.ranks == request_.ranks && p_.lanes >= 1 && p_.lanes <= kMaxLanes, "ranks or lanes");
    require(p_.sets != nullptr && p_.sets == request_.sets, "sets");
    check_lists();
    for (const Value& v : p_.values) check_value(v);
    for (const Accumulator& a : p_.accumulators)
      require(within(a.q, p_.values.size()) && within(a.mask, p_.masks.size()), "accumulator");
    for (const MaskUse& m : p_.masks) require(request_.attends(m.axis), "mask");
    for (const Output& o : p_.outputs) {
      require(within(o.value, p_.values.size()), "output");
      check_placement(o.placement);
    }
    for (const Message& m : p_.messages) {
      require(within(m.src, at(p_.ranks)) && within(m.dst, at(p_.ranks)), "message");
      check_box(m.box);
    }
    for (const Post& post : p_.posts) check_post(post);
    for (const Op& op : p_.ops) check_op(op);
  }

 private:
  void check_lists() const {
    for (OpId id : p_.dep_refs) require(within(id, p_.ops.size()), "dependency");
    for (MessageId id : p_.message_refs) require(within(id, p_.messages.size()), "message");
    for (ValueId id : p_.value_refs) require(within(id, p_.values.size()), "value");
    for (GroupId id : p_.group_refs) require(within(id, p_.groups.size()), "group");
    for (int rank : p_.group_members) require(within(rank, at(p_.ranks)), "rank of a group");
    for (IdRange group : p_.groups) require(within(group, p_.group_members.size()), "group");
  }
  void check_set(SetId id) const { require(p_.sets->has(id), "set"); }
  void check_box(const Box& box) const {
    check_set(box.columns);
    check_set(box.outer);
    check_set(box.inner);
  }
  void check_placement(const Placement& placement) const {
    require(placement.ranks() == p_.ranks, "placement");
    for (const Box& box : placement.boxes()) check_box(box);
  }
  void check_value(const Value& v) const {
    require(static_cast<int>(v.columns) < kNumAxes && v.tensors.bits < 1 << kNumTensors, "tensor");
    require(within(v.sources, p_.value_refs.size()) && within(v.pending, p_.group_refs.size()), "value");
    for (ValueId source : p_.value_list(v.sources)) require(p_.values[at(source)].sources.empty(), "view of a view");
    check_placement(v.placement);
  }
  void check_post(const Post& post) const {
    const bool local = post.kind == PostKind::kLocal, finishes = post.kind == PostKind::kFinish;
    const bool attends = post.kind == PostKind::kAttend || post.kind == PostKind::kMerge;
    const bool carries = moves(post.kind) || post.kind == PostKind::kReduce;
    require(static_cast<int>(post.kind) < kNumPostKinds && within(post.lane, at(p_.lanes)), "post");
    require(within(post.operands, p_.value_refs.size()), "operands");
    if (local || attends || carries) require(within(post.src, p_.values.size()), "source");
    if (local || finishes || carries) require(within(post.dst, p_.values.size()), "result");
    if (attends || finishes) require(within(post.acc, p_.accumulators.size()), "accumulator");
    if (local) require(within(post.kernel, p_.kernels.size()), "kernel");
  }
  void check_op(const Op& op) const {
    require(within(op.post, p_.posts.size()) && within(op.rank, at(p_.ranks)), "op");
    require(within(op.deps, p_.dep_refs.size()) && within(op.messages, p_.message_refs.size()), "op");
    if (p_.kind_of(op) == PostKind::kBarrier) require(within(op.group, p_.groups.size()), "group");
    for (SetId id : {op.heads, op.seq, op.q, op.k}) check_set(id);
  }

  const Plan& p_;
  const Request& request_;
};

}  // namespace

void check_references(const Plan& plan, const Request& request) { ReferenceCheck(plan, request).check(); }

const DenseTensor& LayerInputs::input(const Value& value) {
  const auto [found, fresh] =
      inputs_.try_emplace({value.tensors.bits, value.layer * kNumAxes + static_cast<int>(value.columns)});
  if (fresh) found->second = dense_input(request_, value.tensors, value.columns, value.layer, seed_);
  return found->second;
}

const Weight& LayerInputs::weight(const std::string& name) {
  const auto found = weights_.find(name);
  if (found != weights_.end()) return found->second;
  const auto kernel = std::ranges::find(request_.kernels, name, &Kernel::name);
  require(kernel != request_.kernels.end(), "the layer has no such contraction");
  return weights_.try_emplace(name, request_, *kernel, seed_).first->second;
}

PlanRun::PlanRun(const Plan& plan, const Request& request, LayerInputs& inputs)
    : plan_(plan), request_(request), inputs_(inputs) {}

void PlanRun::start() {
  check_references(plan_, request_);
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
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id) {
    const Op& op = plan_.ops[at(id)];
    lanes_[at(op.rank) * at(plan_.lanes) + at(plan_.post_of(op).lane)].push_back(id);
  }
  for (const Value& v : plan_.values) widths_.push_back(tensor_set_width(request_, v.tensors));
  count_users();
  place_inputs();
}

void PlanRun::place_inputs() {
  for (ValueId id = 0; id < static_cast<ValueId>(plan_.values.size()); ++id) {
    const Value& v = plan_.values[at(id)];
    if (!v.given) continue;
    const DenseTensor& whole = inputs_.input(v);
    for (int rank = 0; rank < plan_.ranks; ++rank)
      for (const Box& box : v.placement.at(rank))
        for_each_cell(box, [&](int c, int o, int i) {
          require(whole.has(c, o, i), "an input lies outside of its tensor");
          write_cell(id, rank, c, o, i, whole.at(c, o, i), static_cast<int>(whole.cell_elements()));
        });
  }
}

// Users of a buffer: the ops that write or read it. Views have none: their sources are used.
void PlanRun::count_users() {
  users_.assign(values_.size(), 0);
  used_by_op_.resize(plan_.ops.size());
  const auto bases = [&](ValueId value, auto&& visit) { for_each_base(plan_, value, visit); };
  for (std::size_t i = 0; i < plan_.ops.size(); ++i) {
    const Op& op = plan_.ops[i];
    std::vector<std::size_t>& used = used_by_op_[i];
    for_each_read(plan_, op, [&](int rank, ValueId value, const Box&) {
      bases(value, [&](ValueId base) { used.push_back(slot(base, rank)); });
    });
    const Post& post = plan_.post_of(op);
    if (post.kind == PostKind::kLocal || post.kind == PostKind::kFinish) used.push_back(slot(post.dst, op.rank));
    if (moves(post.kind) || post.kind == PostKind::kReduce)
      for_each_fill(plan_, op, [&](int rank, ValueId value, const Box&) { used.push_back(slot(value, rank)); });
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (std::size_t buffer : used) ++users_[buffer];
  }
  for (const Output& output : plan_.outputs)
    bases(output.value, [&](ValueId base) {
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
  const PostKind kind = plan_.kind_of(op);
  if (!two_sided(kind)) return;
  posted_[post_rank(op.post, op.rank)] = 1;
  if (kind == PostKind::kBarrier) return;
  for (MessageId id : plan_.messages_of(op)) {
    const Message& m = plan_.messages[at(id)];
    if (m.src == op.rank) mail_[{op.post, m.src, m.dst}].push_back(carry(m, source_of(plan_, plan_.post_of(op), m)));
  }
}

bool PlanRun::partners_posted(const Op& op) const {
  if (plan_.kind_of(op) == PostKind::kBarrier)
    return std::ranges::all_of(plan_.group(op.group), [&](int rank) { return posted(op.post, rank); });
  std::map<int, std::size_t> expected;
  for (MessageId id : plan_.messages_of(op)) {
    const Message& m = plan_.messages[at(id)];
    if (m.dst == op.rank)
      ++expected[m.src];
    else if (!posted(op.post, m.dst))
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

}  // namespace spscope::testing
