// The small functions of RunConfig: names of choices, input paths, and the text form of a strategy.
#include "backend/config/run_config.h"

#include <filesystem>

namespace spscope {
namespace {

constexpr std::string_view kModes[] = {"execute", "project", "simulate", "observed"};
constexpr std::string_view kScopes[] = {"attention", "layer"};
constexpr std::string_view kTextLayouts[] = {"shard", "replicate"};
constexpr std::string_view kVerifyExtents[] = {"full", "sample", "off"};
constexpr std::string_view kPassChoices[] = {"at-once", "all"};
constexpr std::string_view kMeasureLoads[] = {"alone", "loaded"};
constexpr std::string_view kWeightLayouts[] = {"replicated", "sharded"};
constexpr std::string_view kWeightDtypes[] = {"same", "fp32", "bf16", "fp8", "int8", "int4"};
constexpr std::string_view kTextEncoderPlaces[] = {"unknown", "gpu", "cpu", "sharded"};
constexpr std::string_view kMaskForms[] = {"auto", "bits", "lut"};
constexpr std::string_view kListCodings[] = {"auto", "yes", "no"};
constexpr std::string_view kDtypes[] = {dtype_name(Dtype::kBf16), dtype_name(Dtype::kFp32)};

}  // namespace

std::span<const std::string_view> choice_names(RunMode) { return std::span(kModes).first(3); }  // of a config
std::span<const std::string_view> choice_names(RunScope) { return kScopes; }
std::span<const std::string_view> choice_names(TextLayout) { return kTextLayouts; }
std::span<const std::string_view> choice_names(VerifyExtent) { return kVerifyExtents; }
std::span<const std::string_view> choice_names(PassChoice) { return kPassChoices; }
std::span<const std::string_view> choice_names(MeasureLoad) { return kMeasureLoads; }
std::span<const std::string_view> choice_names(WeightLayout) { return kWeightLayouts; }
std::span<const std::string_view> choice_names(WeightDtype) { return kWeightDtypes; }
std::span<const std::string_view> choice_names(TextEncoderPlace) { return kTextEncoderPlaces; }
std::span<const std::string_view> choice_names(MaskForm) { return kMaskForms; }
std::span<const std::string_view> choice_names(ListCoding) { return kListCodings; }
std::span<const std::string_view> choice_names(Dtype) { return kDtypes; }

std::string_view choice_name(RunMode mode) { return kModes[static_cast<std::size_t>(mode)]; }

double weight_bytes(const RunSection& run) {
  switch (run.weight_dtype) {
    case WeightDtype::kSame:
      return dtype_bytes(run.dtype);
    case WeightDtype::kFp32:
      return 4;
    case WeightDtype::kBf16:
      return 2;
    case WeightDtype::kFp8:
    case WeightDtype::kInt8:
      return 1;
    case WeightDtype::kInt4:
      return 0.5;
  }
  return 0;
}

std::string input_path(const RunConfig& config, std::string_view path) {
  return (std::filesystem::path(config.folder) / std::filesystem::path(path)).string();
}

StrategyChoice strategy_choice(const RunConfig& config, std::string_view text) {
  const std::size_t colon = text.find(':');
  StrategyChoice choice;
  const std::string name(text.substr(0, colon));
  if (const auto found = config.strategy_parameters.find(name); found != config.strategy_parameters.end())
    choice.parameters = found->second;
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (colon != std::string_view::npos && rest.empty()) return {};
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size()) return {};
    choice.parameters.insert_or_assign(std::string(item.substr(0, equals)), std::string(item.substr(equals + 1)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (rest.empty()) return {};
  }
  choice.name = name;
  return choice;
}

}  // namespace spscope
