#include "backend/exchange/plan_json.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

using nlohmann::ordered_json;

constexpr int kSchemaVersionOfOps = 1;
constexpr const char* kAxisNames[kNumAxes] = {"heads", "hidden", "ffn", "stat"};

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

ordered_json id_or_null(std::int32_t id) { return id == kNone ? ordered_json(nullptr) : ordered_json(id); }

const char* axis_name(Axis axis) { return kAxisNames[static_cast<int>(axis)]; }
const char* attended_name(AttendedAxis axis) { return axis == AttendedAxis::kInner ? "inner" : "outer"; }

ordered_json names_of(TensorSet tensors) {
  ordered_json names = ordered_json::array();
  for (int t = 0; t < kNumTensors; ++t)
    if (tensors.has(static_cast<Tensor>(t))) names.push_back(tensor_name(static_cast<Tensor>(t)));
  return names;
}

class PlanPrinter {
 public:
  PlanPrinter(std::ostream& out, const Plan& plan, const KernelCostProfile& cost, const Network& network)
      : out_(out), plan_(plan), cost_(cost), times_(schedule(plan, op_durations(plan, cost), network)) {}

  void print(const std::string& strategy, const std::string& label);

 private:
  // One key of the plan's object: a list, an element a line.
  template <typename List, typename ToJson>
  void print_list(const char* key, const List& list, ToJson&& to_json) {
    fmt::print(out_, ",\n\"{}\": [", key);
    const char* before = "\n";
    std::int32_t id = 0;
    for (const auto& element : list) {
      fmt::print(out_, "{}{}", before, to_json(id++, element).dump());
      before = ",\n";
    }
    fmt::print(out_, "]");
  }

  int set(SetId id);
  ordered_json box(const Box& b) { return {set(b.columns), set(b.outer), set(b.inner)}; }
  ordered_json placement(const Placement& where);
  ordered_json value(ValueId id, const Value& v);
  ordered_json accumulator(AccId id, const Accumulator& acc) const;
  ordered_json kernel(KernelId id, const Kernel& k) const;
  ordered_json post(PostId id, const Post& p) const;
  ordered_json message(MessageId id, const Message& m);
  ordered_json op(OpId id, const Op& o);

  std::ostream& out_;
  const Plan& plan_;
  const KernelCostProfile& cost_;
  Timeline times_;
  std::vector<int> numbers_;     // of the sets that were printed, by SetId; kNone: not yet
  std::vector<SetId> sets_;      // by number
  std::vector<PostId> sent_in_;  // post of each message
};

// Sets are numbered as they are met, because the table also holds those of other plans.
int PlanPrinter::set(SetId id) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= numbers_.size()) numbers_.resize(index + 1, kNone);
  if (numbers_[index] == kNone) {
    numbers_[index] = static_cast<int>(sets_.size());
    sets_.push_back(id);
  }
  return numbers_[index];
}

ordered_json PlanPrinter::placement(const Placement& where) {
  ordered_json ranks = ordered_json::array();
  for (int rank = 0; rank < where.ranks(); ++rank) {
    ordered_json boxes = ordered_json::array();
    for (const Box& b : where.at(rank)) boxes.push_back(box(b));
    ranks.push_back(std::move(boxes));
  }
  return ranks;
}

ordered_json PlanPrinter::value(ValueId id, const Value& v) {
  return {{"id", id},
          {"tensors", names_of(v.tensors)},
          {"columns", axis_name(v.columns)},
          {"attention", v.layer},
          {"element_bytes", plan_.element_bytes(v)},
          {"cell_bytes", plan_.cell_bytes(v)},
          {"given", v.given},
          {"sources", plan_.value_list(v.sources)},
          {"partial", id_or_null(v.partial)},
          {"pending", plan_.group_list(v.pending)},
          {"placement", placement(v.placement)}};
}

ordered_json PlanPrinter::accumulator(AccId id, const Accumulator& acc) const {
  return {
      {"id", id}, {"queries", acc.q}, {"axis", attended_name(acc.axis)}, {"slices", plan_.masks[at(acc.mask)].slices}};
}

ordered_json PlanPrinter::kernel(KernelId id, const Kernel& k) const {
  return {{"id", id},
          {"name", k.name},
          {"contracts", k.contracts},
          {"in", axis_name(k.in)},
          {"out", axis_name(k.out)},
          {"tensors", names_of(k.tensors)},
          {"flops_per_cell", k.flops_per_cell},
          {"flops_per_column", k.flops_per_column}};
}

ordered_json PlanPrinter::post(PostId id, const Post& p) const {
  return {{"id", id},
          {"kind", post_kind_name(p.kind)},
          {"lane", p.lane},
          {"src", id_or_null(p.src)},
          {"dst", id_or_null(p.dst)},
          {"operands", plan_.value_list(p.operands)},
          {"kernel", id_or_null(p.kernel)},
          {"accumulator", id_or_null(p.acc)},
          {"ring_step", p.kind == PostKind::kAttend ? ordered_json(p.ring_step) : ordered_json(nullptr)},
          {"balances", p.balances}};
}

ordered_json PlanPrinter::message(MessageId id, const Message& m) {
  const Value& v = plan_.values[at(plan_.posts[at(sent_in_[at(id)])].src)];
  ordered_json tensors = ordered_json::object();
  const std::int64_t elements = volume(*plan_.sets, m.box) * plan_.batch;
  for (int t = 0; t < kNumTensors; ++t)
    if (v.tensors.has(static_cast<Tensor>(t)))
      tensors[tensor_name(static_cast<Tensor>(t))] =
          m.src == m.dst ? 0 : elements * plan_.tensor_width[t] * plan_.element_bytes(v);
  return {{"id", id},          {"post", sent_in_[at(id)]}, {"from", m.src},     {"to", m.dst},
          {"box", box(m.box)}, {"bytes", m.bytes},         {"tensors", tensors}};
}

ordered_json PlanPrinter::op(OpId id, const Op& o) {
  const PostKind kind = plan_.kind_of(o);
  const OpTimes& times = times_.ops[at(id)];
  const double cost_ns = op_cost_ns(plan_, o, cost_);
  ordered_json object = {{"id", id},
                         {"post", o.post},
                         {"kind", post_kind_name(kind)},
                         {"lane", plan_.post_of(o).lane},
                         {"rank", o.rank},
                         {"group", id_or_null(o.group)},
                         {"after", plan_.deps(o)},
                         {"messages", plan_.messages_of(o)}};
  if (kind == PostKind::kAttend) {
    object["ring_step"] = plan_.post_of(o).ring_step;
    object["heads"] = set(o.heads);
    object["sequences"] = set(o.seq);
    object["queries"] = set(o.q);
    object["keys"] = set(o.k);
    object["tiles"] = o.tiles;
    object["area"] = attend_area(plan_, o);
    object["rows"] = attend_num_rows(plan_, o);
  } else if (!communicates(kind)) {
    object["bytes_touched"] = bytes_touched(plan_, o);
  }
  object["flops"] = o.flops;
  object["cost_ns"] = cost_ns;
  object["post_ns"] = times.post_ns;
  object["begin_ns"] = times.begin_ns;
  object["end_ns"] = times.end_ns;
  return object;
}

void PlanPrinter::print(const std::string& strategy, const std::string& label) {
  sent_in_.assign(plan_.messages.size(), kNone);
  for (const Op& o : plan_.ops)
    for (const MessageId m : plan_.messages_of(o)) sent_in_[at(m)] = o.post;
  ordered_json width = ordered_json::object();
  for (int t = 0; t < kNumTensors; ++t) width[tensor_name(static_cast<Tensor>(t))] = plan_.tensor_width[t];
  ordered_json columns = ordered_json::object();
  for (int a = 0; a < kNumAxes; ++a) columns[kAxisNames[a]] = plan_.num_columns[a];
  fmt::print(out_,
             "{{\"strategy\": {}, \"label\": {}, \"ranks\": {}, \"lanes\": {}, \"makespan_ns\": {},\n\"num_columns\": "
             "{},\n\"tensor_width\": {}",
             ordered_json(strategy).dump(), ordered_json(label).dump(), plan_.ranks, plan_.lanes, times_.makespan_ns(),
             columns.dump(), width.dump());
  print_list("values", plan_.values, [&](std::int32_t id, const Value& v) { return value(id, v); });
  print_list("accumulators", plan_.accumulators,
             [&](std::int32_t id, const Accumulator& a) { return accumulator(id, a); });
  print_list("kernels", plan_.kernels, [&](std::int32_t id, const Kernel& k) { return kernel(id, k); });
  print_list("posts", plan_.posts, [&](std::int32_t id, const Post& p) { return post(id, p); });
  print_list("groups", plan_.groups, [&](std::int32_t id, const IdRange&) {
    return ordered_json(std::vector<int>(plan_.group(id).begin(), plan_.group(id).end()));
  });
  print_list("ops", plan_.ops, [&](std::int32_t id, const Op& o) { return op(id, o); });
  print_list("messages", plan_.messages, [&](std::int32_t id, const Message& m) { return message(id, m); });
  print_list("outputs", plan_.outputs, [&](std::int32_t, const Output& o) {
    return ordered_json{{"value", o.value}, {"placement", placement(o.placement)}};
  });
  print_list("sets", sets_, [&](std::int32_t, SetId id) {
    ordered_json spans = ordered_json::array();
    for (const Span& s : plan_.sets->spans(id)) spans.push_back(ordered_json::array({s.begin, s.end}));
    return spans;
  });
  fmt::print(out_, "}}");
}

ordered_json workload_json(const Request& request) {
  ordered_json masks = ordered_json::array();
  for (const AttendedAxis axis : {AttendedAxis::kInner, AttendedAxis::kOuter}) {
    if (!request.attends(axis)) continue;
    const BlockMask& mask = request.executed_mask(axis).mask();
    masks.push_back(
        {{"axis", attended_name(axis)}, {"block_starts", mask.coarse_starts()}, {"density", mask.density()}});
  }
  return {{"heads", request.heads},
          {"head_dim", request.head_dim},
          {"hidden", request.hidden},
          {"ffn", request.ffn},
          {"grid", {request.grid[0], request.grid[1], request.grid[2]}},
          {"outer_tokens", request.outer_tokens},
          {"inner_tokens", request.inner_tokens},
          {"text_tokens", request.text_tokens},
          {"text_first", request.text_first},
          {"text", choice_name(request.text)},
          {"context_tokens", request.context_tokens},
          {"scope", request.block == LayerBlock::kAttention ? "attention" : "layer"},
          {"batch", request.batch},
          {"dtype", dtype_name(request.dtype)},
          {"masks", masks}};
}

ordered_json cluster_json(ClusterPreset preset, const Network& network) {
  ordered_json numbers = {{"name", preset.name}};
  for (const ClusterFieldRow& row : cluster_fields())
    numbers[std::string(row.section)][std::string(row.key)] = row.ref(preset);
  numbers["node_of_rank"] = ordered_json::array();
  for (int rank = 0; rank < network.ranks; ++rank) numbers["node_of_rank"].push_back(network.node(rank));
  return numbers;
}

}  // namespace

PlanJson::PlanJson(std::ostream& out, std::string_view tool_version, const Request& request,
                   const ClusterPreset& preset, const Network& network, int layer, int denoise_step)
    : out_(out), preset_(preset), network_(network) {
  fmt::print(out_,
             "{{\"schema_version\": {}, \"tool_version\": {}, \"layer\": {}, \"denoise_step\": {},\n\"workload\": "
             "{},\n\"cluster\": {},\n\"plans\": [",
             kSchemaVersionOfOps, ordered_json(tool_version).dump(), layer, denoise_step, workload_json(request).dump(),
             cluster_json(preset, network).dump());
}

void PlanJson::add(const std::string& strategy, const std::string& label, const Plan& plan) {
  fmt::print(out_, "{}\n", num_plans_++ == 0 ? "" : ",");
  PlanPrinter(out_, plan, preset_.cost, network_).print(strategy, label);
}

void PlanJson::end() { fmt::print(out_, "]}}\n"); }

}  // namespace spscope
