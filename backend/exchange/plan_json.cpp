#include "backend/exchange/plan_json.h"

#include <fmt/format.h>

#include <ostream>

#include "backend/base/ids.h"
#include "backend/base/json.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

constexpr int kSchemaVersionOfOps = 1;
constexpr const char* kAxisNames[kNumAxes] = {"heads", "hidden", "ffn", "stat"};

Json id_or_null(std::int32_t id) { return id == kNone ? Json(nullptr) : Json(id); }

const char* axis_name(Axis axis) { return kAxisNames[static_cast<int>(axis)]; }
const char* attended_name(AttendedAxis axis) { return axis == AttendedAxis::kInner ? "inner" : "outer"; }

Json names_of(TensorSet tensors) {
  Json names = Json::array();
  for (int t = 0; t < kNumTensors; ++t)
    if (tensors.has(static_cast<Tensor>(t))) names.push_back(tensor_name(static_cast<Tensor>(t)));
  return names;
}

class PlanPrinter {
 public:
  PlanPrinter(std::ostream& out, const Plan& plan, const KernelCostProfile& cost, const Network& network)
      : out_(out),
        plan_(plan),
        cost_(cost),
        issue_ns_(host_times(plan, cost).issue_ns),
        times_(schedule(plan, op_durations(plan, cost), network, issue_ns_)) {}

  void print(const std::string& strategy, const std::string& label);

 private:
  // One key of the plan's object: a list, an element a line.
  template <typename List, typename ToJson>
  void print_list(const char* key, const List& list, ToJson&& to_json) {
    out_ << fmt::format(",\n\"{}\": [", key);
    const char* before = "\n";
    std::int32_t id = 0;
    for (const auto& element : list) {
      out_ << fmt::format("{}{}", before, to_json(id++, element).dump());
      before = ",\n";
    }
    out_ << fmt::format("]");
  }

  int set(SetId id);
  Json box(const Box& b) { return {set(b.columns), set(b.outer), set(b.inner)}; }
  Json placement(const Placement& where);
  Json value(ValueId id, const Value& v);
  Json accumulator(AccId id, const Accumulator& acc) const;
  Json kernel(KernelId id, const Kernel& k) const;
  Json post(PostId id, const Post& p) const;
  Json message(MessageId id, const Message& m);
  Json op(OpId id, const Op& o);

  std::ostream& out_;
  const Plan& plan_;
  const KernelCostProfile& cost_;
  std::vector<std::int64_t> issue_ns_;  // by OpId; empty: at once
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

Json PlanPrinter::placement(const Placement& where) {
  Json ranks = Json::array();
  for (int rank = 0; rank < where.ranks(); ++rank) {
    Json boxes = Json::array();
    for (const Box& b : where.at(rank)) boxes.push_back(box(b));
    ranks.push_back(std::move(boxes));
  }
  return ranks;
}

Json PlanPrinter::value(ValueId id, const Value& v) {
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

Json PlanPrinter::accumulator(AccId id, const Accumulator& acc) const {
  return {
      {"id", id}, {"queries", acc.q}, {"axis", attended_name(acc.axis)}, {"slices", plan_.masks[at(acc.mask)].slices}};
}

Json PlanPrinter::kernel(KernelId id, const Kernel& k) const {
  return {{"id", id},
          {"name", k.name},
          {"contracts", k.contracts},
          {"in", axis_name(k.in)},
          {"out", axis_name(k.out)},
          {"tensors", names_of(k.tensors)},
          {"flops_per_cell", k.flops_per_cell},
          {"flops_per_column", k.flops_per_column}};
}

Json PlanPrinter::post(PostId id, const Post& p) const {
  return {{"id", id},
          {"kind", post_kind_name(p.kind)},
          {"lane", p.lane},
          {"src", id_or_null(p.src)},
          {"dst", id_or_null(p.dst)},
          {"operands", plan_.value_list(p.operands)},
          {"kernel", id_or_null(p.kernel)},
          {"accumulator", id_or_null(p.acc)},
          {"ring_step", p.kind == PostKind::kAttend ? Json(p.ring_step) : Json(nullptr)},
          {"balances", p.balances},
          {"by_index", p.by_index},
          {"collective", communicates(p.kind) ? Json(collective_name(p.collective)) : Json(nullptr)},
          {"collective_steps", p.collective_steps}};
}

Json PlanPrinter::message(MessageId id, const Message& m) {
  const Value& v = plan_.values[at(plan_.posts[at(sent_in_[at(id)])].src)];
  Json tensors = Json::object();
  const std::int64_t elements = volume(*plan_.sets, m.box) * plan_.batch;
  for (int t = 0; t < kNumTensors; ++t)
    if (v.tensors.has(static_cast<Tensor>(t)))
      tensors[tensor_name(static_cast<Tensor>(t))] =
          m.src == m.dst ? 0 : elements * plan_.tensor_width[t] * plan_.element_bytes(v);
  return {{"id", id},          {"post", sent_in_[at(id)]}, {"from", m.src},     {"to", m.dst},
          {"box", box(m.box)}, {"bytes", m.bytes},         {"tensors", tensors}};
}

Json PlanPrinter::op(OpId id, const Op& o) {
  const PostKind kind = plan_.kind_of(o);
  const OpTimes& times = times_.ops[at(id)];
  const double cost_ns = op_cost_ns(plan_, o, cost_);
  Json object = {{"id", id},
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
  if (!issue_ns_.empty()) object["issue_ns"] = issue_ns_[at(id)];
  object["post_ns"] = times.post_ns;
  object["begin_ns"] = times.begin_ns;
  object["end_ns"] = times.end_ns;
  return object;
}

void PlanPrinter::print(const std::string& strategy, const std::string& label) {
  sent_in_.assign(plan_.messages.size(), kNone);
  for (const Op& o : plan_.ops)
    for (const MessageId m : plan_.messages_of(o)) sent_in_[at(m)] = o.post;
  Json width = Json::object();
  for (int t = 0; t < kNumTensors; ++t) width[tensor_name(static_cast<Tensor>(t))] = plan_.tensor_width[t];
  Json columns = Json::object();
  for (int a = 0; a < kNumAxes; ++a) columns[kAxisNames[a]] = plan_.num_columns[a];
  out_ << fmt::format(
      "{{\"strategy\": {}, \"label\": {}, \"ranks\": {}, \"lanes\": {}, \"makespan_ns\": {},\n\"num_columns\": "
      "{},\n\"tensor_width\": {}",
      Json(strategy).dump(), Json(label).dump(), plan_.ranks, plan_.lanes, times_.makespan_ns(), columns.dump(),
      width.dump());
  print_list("values", plan_.values, [&](std::int32_t id, const Value& v) { return value(id, v); });
  print_list("accumulators", plan_.accumulators,
             [&](std::int32_t id, const Accumulator& a) { return accumulator(id, a); });
  print_list("kernels", plan_.kernels, [&](std::int32_t id, const Kernel& k) { return kernel(id, k); });
  print_list("posts", plan_.posts, [&](std::int32_t id, const Post& p) { return post(id, p); });
  print_list("groups", plan_.groups, [&](std::int32_t id, const IdRange&) {
    return Json(std::vector<int>(plan_.group(id).begin(), plan_.group(id).end()));
  });
  print_list("ops", plan_.ops, [&](std::int32_t id, const Op& o) { return op(id, o); });
  print_list("messages", plan_.messages, [&](std::int32_t id, const Message& m) { return message(id, m); });
  print_list("outputs", plan_.outputs, [&](std::int32_t, const Output& o) {
    return Json{{"value", o.value}, {"placement", placement(o.placement)}};
  });
  print_list("sets", sets_, [&](std::int32_t, SetId id) {
    Json spans = Json::array();
    for (const Span& s : plan_.sets->spans(id)) spans.push_back(Json::array({s.begin, s.end}));
    return spans;
  });
  out_ << fmt::format("}}");
}

Json workload_json(const Request& request) {
  Json masks = Json::array();
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

Json cluster_json(ClusterPreset preset, const Network& network) {
  Json numbers = {{"name", preset.name}};
  for (const ClusterFieldRow& row : cluster_fields())
    numbers[std::string(row.section)][std::string(row.key)] = row.ref(preset);
  numbers["gpus_per_node"] = network.ranks_per_node;
  numbers["ranks_in_use"] = network.ranks_in_use;
  numbers["node_of_rank"] = Json::array();
  for (int rank = 0; rank < network.ranks; ++rank) numbers["node_of_rank"].push_back(network.node(rank));
  return numbers;
}

}  // namespace

PlanJson::PlanJson(std::ostream& out, std::string_view tool_version, const Request& request,
                   const ClusterPreset& preset, const Network& network, int layer, int denoise_step)
    : out_(out), preset_(preset), network_(network) {
  out_ << fmt::format(
      "{{\"schema_version\": {}, \"tool_version\": {}, \"layer\": {}, \"denoise_step\": {},\n\"workload\": "
      "{},\n\"cluster\": {},\n\"plans\": [",
      kSchemaVersionOfOps, Json(tool_version).dump(), layer, denoise_step, workload_json(request).dump(),
      cluster_json(preset, network).dump());
}

void PlanJson::add(const std::string& strategy, const std::string& label, const Plan& plan) {
  out_ << fmt::format("{}\n", num_plans_++ == 0 ? "" : ",");
  PlanPrinter(out_, plan, preset_.cost, network_).print(strategy, label);
}

void PlanJson::end() { out_ << fmt::format("]}}\n"); }

}  // namespace spscope
