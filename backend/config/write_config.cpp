// Writing a config as canonical TOML, and its hash.
#include <fmt/format.h>

#include "backend/config/config_fields.h"
#include "backend/config/config_text.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

// A section's or parameter's name as a TOML key: quoted unless it needs no quotes.
std::string toml_key(const std::string& name) {
  const bool bare = !name.empty() && name.find_first_not_of(
                                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_-") == std::string::npos;
  return bare ? name : toml_quoted(name);
}

std::string parameter_sections(std::string_view section, const ParameterTextsByName& parameters) {
  std::string text;
  for (const auto& [name, values] : parameters) {
    text += fmt::format("\n[{}.{}]\n", section, toml_key(name));
    for (const auto& [key, value] : values) text += fmt::format("{} = {}\n", toml_key(key), toml_scalar(value));
  }
  return text;
}

template <typename Keep>
std::string fields_toml(const RunConfig& config, Keep&& keep) {
  std::string text;
  std::string_view section;
  for (const FieldRow& row : config_fields()) {
    if (!keep(row)) continue;
    if (row.section != section) {
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", row.section);
      section = row.section;
    }
    text += fmt::format("{} = {}\n", row.key, field_toml(row, config));
  }
  return text;
}

// FNV-1a: stable over machines and versions, which std::hash is not.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::string to_toml(const RunConfig& config) {
  return fields_toml(config, [](const FieldRow&) { return true; }) +
         parameter_sections("mask", config.pattern_parameters) +
         parameter_sections("strategy", config.strategy_parameters);
}

std::string config_hash(const RunConfig& config) {
  const RunConfig defaults;
  const std::string text = fields_toml(config, [&](const FieldRow& row) {
    return row.role != FieldRole::kOutputPath && field_toml(row, config) != field_toml(row, defaults);
  });
  return fmt::format("{:016x}", fnv1a(text + parameter_sections("mask", config.pattern_parameters) +
                                      parameter_sections("strategy", config.strategy_parameters)));
}

}  // namespace spscope
