#include "backend/analysis/mask_recipe.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <utility>

#include "backend/base/result.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

[[noreturn]] void reject(const MaskRecord& record, const std::string& why) {
  throw Error(ErrorCode::kStoreCorrupt,
              fmt::format("mask {} cannot be made from its recipe: {}", static_cast<std::int64_t>(record.mask_id), why),
              "the file is damaged; copy it again from where it was made");
}

// The values of a recipe by name; each is taken once.
class Recipe {
 public:
  explicit Recipe(const MaskRecord& record) : record_(record) {
    const Result<std::vector<TomlEntry>> entries = read_toml(record.recipe, "recipe");
    if (!entries) reject(record, entries.error().what());
    for (const TomlEntry& entry : *entries) values_.emplace(entry.name(), entry.value);
  }

  template <typename T>
  T take(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) reject(record_, name + " is missing");
    const auto* scalar = std::get_if<ParameterValue>(&found->second);
    const T* value = scalar != nullptr ? std::get_if<T>(scalar) : nullptr;
    if (value == nullptr) reject(record_, name + " has another type");
    T taken = *value;
    values_.erase(found);
    return taken;
  }
  int count(const std::string& name, std::int64_t min) { return checked(name, take<std::int64_t>(name), min); }
  std::array<int, 3> grid(const std::string& name) {
    const auto found = values_.find(name);
    const auto* list = found != values_.end() ? std::get_if<std::vector<ParameterValue>>(&found->second) : nullptr;
    if (list == nullptr || list->size() != 3) reject(record_, name + " is not a list of three numbers");
    std::array<int, 3> extents{};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto* extent = std::get_if<std::int64_t>(&(*list)[i]);
      extents[i] = checked(name, extent != nullptr ? *extent : 0, 1);
    }
    values_.erase(found);
    return extents;
  }
  // All that is left: of [mask.PATTERN].
  Parameters parameters(const Pattern& pattern) {
    const std::vector<Parameter> rows = pattern.parameters();
    const std::string prefix = fmt::format("mask.{}.", pattern.name);
    Parameters parameters(rows);
    std::vector<Problem> problems;
    for (const auto& [name, value] : values_) {
      const auto* scalar = std::get_if<ParameterValue>(&value);
      if (scalar == nullptr || !name.starts_with(prefix)) reject(record_, name + " is unknown");
      set_parameter(parameters, rows, name.substr(prefix.size()), to_text(*scalar), pattern.name, problems);
    }
    if (!problems.empty()) reject(record_, problems.front().message);
    return parameters;
  }

 private:
  int checked(const std::string& name, std::int64_t value, std::int64_t min) {
    if (value < min || value > std::numeric_limits<int>::max()) reject(record_, name + " is out of range");
    return static_cast<int>(value);
  }

  const MaskRecord& record_;
  std::map<std::string, TomlValue> values_;
};

}  // namespace

std::string recipe_of(const Pattern& pattern, const PatternRequest& request) {
  std::string text = fmt::format(
      "[mask]\npattern = {}\ngrid = [{}, {}, {}]\ntext_tokens = {}\nheads = {}\nblock = {}\ndensity = {}\nseed = {}\n"
      "denoise_step = {}\ndenoise_steps = {}\nlayer = {}\nlayers = {}\n",
      toml_quoted(pattern.name), request.grid[0], request.grid[1], request.grid[2], request.text_tokens, request.heads,
      request.block, toml_real(request.density), request.seed, request.denoise_step, request.denoise_steps,
      request.layer, request.layers);
  if (!request.parameters.values().empty()) text += fmt::format("[mask.{}]\n", pattern.name);
  for (const auto& [name, value] : request.parameters.values())
    text += fmt::format("{} = {}\n", name, toml_scalar(to_text(value)));
  return text;
}

BlockMask mask_of_recipe(const MaskRecord& record) {
  Recipe recipe(record);
  const auto name = recipe.take<std::string>("mask.pattern");
  const Pattern* pattern = find_pattern(name);
  if (pattern == nullptr) reject(record, fmt::format("there is no pattern \"{}\"", name));
  PatternRequest request;
  request.grid = recipe.grid("mask.grid");
  request.text_tokens = recipe.count("mask.text_tokens", 0);
  request.heads = recipe.count("mask.heads", 1);
  request.block = recipe.count("mask.block", 1);
  request.density = recipe.take<double>("mask.density");
  request.seed = static_cast<std::uint64_t>(recipe.take<std::int64_t>("mask.seed"));
  request.denoise_step = recipe.count("mask.denoise_step", 0);
  request.denoise_steps = recipe.count("mask.denoise_steps", request.denoise_step + 1);
  request.layer = recipe.count("mask.layer", 0);
  request.layers = recipe.count("mask.layers", request.layer + 1);
  request.parameters = recipe.parameters(*pattern);
  const std::vector<Problem> problems = pattern->check(request);
  if (!problems.empty()) reject(record, problems.front().message);
  if (request.heads != record.heads || request.tokens() != record.tokens)
    reject(record, fmt::format("it is of {} heads and {} tokens, the mask of {} and {}", request.heads,
                               request.tokens(), record.heads, record.tokens));
  BlockMask mask = pattern->generate(request);
  if (mask.hash() != record.hash)
    reject(record, fmt::format("the hash is {:016x}, not {:016x}", mask.hash(), record.hash));
  return mask;
}

std::optional<BlockMask> stored_mask(const StoreReader& reader, WorkloadId workload, int layer, int denoise_step,
                                     AttendedAxis axis) {
  for (const MaskPlace& place : reader.mask_places(workload)) {
    if (place.layer != layer || place.denoise_step != denoise_step || place.axis != axis) continue;
    if (std::optional<BlockMask> mask = reader.mask_bits(place.mask_id)) return mask;
    return mask_of_recipe(reader.mask_record(place.mask_id));
  }
  return std::nullopt;
}

}  // namespace spscope
