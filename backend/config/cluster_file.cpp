// Cluster files: parsing, canonical writing, and the presets that are built in from clusters/*.toml.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "backend/base/letter_case.h"
#include "backend/base/nearest_name.h"
#include "backend/base/whole_file.h"
#include "backend/config/cluster.h"
#include "backend/config/embedded_files.h"
#include "backend/config/profile_layers.h"
#include "backend/config/text_file.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

constexpr ClusterFieldRow kClusterFields[] = {
#define NUMBER(section, key, min, max, required, help)                     \
  {#section, #key, #section "." #key, [](ClusterPreset& c) -> double& { return c.section.key; }, \
   min,      max,  required,          help},
#include "backend/config/cluster_fields.def"
#undef NUMBER
};

constexpr std::string_view kProvenances[] = {"assumed", "modelled", "measured", "fitted"};
constexpr std::string_view kOrigins[] = {"assumed", "fitted", "measured"};
// Without all of these a section of network.* says nothing.
constexpr std::string_view kCurveKeys[] = {"floor_ns", "t0_ns", "gbps"};

constexpr const char* kWriteProvenance = "write provenance = \"assumed\", \"modelled\", \"measured\" or \"fitted\"";

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
    if (name == "gpu") return text(entry, preset_.gpu);
    if (name == "attention_kernel") return text(entry, preset_.attention_kernel);
    if (name == "implementation") return text(entry, preset_.implementation);
    if (name == "outside.provenance") return choice(entry, kProvenances, "provenance", preset_.outside.provenance);
    if (name == "network.provenance") return choice(entry, kProvenances, "provenance", preset_.network.provenance);
    if (name == "cost.provenance") return choice(entry, kProvenances, "provenance", preset_.cost.provenance);
    for (const ClusterFieldRow& row : kClusterFields) {
      if (name == std::string(row.name) + ".value") return number(entry, row, row.ref(preset_));
      if (name == std::string(row.name) + ".source") return text(entry, preset_.sources[std::string(row.name)]);
      if (name == std::string(row.name) + ".from")
        return choice(entry, kOrigins, "origin", preset_.origins[std::string(row.name)]);
      if (name == std::string(row.name) + ".low") return number(entry, row, preset_.ranges[std::string(row.name)].low);
      if (name == std::string(row.name) + ".high")
        return number(entry, row, preset_.ranges[std::string(row.name)].high);
      if (name == row.name)
        return report(ErrorCode::kConfigType, entry,
                      fmt::format("expected a value and its source, got {}", kind_of(entry.value)),
                      fmt::format("write {} = {{ value = ..., source = \"...\" }}", row.key));
    }
    const auto* empty = std::get_if<NotAValue>(&entry.value);
    if (empty != nullptr && empty->what == kEmptySection &&
        std::ranges::find(kClusterFields, name, &ClusterFieldRow::section) != std::end(kClusterFields))
      return;
    unknown(entry, name);
  }

  Result<ClusterPreset> finish(std::string_view file) {
    need("name", "write name = \"my-cluster\"", file);
    preset_.layered = !preset_.gpu.empty() && !begun_section("cost");
    need("network.provenance", kWriteProvenance, file);
    if (!preset_.layered) need("cost.provenance", kWriteProvenance, file);
    for (const ClusterFieldRow& row : kClusterFields) {
      const std::string name(row.name);
      const bool given = seen_.contains(name + ".value");
      const std::string form = fmt::format("write {} = {{ value = ..., source = \"where it is from\" }} in [{}]: {}",
                                           row.key, row.section, row.help);
      const bool begun = std::ranges::any_of(std::array{".source", ".from", ".low", ".high"},
                                             [&](const char* part) { return seen_.contains(name + part); });
      if (begun && !given)
        need(name + ".value", form, file);
      else if (row.required && !given && !(preset_.layered && row.section == "cost"))
        need(name, row.section == "cost" ? form + "; or name the GPU in place of [cost], gpu = \"h100\"" : form, file);
      if (given) need(name + ".source", form, file);
      if (given) check_range(row, file);
      if (given && row.section.starts_with("network.")) need_curve(row, file);
      if (given && preset_.layered && row.section == "device") preset_.own_device.insert(name);
    }
    if (preset_.layered) take_layers(file);
    if (!problems_.empty()) return Error(std::move(problems_));
    return std::move(preset_);
  }

 private:
  template <typename T>
  static const T* get(const TomlEntry& entry) {
    const auto* scalar = std::get_if<ParameterValue>(&entry.value);
    return scalar != nullptr ? std::get_if<T>(scalar) : nullptr;
  }
  bool begun_section(std::string_view section) const {
    const std::string prefix = std::string(section) + ".";
    const auto first = seen_.lower_bound(prefix);
    return first != seen_.end() && first->starts_with(prefix);
  }
  // The numbers of the GPU, with the kernel and the implementation that the file names or the defaults.
  void take_layers(std::string_view file) {
    if (begun_section("outside"))
      return need("cost.provenance", "[outside] without [cost]: give both, or neither and gpu", file);
    std::vector<Problem> found;
    ProfileChoices choices;
    choices.attention_kernel = preset_.attention_kernel;
    choices.implementation = preset_.implementation;
    resolve_profiles(preset_, choices, found);
    for (Problem& problem : found) {
      problem.field = problem.field.substr(problem.field.find('.') + 1);
      problem.place = {std::string(file)};
      problems_.push_back(std::move(problem));
    }
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
  void contradicts(std::string field, std::string message, std::string hint, std::string_view file) {
    problems_.push_back(
        {ErrorCode::kConfigConflict, std::move(field), std::move(message), std::move(hint), {std::string(file)}});
  }
  void check_range(const ClusterFieldRow& row, std::string_view file) {
    const auto range = preset_.ranges.find(std::string(row.name));
    if (range == preset_.ranges.end()) return;
    for (const char* part : {".low", ".high"}) need(std::string(row.name) + part, "a range has low and high", file);
    const double value = row.ref(preset_);
    if (range->second.low <= value && value <= range->second.high) return;
    contradicts(std::string(row.name),
                fmt::format("{} is outside its own range of {} to {}", value, range->second.low, range->second.high),
                "low must not be above value, nor value above high", file);
  }
  // A curve without one of its numbers cannot be drawn, and the other numbers of the section would be ignored.
  void need_curve(const ClusterFieldRow& row, std::string_view file) {
    std::vector<std::string_view> keys(std::begin(kCurveKeys), std::end(kCurveKeys));
    std::erase_if(keys, [&](std::string_view key) {  // one_sided has no floor
      return std::ranges::none_of(kClusterFields,
                                  [&](const ClusterFieldRow& r) { return r.section == row.section && r.key == key; });
    });
    for (const std::string_view key : keys) {
      const std::string name = fmt::format("{}.{}", row.section, key);
      if (seen_.contains(name + ".value")) continue;
      need(name,
           fmt::format("a curve needs {}: write {} = {{ value = ..., source = \"...\" }} in [{}]",
                       fmt::join(keys, ", "), key, row.section),
           file);
      seen_.insert(name + ".value");  // said once
    }
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
  void number(const TomlEntry& entry, const ClusterFieldRow& row, double& out) {
    const auto* real = get<double>(entry);
    const auto* whole = get<std::int64_t>(entry);
    if (real == nullptr && whole == nullptr) return wrong(entry, "a number");
    const double value = real != nullptr ? *real : static_cast<double>(*whole);
    if (!(value >= row.min && value <= row.max))
      return report(ErrorCode::kConfigRange, entry, fmt::format("{} is outside [{}, {}]", value, row.min, row.max));
    out = value;
  }
  template <typename Enum>
  void choice(const TomlEntry& entry, std::span<const std::string_view> names, std::string_view what, Enum& out) {
    const auto* value = get<std::string>(entry);
    if (value == nullptr) return wrong(entry, "a string in quotes");
    const auto found = std::ranges::find(names, *value);
    if (found == names.end())
      return report(ErrorCode::kConfigUnknownName, entry, fmt::format("\"{}\" is not a {}", shown(*value), what),
                    fmt::format("use one of {}", fmt::join(names, ", ")));
    out = static_cast<Enum>(found - names.begin());
  }
  void unknown(const TomlEntry& entry, const std::string& name) {
    std::vector<std::string_view> names = {"name",
                                           "note",
                                           "gpus_per_node",
                                           "scalable",
                                           "gpu",
                                           "attention_kernel",
                                           "implementation",
                                           "network.provenance",
                                           "cost.provenance",
                                           "outside.provenance"};
    for (const ClusterFieldRow& row : kClusterFields) names.push_back(row.name);
    const bool help = helps_spelling(problems_.size(), name);
    const std::string near = help ? nearest_name(name, names) : "";
    problems_.push_back({ErrorCode::kConfigUnknownKey, shown(name), "a cluster file has no such key",
                         near.empty() ? "" : fmt::format("did you mean \"{}\"?", near), entry.key_place});
  }

  ClusterPreset preset_;
  std::set<std::string> seen_;
  std::vector<Problem> problems_;
};

EmbeddedFiles<ClusterPreset>& built_in() {
  static EmbeddedFiles<ClusterPreset> presets(embedded_clusters(), parse_cluster);
  return presets;
}

// The name of a scalable preset without its N, the number of nodes; empty for another one.
std::string_view scalable_stem(std::string_view name) {
  return name.ends_with("-xN") ? name.substr(0, name.size() - 1) : std::string_view();
}

// Of [network], [cost] and [outside]; [device] states peaks.
std::optional<Provenance> section_provenance(const ClusterPreset& preset, std::string_view section) {
  if (section == "network") return preset.network.provenance;
  if (section == "cost") return preset.cost.provenance;
  if (section == "outside") return preset.outside.provenance;
  return std::nullopt;
}

bool is_count(std::string_view text) {
  return !text.empty() && text.size() <= 6 && text[0] != '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string_view provenance_name(Provenance provenance) { return kProvenances[static_cast<std::size_t>(provenance)]; }

std::string_view number_origin_name(NumberOrigin origin) { return kOrigins[static_cast<std::size_t>(origin)]; }

std::optional<NumberOrigin> find_number_origin(std::string_view name) {
  const auto found = std::find(std::begin(kOrigins), std::end(kOrigins), name);
  if (found == std::end(kOrigins)) return std::nullopt;
  return static_cast<NumberOrigin>(found - std::begin(kOrigins));
}

std::span<const ClusterFieldRow> cluster_fields() { return kClusterFields; }

ClusterPreset at_range_end(ClusterPreset preset, RangeEnd end) {
  for (const ClusterFieldRow& row : kClusterFields) {
    const auto range = preset.ranges.find(std::string(row.name));
    if (range == preset.ranges.end()) continue;
    const bool is_rate = row.key.ends_with("gbps") || row.key.ends_with("tflops");
    row.ref(preset) = (end == RangeEnd::kFast) == is_rate ? range->second.high : range->second.low;
  }
  return preset;
}

std::vector<std::string_view> cluster_preset_names() { return built_in().names(); }

const ClusterPreset* find_cluster_preset(std::string_view name) {
  for (const std::string_view known : built_in().names()) {
    const std::string_view stem = scalable_stem(known);
    if (known == name || (!stem.empty() && name.starts_with(stem) && is_count(name.substr(stem.size()))))
      return built_in().find(known);
  }
  return nullptr;
}

std::string cluster_preset_meant(std::string_view typed) {
  if (find_cluster_preset(typed) != nullptr) return std::string(typed);
  const std::string whole = lower_case(typed);
  std::string_view name = whole;
  for (const std::string_view maker : {"nvidia", "geforce", "rtx"}) {
    if (!name.starts_with(maker)) continue;
    name.remove_prefix(maker.size());
    while (!name.empty() && (name[0] == '-' || name[0] == '_' || name[0] == ' ')) name.remove_prefix(1);
  }
  return std::string(find_cluster_preset(name) != nullptr ? name : typed);
}

std::string cluster_of_count_hint(std::string_view typed) {
  const std::size_t x = typed.rfind('x');
  if (x == typed.npos || x == 0 || !is_count(typed.substr(x + 1))) return "";
  const std::string name = cluster_preset_meant(fmt::format("{}x8", typed.substr(0, x)));
  const ClusterPreset* node = find_cluster_preset(name);
  if (node == nullptr) return "";
  int gpus = 0;
  std::from_chars(typed.data() + x + 1, typed.data() + typed.size(), gpus);
  if (gpus <= node->gpus_per_node) return fmt::format("use cluster.preset = {}, cluster.ranks = {}", name, gpus);
  const std::string part = fmt::format("-{}-", name.substr(0, name.size() - 2));
  for (const std::string_view known : built_in().names()) {
    const std::string_view stem = scalable_stem(known);
    if (stem.find(part) == stem.npos) continue;
    const int gpus_per_node = built_in().find(known)->gpus_per_node;
    if (gpus % gpus_per_node == 0) return fmt::format("use cluster.preset = {}{}", stem, gpus / gpus_per_node);
  }
  return "";
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
  if (!preset.gpu.empty()) text += fmt::format("gpu = {}\n", toml_quoted(preset.gpu));
  if (!preset.attention_kernel.empty())
    text += fmt::format("attention_kernel = {}\n", toml_quoted(preset.attention_kernel));
  if (!preset.implementation.empty()) text += fmt::format("implementation = {}\n", toml_quoted(preset.implementation));
  const auto is_of_layers = [&](const ClusterFieldRow& row) {
    return preset.layered && !row.section.starts_with("network") && !preset.own_device.contains(std::string(row.name));
  };
  std::string_view section;
  for (const ClusterFieldRow& row : kClusterFields) {
    const auto source = preset.sources.find(std::string(row.name));
    if ((!row.required && source == preset.sources.end()) || is_of_layers(row)) continue;
    if (row.section != section) {
      section = row.section;
      text += fmt::format("\n[{}]\n", section);
      if (const std::optional<Provenance> provenance = section_provenance(preset, section))
        text += fmt::format("provenance = \"{}\"\n", provenance_name(*provenance));
    }
    text += fmt::format("{} = {{ value = {}, ", row.key, toml_real(row.ref(copy)));
    if (const auto range = preset.ranges.find(std::string(row.name)); range != preset.ranges.end())
      text += fmt::format("low = {}, high = {}, ", toml_real(range->second.low), toml_real(range->second.high));
    text += fmt::format("source = {}", toml_quoted(source == preset.sources.end() ? "not given" : source->second));
    if (const auto origin = preset.origins.find(std::string(row.name)); origin != preset.origins.end())
      text += fmt::format(", from = \"{}\"", number_origin_name(origin->second));
    text += " }\n";
  }
  return text;
}

void write_profile(const std::string& path, const ClusterPreset& preset) {
  write_whole_file(path, cluster_toml(preset));
}

}  // namespace spscope
