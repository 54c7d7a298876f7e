// Reading a config: from a file or text, from single overrides, and both together with validation.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "backend/base/listed.h"
#include "backend/base/nearest_name.h"
#include "backend/config/config_fields.h"
#include "backend/config/config_text.h"
#include "backend/config/text_file.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

void fault(ReadConfig& read, std::string_view field, Problem problem) {
  read.faulty.insert(std::string(field));
  read.problems.push_back(std::move(problem));
}

void unknown_key(ReadConfig& read, const TomlEntry& entry) {
  const std::string name = entry.name();
  std::vector<std::string_view> known;
  for (const FieldRow& row : config_fields()) known.push_back(row.name);
  const bool help = helps_spelling(read.problems.size(), name);
  // "density" alone is a key without its section.
  std::vector<std::string> near;
  for (const FieldRow& row : config_fields())
    if (help && row.key == name) near.push_back(fmt::format("\"{}\"", row.name));
  if (const std::string nearest = help && near.empty() ? nearest_name(name, known) : ""; !nearest.empty())
    near.push_back(fmt::format("\"{}\"", nearest));
  read.problems.push_back({ErrorCode::kConfigUnknownKey, shown(name), "there is no such key",
                           near.empty() ? "" : fmt::format("did you mean {}?", listed(near, "or")), entry.key_place});
}

bool is_section(std::string_view name) {
  return std::any_of(config_fields().begin(), config_fields().end(),
                     [&](const FieldRow& row) { return row.section == name; });
}

// Values of [mask.NAME] and [strategy.NAME] are kept as text; the pattern or strategy checks them.
void set_parameter_text(ReadConfig& read, ParameterTextsByName& parameters, const TomlEntry& entry) {
  const std::string name = entry.name();
  const auto* value = std::get_if<ParameterValue>(&entry.value);
  if (value == nullptr)
    return fault(
        read, name,
        {ErrorCode::kConfigType, shown(name), fmt::format("expected a single value, got {}", kind_of(entry.value)),
         "spscope list keys gives its type", entry.value_place});
  if (const auto* real = std::get_if<double>(value); real != nullptr && !(*real - *real == 0))
    return fault(read, name,
                 {ErrorCode::kConfigRange, shown(name), "the number is not finite", "spscope list keys gives its range",
                  entry.value_place});
  read.places[name] = entry.value_place;
  parameters[entry.path[1]].insert_or_assign(entry.path[2], to_text(*value));
}

void set_entry(ReadConfig& read, const TomlEntry& entry) {
  const std::string name = entry.name();
  if (const FieldRow* row = entry.path.size() == 2 ? find_field(name) : nullptr) {
    read.places[name] = entry.value_place;
    if (set_field(*row, read.config, entry.value, entry.value_place, read.problems))
      read.faulty.erase(name);
    else
      read.faulty.insert(name);
    return;
  }
  const bool strategy = entry.path[0] == "strategy", mask = entry.path[0] == "mask";
  const bool in_field = entry.path.size() == 3 && find_field(entry.path[0] + "." + entry.path[1]) != nullptr;
  if (entry.path.size() == 3 && (strategy || mask) && !in_field)
    return set_parameter_text(read, strategy ? read.config.strategy_parameters : read.config.pattern_parameters, entry);
  // An empty section has no effect and is not a fault when its name is known.
  const auto* empty = std::get_if<NotAValue>(&entry.value);
  const bool known =
      entry.path.size() == 1 ? strategy || is_section(name) : entry.path.size() == 2 && (strategy || mask);
  if (empty != nullptr && empty->what == kEmptySection && known) return;
  unknown_key(read, entry);
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "mask.cdf" is a parameter without its pattern: names those that have it.
void suggest_parameters(std::vector<Problem>& problems, std::span<const std::string> parameter_keys) {
  for (Problem& problem : problems) {
    if (problem.code != ErrorCode::kConfigUnknownKey) continue;
    const std::string_view section = std::string_view(problem.field).substr(0, problem.field.find('.') + 1);
    std::vector<std::string> whole;
    for (const std::string& key : parameter_keys)
      if (last_part(key) == last_part(problem.field) && key.starts_with(section))
        whole.push_back(fmt::format("\"{}\"", key));
    if (!whole.empty()) problem.hint = fmt::format("did you mean {}?", listed(whole, "or"));
  }
}

constexpr std::string_view kOverride = "--set ";

}  // namespace

std::span<const std::string_view> keys_unused_beside_mask_file() {
  static constexpr std::string_view kKeys[] = {"mask.density", "mask.pattern", "mask.seed"};
  return kKeys;
}

namespace {

// Keys that choose a pattern's blocks have no effect beside a mask file. A --set of the file alone replaces the mask of
// the config, whatever that was.
std::vector<Problem> unused_beside_mask_file(const ReadConfig& read) {
  std::vector<Problem> problems;
  const auto file = read.places.find("mask.file");
  if (file == read.places.end() || read.config.mask.file.empty()) return problems;
  const bool replaces = file->second.file.starts_with(kOverride);
  for (const std::string_view key : keys_unused_beside_mask_file()) {
    const std::string field(key);
    const auto place = read.places.find(field);
    const bool is_typed = place != read.places.end() && place->second.file.starts_with(kOverride);
    if (place == read.places.end() || (replaces && !is_typed)) continue;
    problems.push_back({ErrorCode::kConfigConflict, field,
                        fmt::format("the mask is that of mask.file = {}, which this cannot change",
                                    toml_quoted(shown(read.config.mask.file))),
                        is_typed && !replaces ? "leave it out, or add --set mask.file= for a mask of mask.pattern"
                                              : fmt::format("leave out {} or mask.file", field),
                        place->second});
  }
  return problems;
}

template <typename T>
bool parse_number(std::string_view text, T& out) {
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && stop == text.data() + text.size();
}

// The text of an override as the most specific scalar.
ParameterValue scalar_of(std::string_view text) {
  std::int64_t integer = 0;
  double real = 0;
  if (text == "true" || text == "false") return text == "true";
  if (parse_number(text, integer)) return integer;
  if (parse_number(text, real)) return real;
  return std::string(text);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "--set run.repeats 5"
bool is_value_apart(std::string_view name, std::string_view next) {
  return find_field(name) != nullptr && next.find('=') == std::string_view::npos && find_field(next) == nullptr;
}

void lacks_value(ReadConfig& read, std::string_view name, std::string_view value) {
  read.problems.push_back({ErrorCode::kUsage,
                           std::string(name),
                           "the value follows an equals sign",
                           fmt::format("write --set {}={}", name, shown(value)),
                           {fmt::format("{}{}", kOverride, name)}});
}

// The text of an override as a value of the field's type, as far as it has that form.
TomlValue value_for(const FieldRow& row, std::string_view text) {
  const std::string_view type = field_type(row);
  if (type == "text" || type == "choice") return ParameterValue(std::string(text));
  if (type == "list of texts" || type == "three integers") {
    std::vector<ParameterValue> items;
    for (const std::string_view part : split(text, type == "three integers" ? ",x" : ";"))
      items.push_back(type == "three integers" ? scalar_of(part) : ParameterValue(std::string(part)));
    return items;
  }
  if (type == "layers" && text.find(',') != std::string_view::npos) {
    std::vector<ParameterValue> items;
    for (const std::string_view part : split(text, ",")) items.push_back(scalar_of(part));
    return items;
  }
  return scalar_of(text);
}

}  // namespace

ReadConfig parse_config(std::string_view text, std::string_view file) {
  ReadConfig read;
  auto entries = read_toml(text, file);
  if (!entries.has_value()) {
    read.problems = entries.error().problems();
    return read;
  }
  for (const TomlEntry& entry : *entries) set_entry(read, entry);
  return read;
}

ReadConfig read_config(const std::string& path) {
  auto text = read_text_file(path, kMaxTomlBytes);
  if (!text.has_value()) {
    ReadConfig read;
    read.problems = text.error().problems();
    return read;
  }
  ReadConfig read = parse_config(*text, path);
  read.config.folder = std::filesystem::path(path).parent_path().string();
  return read;
}

void apply_override(ReadConfig& read, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const std::string file = std::string(kOverride) + shown(assignment);
  if (equals == std::string_view::npos || equals == 0) {
    if (find_field(assignment) != nullptr) return lacks_value(read, assignment, "VALUE");
    read.problems.push_back({ErrorCode::kUsage, "", fmt::format("\"{}\" has not the form key=value", shown(assignment)),
                             "for example --set run.dtype=fp32"});
    return;
  }
  TomlEntry entry;
  for (const std::string_view part : split(name, ".")) entry.path.emplace_back(part);
  entry.key_place = entry.value_place = {file};
  const std::string_view text = assignment.substr(equals + 1);
  const FieldRow* row = find_field(name);
  if (!text.empty() && (text[0] == '[' || text[0] == '"')) {
    auto parsed = read_toml(fmt::format("value = {}", text), file);
    if (!parsed.has_value()) {
      for (const Problem& problem : parsed.error().problems()) fault(read, name, problem);
      return;
    }
    // A line break in the text would let it hold more than one value.
    if (parsed->size() != 1) {
      fault(read, name,
            {ErrorCode::kUsage, shown(name), "the text holds more than one value", "repeat --set for each", {file}});
      return;
    }
    entry.value = (*parsed)[0].value;
  } else {
    entry.value = row != nullptr ? value_for(*row, text) : TomlValue(ParameterValue(std::string(text)));
  }
  set_entry(read, entry);
  if (row == nullptr || row->role != FieldRole::kInputPath || read.faulty.contains(name)) return;
  std::string& path = *std::get<std::string*>(row->ref(read.config));
  if (!path.empty() && !read.config.folder.empty()) path = std::filesystem::absolute(path).string();
}

void locate(std::vector<Problem>& problems, const ConfigPlaces& places) {
  for (Problem& problem : problems) {
    if (!problem.place.file.empty()) continue;
    // The place of a section is that of its first key.
    const auto found = places.lower_bound(problem.field);
    if (found == places.end() || problem.field.empty()) continue;
    if (found->first == problem.field || found->first.starts_with(problem.field + ".")) problem.place = found->second;
  }
}

Result<LoadedConfig> load_config(const std::string& path, std::span<const std::string> overrides,
                                 const NameLists& names) {
  ReadConfig read = path.empty() ? ReadConfig() : read_config(path);
  for (std::size_t i = 0; i < overrides.size(); ++i)
    if (i + 1 < overrides.size() && is_value_apart(overrides[i], overrides[i + 1]))
      lacks_value(read, overrides[i], overrides[i + 1]), ++i;
    else
      apply_override(read, overrides[i]);
  read.config.model.preset = model_preset_meant(read.config.model.preset);
  read.config.cluster.preset = cluster_preset_meant(read.config.cluster.preset);
  if (read.config.run.strategies.empty()) read.config.run.strategies = RunSection().strategies;
  if (read.config.run.collect.empty()) read.config.run.collect = {std::string(kCollectNone)};
  suggest_parameters(read.problems, names.parameter_keys);
  const bool syntax = std::any_of(read.problems.begin(), read.problems.end(), [](const Problem& problem) {
    return problem.code == ErrorCode::kConfigSyntax || problem.code == ErrorCode::kConfigFile;
  });
  if (!syntax) {  // else all values are missing, and their problems would be noise
    std::vector<Problem> more = validate(read.config, names, read.faulty);
    locate(more, read.places);
    read.problems.insert(read.problems.end(), more.begin(), more.end());
    more = unused_beside_mask_file(read);
    read.problems.insert(read.problems.end(), more.begin(), more.end());
  }
  if (!read.problems.empty()) return Error(std::move(read.problems));
  return LoadedConfig{std::move(read.config), std::move(read.places)};
}

}  // namespace spscope
