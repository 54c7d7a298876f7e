// Writing a config as canonical TOML, and its hash.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

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

template <typename Keep>
std::string config_toml(const RunConfig& config, Keep&& keep) {
  return fields_toml(config, keep) + parameter_sections("mask", config.pattern_parameters) +
         parameter_sections("strategy", config.strategy_parameters);
}

// FNV-1a: stable over machines and versions, which std::hash is not.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::string runnable_toml(RunConfig config, KeysToWrite keys) {
  for (const FieldRow& row : config_fields()) {
    if (row.role != FieldRole::kInputPath) continue;
    std::string& path = *std::get<std::string*>(row.ref(config));
    if (!path.empty()) path = std::filesystem::absolute(input_path(config, path)).lexically_normal().string();
  }
  const bool from_file = !config.mask.file.empty();
  const std::span<const std::string_view> unused = keys_unused_beside_mask_file();
  const RunConfig defaults;
  return config_toml(config, [&](const FieldRow& row) {
    if (keys == KeysToWrite::kChanged && field_toml(row, config) == field_toml(row, defaults)) return false;
    return !from_file || std::ranges::find(unused, row.name) == unused.end();
  });
}

std::string config_hash(const RunConfig& of) {
  RunConfig config = of, defaults;
  // Where an input lies does not enter: a config in its folder and a command that names the same file by an absolute
  // path ask for the same run, on any machine.
  for (const FieldRow& row : config_fields()) {
    if (row.role != FieldRole::kInputPath) continue;
    std::string& path = *std::get<std::string*>(row.ref(config));
    std::filesystem::path named = std::filesystem::path(path).lexically_normal();
    if (!named.has_filename()) named = named.parent_path();  // a folder, with a separator behind it
    path = named.filename().string();
  }
  // The default before `all`: it stays the one that does not enter.
  defaults.run.strategies = {"ulysses", "ring", "usp:ulysses=2,ring=2"};
  const std::string text = config_toml(config, [&](const FieldRow& row) {
    return row.role != FieldRole::kOutputPath && field_toml(row, config) != field_toml(row, defaults);
  });
  return fmt::format("{:016x}", fnv1a(text));
}

}  // namespace spscope
