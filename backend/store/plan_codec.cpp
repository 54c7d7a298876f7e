#include "backend/store/plan_codec.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/base/stop_point.h"
#include "backend/plan/verify.h"

namespace spscope {

namespace {

constexpr std::uint32_t kPlanMagic = 0x4e4c5053;  // "SPLN"
// 2: posts have their collective.
constexpr std::int64_t kPlanVersion = 3;
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
// More than any cluster has; keeps arrays by rank small when the file is hostile.
constexpr std::int64_t kMaxRanks = 1 << 20;
constexpr std::int64_t kMaxLanes = 1 << 10;

std::int64_t count_of(std::size_t n) { return static_cast<std::int64_t>(n); }

// -- writing

class PlanEncoder {
 public:
  explicit PlanEncoder(const Plan& plan) : plan_(plan) {}

  std::vector<std::uint8_t> encode() {
    out_.fixed32(kPlanMagic);
    out_.number(kPlanVersion);
    shape();
    sets();
    references();
    graph();
    values();
    return std::move(out_).finish();
  }

 private:
  void shape() {
    for (int x : {plan_.ranks, plan_.lanes, plan_.batch, static_cast<int>(plan_.dtype)}) out_.number(x);
    for (std::int32_t n : plan_.num_columns) out_.number(n);
    for (std::int32_t n : plan_.tensor_width) out_.number(n);
    out_.number(plan_.outer_tokens);
    out_.number(plan_.inner_tokens);
  }

  void note(SetId id) {
    if (number_of_.emplace(id, static_cast<std::int64_t>(used_.size())).second) used_.push_back(id);
  }
  void note(const Box& box) {
    for (SetId id : {box.columns, box.outer, box.inner}) note(id);
  }

  void sets() {
    note(kEmptySet);
    for (const Op& op : plan_.ops) {
      stop_point();
      for (SetId id : {op.heads, op.seq, op.q, op.k}) note(id);
    }
    for (const Message& message : plan_.messages) note(message.box);
    for (const Value& value : plan_.values)
      for (const Box& box : value.placement.boxes()) note(box);
    for (const Output& output : plan_.outputs)
      for (const Box& box : output.placement.boxes()) note(box);
    out_.unsigned_number(used_.size());
    for (SetId id : used_) {
      const std::span<const Span> spans = plan_.sets->spans(id);
      out_.unsigned_number(spans.size());
      std::int32_t at = 0;
      for (const Span& span : spans) {
        out_.number(span.begin - at);
        out_.number(span.size());
        at = span.end;
      }
    }
  }

  void set(SetId id) { out_.number(number_of_.at(id)); }
  void box(const Box& box) {
    set(box.columns);
    set(box.outer);
    set(box.inner);
  }
  void placement(const Placement& placement) {
    SPSCOPE_CHECK(placement.ranks() == plan_.ranks);
    for (int rank = 0; rank < placement.ranks(); ++rank) {
      out_.unsigned_number(placement.at(rank).size());
      for (const Box& held : placement.at(rank)) box(held);
    }
  }
  // Relative to the end of the range before it.
  void range(IdRange range, std::int32_t& last_end) {
    out_.number(range.begin - last_end);
    out_.number(range.size());
    last_end = range.end;
  }
  void list(const std::vector<std::int32_t>& ids) {
    out_.unsigned_number(ids.size());
    std::int32_t last = 0;
    for (std::int32_t id : ids) {
      out_.number(std::int64_t{id} - last);
      last = id;
    }
  }

  void references() {
    list(plan_.dep_refs);
    list(plan_.message_refs);
    list(plan_.value_refs);
    list(plan_.group_refs);
    list(plan_.group_members);
    out_.unsigned_number(plan_.groups.size());
    std::int32_t end = 0;
    for (IdRange group : plan_.groups) range(group, end);
  }

  void graph() {
    out_.unsigned_number(plan_.posts.size());
    std::int32_t operands_end = 0;
    for (const Post& post : plan_.posts) {
      out_.number(static_cast<int>(post.kind));
      for (std::int32_t x : {post.lane, post.src, post.dst}) out_.number(x);
      range(post.operands, operands_end);
      for (std::int32_t x : {post.kernel, post.acc, post.ring_step}) out_.number(x);
      out_.number((post.balances ? 1 : 0) + (post.by_index ? 2 : 0));
      out_.number(static_cast<int>(post.collective));
      out_.number(post.collective_steps);
    }
    out_.unsigned_number(plan_.ops.size());
    std::int32_t post = 0, deps_end = 0, messages_end = 0;
    for (const Op& op : plan_.ops) {
      stop_point();
      out_.number(op.post - post);
      post = op.post;
      out_.number(op.rank);
      out_.number(op.group);
      range(op.deps, deps_end);
      range(op.messages, messages_end);
      for (SetId id : {op.heads, op.seq, op.q, op.k}) set(id);
      out_.number(op.tiles);
      out_.number(op.flops);
    }
    out_.unsigned_number(plan_.messages.size());
    for (const Message& message : plan_.messages) {
      out_.number(message.src);
      out_.number(message.dst);
      box(message.box);
      out_.number(message.bytes);
    }
  }

  void values() {
    out_.unsigned_number(plan_.values.size());
    std::int32_t pending_end = 0, sources_end = 0;
    for (const Value& value : plan_.values) {
      out_.number(value.tensors.bits);
      out_.number(static_cast<int>(value.columns));
      placement(value.placement);
      out_.number(value.layer);
      range(value.pending, pending_end);
      out_.number(value.partial);
      range(value.sources, sources_end);
      out_.number(value.given ? 1 : 0);
    }
    out_.unsigned_number(plan_.accumulators.size());
    for (const Accumulator& acc : plan_.accumulators)
      for (std::int64_t x : {std::int64_t{acc.q}, static_cast<std::int64_t>(acc.axis), std::int64_t{acc.mask}})
        out_.number(x);
    out_.unsigned_number(plan_.masks.size());
    for (const MaskUse& mask : plan_.masks) {
      out_.number(static_cast<int>(mask.axis));
      out_.number(mask.slices);
    }
    out_.unsigned_number(plan_.kernels.size());
    for (const Kernel& kernel : plan_.kernels) {
      out_.text(kernel.name);
      for (int x : {kernel.contracts ? 1 : 0, static_cast<int>(kernel.in), static_cast<int>(kernel.out),
                    static_cast<int>(kernel.tensors.bits), kernel.whole_rows ? 1 : 0})
        out_.number(x);
      out_.number(kernel.flops_per_cell);
      out_.number(kernel.flops_per_column);
    }
    out_.unsigned_number(plan_.outputs.size());
    for (const Output& output : plan_.outputs) {
      out_.number(output.value);
      placement(output.placement);
    }
  }

  const Plan& plan_;
  ByteWriter out_;
  std::vector<SetId> used_;
  std::unordered_map<SetId, std::int64_t> number_of_;
};

// -- reading

class PlanDecoder {
 public:
  explicit PlanDecoder(std::span<const std::uint8_t> bytes) : in_(bytes, "a plan") {}

  Plan decode() {
    if (in_.fixed32() != kPlanMagic) in_.fail("it is not a plan");
    version_ = in_.number_in(1, kPlanVersion);
    shape();
    sets();
    references();
    graph();
    values();
    in_.expect_end();
    check_plan();
    mark_merges(plan_);
    return std::move(plan_);
  }

 private:
  void shape() {
    plan_.ranks = in_.number32(1, kMaxRanks);
    plan_.lanes = in_.number32(1, kMaxLanes);
    plan_.batch = in_.number32(0);
    plan_.dtype = static_cast<Dtype>(in_.number_in(0, 1));
    for (std::int32_t& n : plan_.num_columns) n = in_.number32(0);
    for (std::int32_t& n : plan_.tensor_width) n = in_.number32(0);
    plan_.outer_tokens = in_.number32(0);
    plan_.inner_tokens = in_.number32(0);
  }

  void sets() {
    plan_.sets = std::make_shared<SetTable>();
    const std::size_t n = in_.count();
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<Span> spans(in_.count(2));
      std::int64_t at = 0;
      for (Span& span : spans) {
        at += in_.number_in(0, kMaxInt - at);
        span.begin = static_cast<std::int32_t>(at);
        at += in_.number_in(1, kMaxInt - at);
        span.end = static_cast<std::int32_t>(at);
      }
      sets_.push_back(plan_.sets->of(std::move(spans)));
    }
    if (sets_.empty() || sets_[0] != kEmptySet) in_.fail("it lacks the empty set");
  }

  SetId set() { return sets_[static_cast<std::size_t>(in_.number_in(0, count_of(sets_.size()) - 1))]; }
  Box box() {
    Box box;
    box.columns = set();
    box.outer = set();
    box.inner = set();
    return box;
  }
  Placement placement() {
    return Placement::make(plan_.ranks, [&](int) {
      BoxList boxes(in_.count(3));
      for (Box& held : boxes) held = box();
      return boxes;
    });
  }
  IdRange range(std::int32_t& last_end) {
    IdRange range;
    range.begin = static_cast<std::int32_t>(last_end + in_.number_in(-std::int64_t{last_end}, kMaxInt - last_end));
    range.end = static_cast<std::int32_t>(range.begin + in_.number_in(0, kMaxInt - range.begin));
    last_end = range.end;
    return range;
  }
  std::vector<std::int32_t> list() {
    std::vector<std::int32_t> ids(in_.count());
    std::int64_t last = 0;
    for (std::int32_t& id : ids) {
      last += in_.number_in(-last, kMaxInt - last);
      id = static_cast<std::int32_t>(last);
    }
    return ids;
  }
  // An id of `n` elements, or kNone.
  std::int32_t id_or_none() { return in_.number32(kNone); }

  void references() {
    plan_.dep_refs = list();
    plan_.message_refs = list();
    plan_.value_refs = list();
    plan_.group_refs = list();
    plan_.group_members = list();
    plan_.groups.resize(in_.count(2));
    std::int32_t end = 0;
    for (IdRange& group : plan_.groups) group = range(end);
  }

  void graph() {
    plan_.posts.resize(in_.count(10));
    std::int32_t operands_end = 0;
    for (Post& post : plan_.posts) {
      post.kind = static_cast<PostKind>(in_.number_in(0, kNumPostKinds - 1));
      post.lane = in_.number32(0, plan_.lanes - 1);
      post.src = id_or_none();
      post.dst = id_or_none();
      post.operands = range(operands_end);
      post.kernel = id_or_none();
      post.acc = id_or_none();
      post.ring_step = in_.number32();
      const std::int64_t flags = in_.number_in(0, version_ < 3 ? 1 : 3);
      post.balances = flags % 2 == 1;
      post.by_index = flags >= 2;
      if (version_ == 1) continue;
      post.collective = static_cast<Collective>(in_.number_in(0, kNumCollectives - 1));
      post.collective_steps = in_.number32(1);
    }
    plan_.ops.resize(in_.count(13));
    std::int64_t last_post = 0;
    std::int32_t deps_end = 0, messages_end = 0;
    for (Op& op : plan_.ops) {
      last_post += in_.number_in(-last_post, kMaxInt - last_post);
      op.post = static_cast<PostId>(last_post);
      op.rank = in_.number32(0, std::int64_t{plan_.ranks} - 1);
      op.group = id_or_none();
      op.deps = range(deps_end);
      op.messages = range(messages_end);
      for (SetId* id : {&op.heads, &op.seq, &op.q, &op.k}) *id = set();
      op.tiles = in_.number_in(0, std::numeric_limits<std::int64_t>::max());
      op.flops = in_.number_in(0, std::numeric_limits<std::int64_t>::max());
    }
    plan_.messages.resize(in_.count(6));
    for (Message& message : plan_.messages) {
      message.src = in_.number32(0, std::int64_t{plan_.ranks} - 1);
      message.dst = in_.number32(0, std::int64_t{plan_.ranks} - 1);
      message.box = box();
      message.bytes = in_.number_in(0, std::numeric_limits<std::int64_t>::max());
    }
  }

  TensorSet tensors() {
    TensorSet tensors;
    tensors.bits = static_cast<std::uint16_t>(in_.number_in(0, (1 << kNumTensors) - 1));
    return tensors;
  }
  Axis axis() { return static_cast<Axis>(in_.number_in(0, kNumAxes - 1)); }
  AttendedAxis attended_axis() { return static_cast<AttendedAxis>(in_.number_in(1, 2)); }

  void values() {
    plan_.values.resize(in_.count(9));
    std::int32_t pending_end = 0, sources_end = 0;
    for (Value& value : plan_.values) {
      value.tensors = tensors();
      value.columns = axis();
      value.placement = placement();
      value.layer = in_.number32();
      value.pending = range(pending_end);
      value.partial = id_or_none();
      value.sources = range(sources_end);
      value.given = in_.number_in(0, 1) != 0;
    }
    plan_.accumulators.resize(in_.count(3));
    for (Accumulator& acc : plan_.accumulators) {
      acc.q = id_or_none();
      acc.axis = attended_axis();
      acc.mask = id_or_none();
    }
    plan_.masks.resize(in_.count(2));
    for (MaskUse& mask : plan_.masks) {
      mask.axis = attended_axis();
      mask.slices = in_.number32(1);
    }
    plan_.kernels.resize(in_.count(8));
    for (Kernel& kernel : plan_.kernels) {
      kernel.name = in_.text();
      kernel.contracts = in_.number_in(0, 1) != 0;
      kernel.in = axis();
      kernel.out = axis();
      kernel.tensors = tensors();
      kernel.whole_rows = in_.number_in(0, 1) != 0;
      for (std::int64_t* flops : {&kernel.flops_per_cell, &kernel.flops_per_column})
        *flops = in_.number_in(0, std::numeric_limits<std::int64_t>::max());
    }
    plan_.outputs.resize(in_.count());
    for (Output& output : plan_.outputs) {
      output.value = id_or_none();
      output.placement = placement();
    }
  }

  // Sound bytes of a plan that nobody could read without harm.
  void check_plan() const {
    const std::vector<PlanProblem> problems = check_form(plan_);
    if (problems.empty()) return;
    in_.fail(fmt::format("it breaks the rule {}: {}", rule_name(problems.front().rule), problems.front().text));
  }

  ByteReader in_;
  std::int64_t version_ = kPlanVersion;
  Plan plan_;
  std::vector<SetId> sets_;
};

}  // namespace

std::vector<std::uint8_t> encode_plan(const Plan& plan) { return PlanEncoder(plan).encode(); }

Plan decode_plan(std::span<const std::uint8_t> bytes) { return PlanDecoder(bytes).decode(); }

}  // namespace spscope
