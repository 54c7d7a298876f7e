// Cluster files: parsing, canonical writing, and the presets that are built in from clusters/*.toml.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backend/base/check.h"
#include "backend/base/nearest_name.h"
#include "backend/base/whole_file.h"
#include "backend/config/cluster.h"
#include "backend/config/embedded_clusters.h"
#include "backend/config/text_file.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

constexpr ClusterFieldRow kFields[] = {
#define NUMBER(section, key, min, max, required, help)                     \
  {#section, #key, #section "." #key, [](ClusterPreset& c) -> double& { return c.section.key; }, \
   min,      max,  required,          help},
#include "backend/config/cluster_fields.def"
#undef NUMBER
};

// After this many problems no more spelling help is computed: the file is probably not a cluster file.
constexpr std::size_t kMaxHints = 100;
constexpr std::size_t kLongestKey = 80;

constexpr std::string_view kProvenances[] = {"assumed", "modelled", "measured"};

// Fills a preset from entries, one at a time, and collects what is wrong with them.
class ClusterReader {
 public:
  void read(const TomlEntry& entry) {
    const std::string name = entry.name();
    seen_.insert(name);
    if (name == "name") return text(entry, preset_.name);
    if (name == "note") return text(entry, preset_.note);
    if (name == "gpus_per_node") return count(entry, preset_.gpus_per_node);
    if (name == "scalable") return flag(entry, preset_.scalable);
    if (name == "network.provenance") return provenance(entry, preset_.network.provenance);
    if (name == "cost.provenance") return provenance(entry, preset_.cost.provenance);
    for (const ClusterFieldRow& row : kFields) {
      if (name == std::string(row.name) + ".value") return number(entry, row);
      if (name == std::string(row.name) + ".source") return text(entry, preset_.sources[std::string(row.name)]);
      if (name == row.name)
        return report(ErrorCode::kConfigType, entry,
                      fmt::format("expected a value and its source, got {}", kind_of(entry.value)),
                      fmt::format("write {} = {{ value = ..., source = \"...\" }}", row.key));
    }
    const auto* empty = std::get_if<NotAValue>(&entry.value);
    if (empty != nullptr && empty->what == kEmptySection &&
        std::ranges::find(kFields, name, &ClusterFieldRow::section) != std::end(kFields))
      return;
    unknown(entry, name);
  }

  Result<ClusterPreset> finish(std::string_view file) {
    need("name", "write name = \"my-cluster\"", file);
    for (const std::string_view required : {"network.provenance", "cost.provenance"})
      need(required, fmt::format("write provenance = \"assumed\", \"modelled\" or \"measured\""), file);
    for (const ClusterFieldRow& row : kFields) {
      const bool given = seen_.contains(std::string(row.name) + ".value");
      const std::string form = fmt::format("write {} = {{ value = ..., source = \"where it is from\" }} in [{}]: {}",
                                           row.key, row.section, row.help);
      const bool begun = seen_.contains(std::string(row.name) + ".source");
      if (begun && !given)
        need(std::string(row.name) + ".value", form, file);
      else if (row.required && !given)
        need(std::string(row.name), form, file);
      if (given) need(std::string(row.name) + ".source", form, file);
    }
    if (!problems_.empty()) return Error(std::move(problems_));
    return std::move(preset_);
  }

 private:
  template <typename T>
  static const T* get(const TomlEntry& entry) {
    const auto* scalar = std::get_if<ParameterValue>(&entry.value);
    return scalar != nullptr ? std::get_if<T>(scalar) : nullptr;
  }
  void report(ErrorCode code, const TomlEntry& entry, std::string message, std::string hint = {}) {
    problems_.push_back({code, shown(entry.name()), std::move(message), std::move(hint), entry.value_place});
  }
  void need(std::string_view name, std::string hint, std::string_view file) {
    if (seen_.contains(std::string(name))) return;
    problems_.push_back({ErrorCode::kConfigConflict,
                         std::string(name),
                         "this key is missing from the cluster file",
                         std::move(hint),
                         {std::string(file)}});
  }
  void wrong(const TomlEntry& entry, std::string_view wanted) {
    report(ErrorCode::kConfigType, entry, fmt::format("expected {}, got {}", wanted, kind_of(entry.value)));
  }
  void text(const TomlEntry& entry, std::string& out) {
    const auto* value = get<std::string>(entry);
    if (value == nullptr) return wrong(entry, "a string in quotes");
    out = *value;
  }
  void flag(const TomlEntry& entry, bool& out) {
    const bool* value = get<bool>(entry);
    if (value == nullptr) return wrong(entry, "true or false");
    out = *value;
  }
  void count(const TomlEntry& entry, int& out) {
    const auto* value = get<std::int64_t>(entry);
    if (value == nullptr) return wrong(entry, "an integer");
    if (*value < 0 || *value > (1 << 20))
      return report(ErrorCode::kConfigRange, entry, fmt::format("{} is outside [0, {}]", *value, 1 << 20));
    out = static_cast<int>(*value);
  }
  void number(const TomlEntry& entry, const ClusterFieldRow& row) {
    const auto* real = get<double>(entry);
    const auto* whole = get<std::int64_t>(entry);
    if (real == nullptr && whole == nullptr) return wrong(entry, "a number");
    const double value = real != nullptr ? *real : static_cast<double>(*whole);
    if (!(value >= row.min && value <= row.max))
      return report(ErrorCode::kConfigRange, entry, fmt::format("{} is outside [{}, {}]", value, row.min, row.max));
    row.ref(preset_) = value;
  }
  void provenance(const TomlEntry& entry, Provenance& out) {
    const auto* value = get<std::string>(entry);
    if (value == nullptr) return wrong(entry, "a string in quotes");
    const auto found = std::find(std::begin(kProvenances), std::end(kProvenances), *value);
    if (found == std::end(kProvenances))
      return report(ErrorCode::kConfigUnknownName, entry, fmt::format("\"{}\" is not a provenance", shown(*value)),
                    fmt::format("use one of {}", fmt::join(kProvenances, ", ")));
    out = static_cast<Provenance>(found - std::begin(kProvenances));
  }
  void unknown(const TomlEntry& entry, const std::string& name) {
    std::vector<std::string_view> names = {"name",           "note", "gpus_per_node", "scalable", "network.provenance",
                                           "cost.provenance"};
    for (const ClusterFieldRow& row : kFields) names.push_back(row.name);
    const bool help = problems_.size() < kMaxHints && name.size() <= kLongestKey;
    const std::string near = help ? nearest_name(name, names) : "";
    problems_.push_back({ErrorCode::kConfigUnknownKey, shown(name), "a cluster file has no such key",
                         near.empty() ? "" : fmt::format("did you mean \"{}\"?", near), entry.key_place});
  }

  ClusterPreset preset_;
  std::set<std::string> seen_;
  std::vector<Problem> problems_;
};

// All built-in presets. A preset that cannot be parsed is a defect of the program.
std::vector<ClusterPreset> parse_embedded() {
  std::vector<ClusterPreset> presets;
  for (const EmbeddedText& text : embedded_clusters()) {
    auto preset = parse_cluster(text.content, text.name);
    SPSCOPE_CHECK(preset.has_value());
    presets.push_back(*std::move(preset));
  }
  return presets;
}

const std::vector<ClusterPreset>& built_in() {
  static const std::vector<ClusterPreset> presets = parse_embedded();
  return presets;
}

bool is_count(std::string_view text) {
  return !text.empty() && text.size() <= 6 && text[0] != '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string_view provenance_name(Provenance provenance) { return kProvenances[static_cast<std::size_t>(provenance)]; }

std::span<const ClusterFieldRow> cluster_fields() { return kFields; }

std::vector<std::string_view> cluster_preset_names() {
  std::vector<std::string_view> names;
  for (const ClusterPreset& preset : built_in()) names.push_back(preset.name);
  return names;
}

const ClusterPreset* find_cluster_preset(std::string_view name) {
  for (const ClusterPreset& preset : built_in()) {
    if (preset.name == name) return &preset;
    if (!preset.scalable) continue;
    const std::string_view stem = std::string_view(preset.name).substr(0, preset.name.size() - 1);  // without the N
    if (name.starts_with(stem) && is_count(name.substr(stem.size()))) return &preset;
  }
  return nullptr;
}

Result<ClusterPreset> parse_cluster(std::string_view text, std::string_view file) {
  auto entries = read_toml(text, file);
  if (!entries.has_value()) return entries.error();
  ClusterReader reader;
  for (const TomlEntry& entry : *entries) reader.read(entry);
  return reader.finish(file);
}

Result<ClusterPreset> read_profile(const std::string& path) {
  auto text = read_text_file(path, kMaxTomlBytes);
  if (!text.has_value()) return text.error();
  return parse_cluster(*text, path);
}

std::string cluster_toml(const ClusterPreset& preset) {
  ClusterPreset copy = preset;  // rows hold accessors to mutable members
  std::string text = fmt::format("name = {}\nnote = {}\ngpus_per_node = {}\nscalable = {}\n", toml_quoted(preset.name),
                                 toml_quoted(preset.note), preset.gpus_per_node, preset.scalable);
  std::string_view section;
  for (const ClusterFieldRow& row : kFields) {
    const auto source = preset.sources.find(std::string(row.name));
    if (!row.required && source == preset.sources.end()) continue;
    if (row.section != section) {
      section = row.section;
      text += fmt::format("\n[{}]\n", section);
      if (section == "network")
        text += fmt::format("provenance = \"{}\"\n", provenance_name(preset.network.provenance));
      if (section == "cost") text += fmt::format("provenance = \"{}\"\n", provenance_name(preset.cost.provenance));
    }
    text += fmt::format("{} = {{ value = {}, source = {} }}\n", row.key, toml_real(row.ref(copy)),
                        toml_quoted(source == preset.sources.end() ? "not given" : source->second));
  }
  return text;
}

void write_profile(const std::string& path, const ClusterPreset& preset) {
  write_whole_file(path, cluster_toml(preset));
}

}  // namespace spscope
