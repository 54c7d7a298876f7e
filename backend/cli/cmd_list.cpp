// `spscope list WHAT`: the rows of the program's tables. With --json also type, range, default, unit and help
// of every parameter.
#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "backend/base/json.h"
#include "backend/base/nearest_name.h"
#include "backend/base/number_text.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/config/cluster.h"
#include "backend/config/config_fields.h"
#include "backend/config/model.h"
#include "backend/config/profile_layers.h"
#include "backend/exchange/export.h"
#include "backend/mask/mask_import.h"
#include "backend/mask/pattern.h"
#include "backend/store/figures.h"
#include "backend/strategies/strategy.h"
#include "collectors/collector.h"

namespace spscope {
namespace {

Json to_json(const ParameterValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

const char* type_of(const ParameterValue& value) {
  static constexpr const char* names[] = {"boolean", "integer", "real", "text"};
  return names[value.index()];
}

Json parameters_json(const std::vector<Parameter>& rows) {
  Json list = Json::array();
  for (const Parameter& row : rows) {
    Json entry = {{"name", row.name},
                  {"type", type_of(row.default_value)},
                  {"default", to_json(row.default_value)},
                  {"unit", row.unit},
                  {"help", row.help}};
    if (row.min <= row.max) entry["range"] = {row.min, row.max};
    if (!row.choices.empty()) entry["choices"] = row.choices;
    list.push_back(std::move(entry));
  }
  return list;
}

Json list_keys_of(const std::string& owner, const std::vector<Parameter>& parameters) {
  Json rows = parameters_json(parameters);
  for (Json& row : rows) row["key"] = fmt::format("{}.{}", owner, row["name"].text());
  return rows;
}

Json list_strategies() {
  Json rows = Json::array();
  for (const Strategy& s : strategies())
    rows.push_back({{"name", s.name},
                    {"summary", s.summary},
                    {"parameters", list_keys_of(fmt::format("strategy.{}", s.name), s.parameters())}});
  return rows;
}

Json list_patterns() {
  Json rows = Json::array();
  for (const Pattern& p : patterns())
    rows.push_back({{"name", p.name},
                    {"summary", p.summary},
                    {"evolves", p.evolves},
                    {"parameters", list_keys_of(fmt::format("mask.{}", p.name), p.parameters())}});
  return rows;
}

Json list_models() {
  Json rows = Json::array();
  for (const Model& m : model_presets())
    rows.push_back({{"name", m.name},
                    {"summary", fmt::format("{}x{}x{} tokens, {} heads x {}, {} layers", m.grid[0], m.grid[1],
                                            m.grid[2], m.heads, m.head_dim, m.layers)},
                    {"family", family_name(m.family)},
                    {"grid", m.grid},
                    {"tokens", m.tokens()},
                    {"layers", m.layers},
                    {"hidden", m.hidden},
                    {"heads", m.heads},
                    {"head_dim", m.head_dim},
                    {"ffn", m.ffn},
                    {"text_tokens", m.joint_text_tokens},
                    {"denoise_steps", m.denoise_steps},
                    {"cfg", m.cfg},
                    {"source", m.source}});
  return rows;
}

Json list_clusters() {
  Json rows = Json::array();
  for (std::string_view name : cluster_preset_names()) {
    const ClusterPreset* preset = find_cluster_preset(name);
    Json row = {
        {"name", name}, {"note", preset->note}, {"gpus_per_node", preset->gpus_per_node}, {"sources", preset->sources}};
    ClusterPreset copy = *preset;
    for (const ClusterFieldRow& field : cluster_fields()) row[std::string(field.name)] = field.ref(copy);
    row["origins"] = Json::object();
    for (const auto& [number, origin] : preset->origins) row["origins"][number] = number_origin_name(origin);
    row["ranges"] = Json::object();
    for (const auto& [number, range] : preset->ranges)
      row["ranges"][number] = {{"low", range.low}, {"high", range.high}};
    row["summary"] =
        fmt::format("{:g} GB/s a link, {}", preset->network.link_gbps,
                    preset->network.nic_gbps > 0 ? fmt::format("{:g} GB/s a node", preset->network.nic_gbps)
                                                 : std::string("one node only"));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json number_json(const SourcedNumber& number) {
  Json json = {{"value", number.value}, {"from", number_origin_name(number.from)}, {"source", number.source}};
  if (number.range) {
    json["low"] = number.range->low;
    json["high"] = number.range->high;
  }
  return json;
}

Json list_gpus() {
  Json rows = Json::array();
  for (const std::string_view name : gpu_names()) {
    GpuProfile gpu = *find_gpu(name);
    std::string kernels;
    for (const AttentionKernelProfile& kernel : gpu.kernels)
      kernels += fmt::format("{}{}", kernels.empty() ? "" : ", ", kernel.name);
    Json row = {{"name", gpu.name},
                {"summary", fmt::format("{:g} TFLOP/s, {:g} GB/s, {:.0f} GiB; {}, on sparse masks without a kernel of "
                                        "their own {}; attention kernels {}",
                                        gpu.dense_bf16_tflops.value, gpu.memory_gbps.value, gpu.memory_gib.value,
                                        gpu.dense_kernel, gpu.sparse_kernel, kernels)},
                {"note", gpu.note},
                {"dense_kernel", gpu.dense_kernel},
                {"sparse_kernel", gpu.sparse_kernel}};
    for (const auto& [key, number] : numbers_of(gpu)) row[key] = number_json(*number);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json list_implementations() {
  Json rows = Json::array();
  for (const std::string_view name : implementation_names()) {
    ImplementationProfile implementation = *find_implementation(name);
    Json row = {{"name", implementation.name}, {"summary", implementation.note}};
    for (const auto& [key, number] : numbers_of(implementation)) row[key] = number_json(*number);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json list_formats() {
  Json rows = Json::array();
  for (const MaskImporter& importer : mask_importers())
    rows.push_back({{"name", importer.name},
                    {"summary", importer.summary},
                    {"direction", "import"},
                    {"group", "files that masks are read from: mask.file, spscope mask"},
                    {"unavailable", ""}});
  for (const ExportFormat& format : export_formats())
    rows.push_back({{"name", format.name},
                    {"summary", format.summary},
                    {"direction", "export"},
                    {"group", "formats that a stored run is written in: spscope export"},
                    {"unavailable", ""}});
  return rows;
}

Json list_collectors() {
  Json rows = Json::array();
  for (const CollectorRow& row : collectors()) {
    const std::string why = row.cannot_collect().value_or("");
    rows.push_back({{"name", row.name},
                    {"summary", row.summary},
                    {"available", why.empty()},
                    {"unavailable", why},
                    {"in_place_of", row.in_place_of}});
  }
  return rows;
}

Json list_commands() {
  Json rows = Json::array();
  for (const CommandRow& row : commands()) rows.push_back({{"name", row.name}, {"summary", row.summary}});
  return rows;
}

Json list_keys() {
  Json rows = Json::array();
  const RunConfig defaults;
  for (const FieldRow& field : config_fields()) {
    Json row = {{"name", field.name},
                {"type", field_type(field)},
                {"default", field_toml(field, defaults)},
                {"unit", field.unit},
                {"summary", field.help}};
    if (field.min <= field.max) row["range"] = {field.min, field.max};
    if (const auto choices = field_choices(field); !choices.empty()) row["choices"] = choices;
    rows.push_back(std::move(row));
  }
  const auto add_parameters = [&](const Json& owners) {
    for (const Json& owner : owners)
      for (const Json& p : owner["parameters"]) {
        Json row = {{"name", p["key"]},
                    {"type", p["type"]},
                    {"default", p["default"].dump()},
                    {"unit", p["unit"]},
                    {"summary", p["help"]}};
        for (const char* limit : {"range", "choices"})
          if (p.contains(limit)) row[limit] = p[limit];
        rows.push_back(std::move(row));
      }
  };
  add_parameters(list_patterns());
  add_parameters(list_strategies());
  return rows;
}

Json list_figures() {
  Json rows = Json::array();
  for_each_figure([&](const FigureRow& row, auto) { rows.push_back({{"name", row.name}, {"summary", row.text}}); });
  for_each_rank_figure([&](const FigureRow& list, auto) {
    rows.push_back({{"name", fmt::format("{}[]", list.name)}, {"summary", fmt::format("by rank: {}", list.text)}});
  });
  return rows;
}

struct NamedList {
  std::string_view name;
  Json (*rows)();
};
constexpr NamedList kListings[] = {{"strategies", list_strategies},
                                   {"patterns", list_patterns},
                                   {"models", list_models},
                                   {"clusters", list_clusters},
                                   {"gpus", list_gpus},
                                   {"implementations", list_implementations},
                                   {"formats", list_formats},
                                   {"collectors", list_collectors},
                                   {"commands", list_commands},
                                   {"keys", list_keys},
                                   {"figures", list_figures}};

std::string choices_text(const Json& choices) {
  std::string text;
  for (const Json& choice : choices) text += (text.empty() ? "" : ", ") + choice.text();
  return text;
}

// "default 0.4, (0, 1]", "default \"execute\", one of execute, project, simulate"
std::string limits_text(const Json& row) {
  const Json& value = row["default"];
  std::string text = fmt::format("default {}", value.is_text() ? value.text() : value.dump());
  if (row.contains("choices")) return fmt::format("{}, one of {}", text, choices_text(row["choices"]));
  const FieldRow* field = find_field(row["name"].text());
  if (row.contains("range"))
    text += field != nullptr ? ", " + field_range(*field)
                             : fmt::format(", [{}, {}]", row["range"][0].dump(), row["range"][1].dump());
  const std::string unit = row["unit"].text();
  return unit.empty() ? text : fmt::format("{} {}", text, unit);
}

// Name and summary, and indented lines for limits and parameters; above rows of another group its name.
void print_rows(std::ostream& out, const Json& rows, int width) {
  constexpr int kGap = 2, kMore = 2;
  int names = 0;
  for (const Json& row : rows) names = std::max(names, display_width(row["name"].text()));
  const int from = names + kGap;
  std::string group;
  for (const Json& row : rows) {
    if (const std::string its = row.text_or("group", ""); its != group) {
      out << (group.empty() ? "" : "\n") << wrapped_text(its, width);
      group = its;
    }
    out << hanging_text(row["name"].text(), row.text_or("summary", row.text_or("note", "")), from, width);
    if (row.contains("default")) out << hanging_text("", limits_text(row), from + kMore, width);
    if (const std::string why = row.text_or("unavailable", ""); !why.empty())
      out << hanging_text("", fmt::format("not here: {}", why), from + kMore, width);
    if (!row.contains("parameters")) continue;
    for (const Json& p : row["parameters"])
      out << hanging_text("", fmt::format("{} = {}: {}", p["key"].text(), p["default"].dump(), p["help"].text()),
                          from + kMore, width);
  }
}

// A built-in cluster in the form of cluster.profile.
int print_cluster(CommandContext& context, const std::string& what, const std::string& name) {
  if (what != "clusters" || context.json)
    throw Error(ErrorCode::kUsage, "--toml is for clusters and prints TOML", "spscope list clusters --toml a800x8");
  const ClusterPreset* preset = find_cluster_preset(name);
  if (preset == nullptr) {
    const std::string near = nearest_name(name, cluster_preset_names());
    throw Error(ErrorCode::kConfigUnknownName, fmt::format("there is no cluster \"{}\"", name),
                near.empty() ? fmt::format("clusters are {}", fmt::join(cluster_preset_names(), ", "))
                             : fmt::format("did you mean \"{}\"?", near));
  }
  context.out << cluster_toml(*preset);
  return kExitDone;
}

int print_list(CommandContext& context, const std::string& what) {
  std::vector<std::string_view> names;
  for (const NamedList& listing : kListings) {
    names.push_back(listing.name);
    if (listing.name != what) continue;
    const Json rows = listing.rows();
    if (context.json)
      context.out << fmt::format("{}\n", Json{{"schema_version", 1}, {what, rows}}.sorted().dump(2));
    else
      print_rows(context.out, rows, text_width());
    return kExitDone;
  }
  const std::string near = nearest_name(what, names);
  throw Error(
      ErrorCode::kUsage, fmt::format("there is no list of \"{}\"", what),
      near.empty() ? fmt::format("lists are {}", fmt::join(names, ", ")) : fmt::format("did you mean \"{}\"?", near));
}

}  // namespace

Command declare_list() {
  struct ListFlags {
    std::string what = "strategies", preset;
  };
  auto flags = std::make_shared<ListFlags>();
  Command command;
  command.flags = {
      {.names = "what",
       .help = "what to list: strategies, patterns, models, clusters, gpus, implementations, formats, collectors, "
               "commands or keys",
       .target = &flags->what},
      {.names = "--toml",
       .help = "of clusters: print this one as a file to start your own from",
       .target = &flags->preset},
  };
  command.action = [flags](CommandContext& context) {
    return flags->preset.empty() ? print_list(context, flags->what)
                                 : print_cluster(context, flags->what, flags->preset);
  };
  return command;
}

}  // namespace spscope
