// `spscope list WHAT`: the rows of the program's tables. With --json it says type, range, default, unit and help of
// every parameter; the forms of the desktop app are built from that.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "backend/base/nearest_name.h"
#include "backend/cli/command.h"
#include "backend/config/cluster.h"
#include "backend/config/config_fields.h"
#include "backend/config/model.h"
#include "backend/mask/mask_import.h"
#include "backend/mask/pattern.h"
#include "backend/strategies/strategy.h"

namespace spscope {
namespace {

using nlohmann::json;

json to_json(const ParameterValue& value) {
  return std::visit([](const auto& v) { return json(v); }, value);
}

const char* type_of(const ParameterValue& value) {
  static constexpr const char* names[] = {"boolean", "integer", "real", "text"};
  return names[value.index()];
}

json parameters_json(const std::vector<Parameter>& rows) {
  json list = json::array();
  for (const Parameter& row : rows) {
    json entry = {{"name", row.name},
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

json list_strategies() {
  json rows = json::array();
  for (const Strategy& s : strategies())
    rows.push_back({{"name", s.name}, {"summary", s.summary}, {"parameters", parameters_json(s.parameters())}});
  return rows;
}

json list_patterns() {
  json rows = json::array();
  for (const Pattern& p : patterns())
    rows.push_back({{"name", p.name},
                    {"summary", p.summary},
                    {"evolves", p.evolves},
                    {"parameters", parameters_json(p.parameters())}});
  return rows;
}

json list_models() {
  json rows = json::array();
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

json list_clusters() {
  json rows = json::array();
  for (std::string_view name : cluster_preset_names()) {
    const ClusterPreset* preset = find_cluster_preset(name);
    json row = {
        {"name", name}, {"note", preset->note}, {"gpus_per_node", preset->gpus_per_node}, {"sources", preset->sources}};
    ClusterPreset copy = *preset;
    for (const ClusterFieldRow& field : cluster_fields()) row[std::string(field.name)] = field.ref(copy);
    row["summary"] =
        fmt::format("{:g} GB/s a link, {} a node", preset->network.link_gbps,
                    preset->network.nic_gbps > 0 ? fmt::format("{:g} GB/s", preset->network.nic_gbps) : "no network");
    rows.push_back(std::move(row));
  }
  return rows;
}

json list_formats() {
  json rows = json::array();
  for (const MaskImporter& importer : mask_importers())
    rows.push_back({{"name", importer.name}, {"summary", importer.summary}, {"unavailable", importer.unavailable()}});
  return rows;
}

json list_commands() {
  json rows = json::array();
  for (const Command& command : commands()) rows.push_back({{"name", command.name}, {"summary", command.summary}});
  return rows;
}

json list_keys() {
  json rows = json::array();
  const RunConfig defaults;
  for (const FieldRow& field : config_fields()) {
    json row = {{"name", field.name},
                {"type", field_type(field)},
                {"default", field_toml(field, defaults)},
                {"unit", field.unit},
                {"summary", field.help}};
    if (field.min <= field.max) row["range"] = {field.min, field.max};
    if (const auto choices = field_choices(field); !choices.empty()) row["choices"] = choices;
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Listing {
  std::string_view name;
  json (*rows)();
};
constexpr Listing kListings[] = {
    {"strategies", list_strategies}, {"patterns", list_patterns}, {"models", list_models}, {"clusters", list_clusters},
    {"formats", list_formats},       {"commands", list_commands}, {"keys", list_keys}};

// Name and summary, and an indented line for each parameter.
void print_rows(std::ostream& out, const json& rows) {
  std::size_t width = 0;
  for (const json& row : rows) width = std::max(width, row["name"].get_ref<const std::string&>().size());
  for (const json& row : rows) {
    fmt::print(out, "{:<{}}  {}\n", row["name"].get<std::string>(), width, row.value("summary", row.value("note", "")));
    for (const json& p : row.value("parameters", json::array()))
      fmt::print(out, "{:<{}}    {} = {}: {}\n", "", width, p["name"].get<std::string>(), p["default"].dump(),
                 p["help"].get<std::string>());
  }
}

}  // namespace

CommandAction declare_list(CLI::App& app) {
  auto what = std::make_shared<std::string>("strategies");
  app.add_option("what", *what, "strategies, patterns, models, clusters, formats, commands or keys");
  return [what](CommandContext& context) {
    std::vector<std::string_view> names;
    for (const Listing& listing : kListings) {
      names.push_back(listing.name);
      if (listing.name != *what) continue;
      const json rows = listing.rows();
      if (context.json)
        fmt::print(context.out, "{}\n", json{{"schema_version", 1}, {*what, rows}}.dump(2));
      else
        print_rows(context.out, rows);
      return kExitDone;
    }
    const std::string near = nearest_name(*what, names);
    throw Error(
        ErrorCode::kUsage, fmt::format("there is no list of \"{}\"", *what),
        near.empty() ? fmt::format("lists are {}", fmt::join(names, ", ")) : fmt::format("did you mean \"{}\"?", near));
  };
}

}  // namespace spscope
