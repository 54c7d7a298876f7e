#include "backend/config/layer_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace spscope {
namespace {

constexpr std::string_view kAutoText = "auto", kSpreadText = "spread:";
constexpr int kMostLayers = 10000;

// The middles of `count` equal parts of [begin, end).
void add_middles(int count, int begin, int end, std::vector<int>& layers) {
  for (int i = 0; i < count; ++i)
    layers.push_back(begin + static_cast<int>((std::int64_t{2} * i + 1) * (end - begin) / (2 * std::int64_t{count})));
}

}  // namespace

LayerChoice LayerChoice::spread(int count) {
  LayerChoice choice;
  choice.kind = Kind::kSpread;
  choice.count = count;
  return choice;
}

LayerChoice LayerChoice::of(std::vector<int> layers) {
  LayerChoice choice;
  choice.kind = Kind::kList;
  choice.list = std::move(layers);
  return choice;
}

bool parse_layer_choice(const std::string& text, LayerChoice& out) {
  if (text == kAutoText) {
    out = LayerChoice();
    return true;
  }
  if (!text.starts_with(kSpreadText)) return false;
  const std::string_view number = std::string_view(text).substr(kSpreadText.size());
  int count = 0;
  const auto [stop, code] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (code != std::errc() || stop != number.data() + number.size() || count < 1 || count > kMostLayers) return false;
  out = LayerChoice::spread(count);
  return true;
}

std::string layer_choice_toml(const LayerChoice& choice) {
  switch (choice.kind) {
    case LayerChoice::Kind::kFirst:
      return std::to_string(choice.count);
    case LayerChoice::Kind::kSpread:
      return fmt::format("\"{}{}\"", kSpreadText, choice.count);
    case LayerChoice::Kind::kList:
      return fmt::format("[{}]", fmt::join(choice.list, ", "));
    case LayerChoice::Kind::kAuto:
      break;
  }
  return fmt::format("\"{}\"", kAutoText);
}

std::vector<int> chosen_layers(const LayerChoice& choice, int layers, int first_single) {
  if (choice.kind == LayerChoice::Kind::kSpread) return spread_layers(choice.count, layers, first_single);
  std::vector<int> chosen = choice.list;
  if (choice.kind == LayerChoice::Kind::kFirst) {
    chosen.resize(static_cast<std::size_t>(choice.count));
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<int> spread_layers(int count, int layers, int first_single) {
  std::vector<int> chosen;
  if (count >= layers) {
    chosen.resize(static_cast<std::size_t>(layers));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  const int doubles = std::clamp(first_single, 0, layers);
  int of_doubles = static_cast<int>((std::int64_t{2} * count * doubles + layers) / (2 * std::int64_t{layers}));
  if (count >= 2 && doubles > 0 && doubles < layers) of_doubles = std::clamp(of_doubles, 1, count - 1);
  of_doubles = std::clamp(of_doubles, count - std::min(count, layers - doubles), std::min(count, doubles));
  add_middles(of_doubles, 0, doubles, chosen);
  add_middles(count - of_doubles, doubles, layers, chosen);
  return chosen;
}

}  // namespace spscope
