// Rows of config_fields() as JSON schema properties.
#include "backend/config/config_schema.h"

#include <fmt/format.h>

#include <type_traits>

#include "backend/base/json.h"
#include "backend/config/cluster.h"
#include "backend/config/config_fields.h"

namespace spscope {
namespace {

Json number_schema(const FieldRow& row, const char* type) {
  Json schema = {{"type", type}};
  if (row.min > row.max) return schema;
  if (std::string_view(type) == "integer") {
    schema["minimum"] = static_cast<std::int64_t>(row.min);
    schema["maximum"] = static_cast<std::int64_t>(row.max);
  } else {
    schema["minimum"] = row.min;
    schema["maximum"] = row.max;
  }
  return schema;
}

// Names of clusters; a scalable one also with its number of nodes.
Json cluster_names_schema() {
  std::string names;
  for (const std::string_view name : cluster_preset_names()) {
    const bool scalable = find_cluster_preset(name)->scalable;
    if (!names.empty()) names += '|';
    names += scalable ? fmt::format("{}(N|[1-9][0-9]*)", name.substr(0, name.size() - 1)) : std::string(name);
  }
  return {{"type", "string"}, {"pattern", fmt::format("^({})$", names)}};
}

Json type_schema(const FieldRow& row) {
  const std::string_view type = field_type(row);
  if (row.name == "cluster.preset") return cluster_names_schema();
  if (type == "integer") return number_schema(row, "integer");
  if (type == "real") return number_schema(row, "number");
  if (type == "three integers")
    return {{"type", "array"}, {"items", number_schema(row, "integer")}, {"minItems", 3}, {"maxItems", 3}};
  if (type == "list of texts") return {{"type", "array"}, {"items", {{"type", "string"}}}};
  if (type == "layers") {
    const Json layer = {{"type", "integer"}, {"minimum", 0}, {"exclusiveMaximum", static_cast<std::int64_t>(row.max)}};
    return {{"oneOf",
             {number_schema(row, "integer"),
              {{"type", "array"}, {"items", layer}, {"minItems", 1}, {"uniqueItems", true}},
              {{"type", "string"}, {"pattern", "^(auto|spread:[1-9][0-9]{0,4})$"}}}}};
  }
  Json schema = {{"type", "string"}};
  if (const auto choices = field_choices(row); !choices.empty()) schema["enum"] = choices;
  return schema;
}

Json default_of(const FieldRow& row) {
  RunConfig config;
  return std::visit(
      [](const auto* value) -> Json {
        if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(*value)>>)
          return choice_name(*value);
        else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*value)>, LayerChoice>)
          return "auto";
        else
          return *value;
      },
      row.ref(config));
}

Json parameter_tables(std::string_view what) {
  return {{"type", "object"},
          {"description", fmt::format("parameters of this {}", what)},
          {"additionalProperties", {{"type", {"boolean", "integer", "number", "string"}}}}};
}

}  // namespace

std::string config_json_schema() {
  Json sections = Json::object();
  for (const FieldRow& row : config_fields()) {
    Json& section = sections[std::string(row.section)];
    if (section.is_null())
      section = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
    Json field = type_schema(row);
    field["default"] = default_of(row);
    field["description"] = row.unit.empty() ? std::string(row.help) : fmt::format("{} ({})", row.help, row.unit);
    section["properties"][std::string(row.key)] = std::move(field);
  }
  sections["mask"]["additionalProperties"] = parameter_tables("mask pattern");
  sections["strategy"] = {{"type", "object"}, {"additionalProperties", parameter_tables("strategy")}};
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "spscope run configuration"},
                       {"type", "object"},
                       {"additionalProperties", false},
                       {"properties", sections}};
  return schema.dump(2) + "\n";
}

}  // namespace spscope
