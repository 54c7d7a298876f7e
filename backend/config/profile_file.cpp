// Files of the profile layers: parsing and canonical writing, by the rows of profile_fields.def.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "backend/base/nearest_name.h"
#include "backend/config/profile_layers.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

using Numbers = std::vector<std::pair<std::string, SourcedNumber*>>;
using Texts = std::vector<std::pair<std::string, std::string*>>;

struct Limits {
  std::string_view key;
  double min, max;
  std::string_view help;
};
constexpr Limits kLimits[] = {
#define GPU(key, min, max, help) {#key, min, max, help},
#define KERNEL(key, min, max, help) {#key, min, max, help},
#define IMPLEMENTATION(key, min, max, help) {#key, min, max, help},
#define OUTSIDE(key, min, max, help) {#key, min, max, help},
#define VAE(key, min, max, help) {#key, min, max, help},
#include "backend/config/profile_fields.def"
};

const Limits& limits_of(std::string_view name) {
  const std::string_view key = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  return *std::ranges::find(kLimits, key, &Limits::key);
}

Texts texts_of(GpuProfile& gpu) {
  Texts texts = {{"name", &gpu.name},
                 {"note", &gpu.note},
                 {"dense_kernel", &gpu.dense_kernel},
                 {"sparse_kernel", &gpu.sparse_kernel}};
  for (AttentionKernelProfile& kernel : gpu.kernels)
    texts.emplace_back(fmt::format("kernel.{}.note", kernel.name), &kernel.note);
  return texts;
}
Texts texts_of(ImplementationProfile& implementation) {
  return {{"name", &implementation.name}, {"note", &implementation.note}};
}

// A section begins: kernel.NAME, outside.FAMILY, vae.NAME.
bool open_section(GpuProfile& gpu, const std::string& kind, const std::string& name) {
  if (kind != "kernel") return false;
  if (gpu.find_kernel(name) == nullptr) gpu.kernels.emplace_back().name = name;
  return true;
}
bool open_section(ImplementationProfile& implementation, const std::string& kind, const std::string& name) {
  return (kind == "outside" && implementation.outside.contains(name)) ||
         (kind == "vae" && implementation.vae.contains(name));
}

template <typename Profile>
class LayerReader {
 public:
  explicit LayerReader(std::string_view file) : file_(file) {}

  void read(const TomlEntry& entry) {
    const std::vector<std::string>& path = entry.path;
    if (path.size() > 2 && !open_section(profile_, path[0], path[1])) return unknown(entry);
    const std::string name = entry.name();
    for (auto& [key, text] : texts_of(profile_))
      if (key == name) return set_text(entry, *text);
    for (auto& [key, number] : numbers_of(profile_)) {
      if (name == key + ".value") return set_value(entry, key, number->value);
      for (const char* end : {".low", ".high"}) {
        if (name != key + end) continue;
        if (!number->range) number->range.emplace();
        return set_value(entry, name, end == std::string_view(".low") ? number->range->low : number->range->high);
      }
      if (name == key + ".source") return set_text(entry, number->source);
      if (name == key + ".from") return set_from(entry, *number);
    }
    unknown(entry);
  }

  Result<Profile> finish() {
    if (profile_.name.empty()) missing("name", "write name = \"...\"");
    for (const auto& [key, number] : numbers_of(profile_))
      if (!given_.contains(key) || number->source.empty())
        missing(key, fmt::format("write {} = {{ value = ..., from = \"assumed\", source = \"...\" }}: {}",
                                 limits_of(key).key, limits_of(key).help));
    for (const auto& [key, number] : numbers_of(profile_)) check_range(key, *number);
    check_choices(profile_);
    if (!problems_.empty()) return Error(std::move(problems_));
    return std::move(profile_);
  }

 private:
  void report(ErrorCode code, const TomlEntry& entry, std::string message, std::string hint = {}) {
    problems_.push_back({code, shown(entry.name()), std::move(message), std::move(hint), entry.value_place});
  }
  void missing(std::string field, std::string hint) {
    problems_.push_back(
        {ErrorCode::kConfigConflict, std::move(field), "this key is missing from the file", std::move(hint), {file_}});
  }
  void unknown(const TomlEntry& entry) {
    report(ErrorCode::kConfigUnknownKey, entry, "a file of this kind has no such key");
  }
  void set_text(const TomlEntry& entry, std::string& out) {
    const auto* scalar = std::get_if<ParameterValue>(&entry.value);
    const auto* text = scalar != nullptr ? std::get_if<std::string>(scalar) : nullptr;
    if (text == nullptr)
      return report(ErrorCode::kConfigType, entry,
                    fmt::format("expected a string in quotes, got {}", kind_of(entry.value)));
    out = *text;
  }
  void check_range(const std::string& key, const SourcedNumber& number) {
    if (!number.range) return;
    const bool both = given_.contains(key + ".low") && given_.contains(key + ".high");
    if (both && number.range->low <= number.value && number.value <= number.range->high) return;
    problems_.push_back({ErrorCode::kConfigConflict,
                         key,
                         both ? fmt::format("{} is outside its own range of {} to {}", number.value, number.range->low,
                                            number.range->high)
                              : "a range has low and high",
                         "write low and high, the first not above value and the second not below",
                         {file_}});
  }
  // `key`: of the number, or that of an end of its range.
  void set_value(const TomlEntry& entry, const std::string& key, double& out) {
    const auto* scalar = std::get_if<ParameterValue>(&entry.value);
    const auto* real = scalar != nullptr ? std::get_if<double>(scalar) : nullptr;
    const auto* whole = scalar != nullptr ? std::get_if<std::int64_t>(scalar) : nullptr;
    if (real == nullptr && whole == nullptr)
      return report(ErrorCode::kConfigType, entry, fmt::format("expected a number, got {}", kind_of(entry.value)));
    const double value = real != nullptr ? *real : static_cast<double>(*whole);
    const Limits& limits =
        limits_of(key.ends_with(".low") || key.ends_with(".high") ? key.substr(0, key.rfind('.')) : key);
    if (!(value >= limits.min && value <= limits.max))
      return report(ErrorCode::kConfigRange, entry,
                    fmt::format("{} is outside [{}, {}]", value, limits.min, limits.max));
    out = value;
    given_.insert(key);
  }
  void set_from(const TomlEntry& entry, SourcedNumber& out) {
    std::string text;
    set_text(entry, text);
    const std::optional<NumberOrigin> from = find_number_origin(text);
    if (!from)
      return report(ErrorCode::kConfigUnknownName, entry, fmt::format("\"{}\" is not an origin", shown(text)),
                    "use measured, fitted or assumed");
    out.from = *from;
  }
  void check_choices(const GpuProfile& gpu) {
    for (const auto& [key, kernel] :
         {std::pair("dense_kernel", &gpu.dense_kernel), std::pair("sparse_kernel", &gpu.sparse_kernel)})
      if (gpu.find_kernel(*kernel) == nullptr)
        problems_.push_back({ErrorCode::kConfigUnknownName,
                             key,
                             fmt::format("this GPU has no attention kernel \"{}\"", shown(*kernel)),
                             "name one of its [kernel.NAME] sections",
                             {file_}});
  }
  void check_choices(const ImplementationProfile&) {}

  std::string file_;
  Profile profile_;
  std::set<std::string> given_;
  std::vector<Problem> problems_;
};

template <typename Profile>
Result<Profile> parse_layer(std::string_view text, std::string_view file) {
  auto entries = read_toml(text, file);
  if (!entries.has_value()) return entries.error();
  LayerReader<Profile> reader(file);
  for (const TomlEntry& entry : *entries) reader.read(entry);
  return reader.finish();
}

// Rows of the top level first: TOML reads what follows a section as part of it.
template <typename Profile>
std::string layer_toml(Profile profile) {
  std::string text, section;
  const auto enter = [&](const std::string& name) {
    const std::size_t dot = name.rfind('.');
    const std::string of = dot == std::string::npos ? "" : name.substr(0, dot);
    if (of != section) text += fmt::format("\n[{}]\n", of);
    section = of;
    return dot == std::string::npos ? name : name.substr(dot + 1);
  };
  const Texts texts = texts_of(profile);
  for (const auto& [name, value] : texts)
    if (name.find('.') == std::string::npos) text += fmt::format("{} = {}\n", name, toml_quoted(*value));
  for (const auto& [name, number] : numbers_of(profile)) {
    const std::string before = section, key = enter(name);
    if (section != before)
      for (const auto& [text_name, value] : texts)
        if (text_name == section + ".note") text += fmt::format("note = {}\n", toml_quoted(*value));
    const std::string range = number->range ? fmt::format("low = {}, high = {}, ", toml_real(number->range->low),
                                                          toml_real(number->range->high))
                                            : "";
    text += fmt::format("{} = {{ value = {}, {}from = \"{}\", source = {} }}\n", key, toml_real(number->value), range,
                        number_origin_name(number->from), toml_quoted(number->source));
  }
  return text;
}

}  // namespace

Numbers numbers_of(GpuProfile& gpu) {
  Numbers numbers;
#define GPU(key, min, max, help) numbers.emplace_back(#key, &gpu.key);
#include "backend/config/profile_fields.def"
  for (AttentionKernelProfile& kernel : gpu.kernels) {
#define KERNEL(key, min, max, help) numbers.emplace_back(fmt::format("kernel.{}.{}", kernel.name, #key), &kernel.key);
#include "backend/config/profile_fields.def"
  }
  return numbers;
}

Numbers numbers_of(ImplementationProfile& implementation) {
  Numbers numbers;
#define IMPLEMENTATION(key, min, max, help) numbers.emplace_back(#key, &implementation.key);
#include "backend/config/profile_fields.def"
  for (auto& [family, outside] : implementation.outside) {
#define OUTSIDE(key, min, max, help) numbers.emplace_back(fmt::format("outside.{}.{}", family, #key), &outside.key);
#include "backend/config/profile_fields.def"
  }
  for (auto& [decoder, vae] : implementation.vae) {
#define VAE(key, min, max, help) numbers.emplace_back(fmt::format("vae.{}.{}", decoder, #key), &vae.key);
#include "backend/config/profile_fields.def"
  }
  return numbers;
}

Result<GpuProfile> parse_gpu(std::string_view text, std::string_view file) {
  return parse_layer<GpuProfile>(text, file);
}
Result<ImplementationProfile> parse_implementation(std::string_view text, std::string_view file) {
  return parse_layer<ImplementationProfile>(text, file);
}
std::string gpu_toml(const GpuProfile& gpu) { return layer_toml(gpu); }
std::string implementation_toml(const ImplementationProfile& implementation) { return layer_toml(implementation); }

}  // namespace spscope
