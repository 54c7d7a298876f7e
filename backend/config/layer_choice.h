// LayerChoice: which layers of the model run (run.layers). Masks differ from layer to layer, so a comparison of
// strategies needs several; a whole model takes long to plan, so a few that stand for all are the default of a
// simulation.
#pragma once

#include <string>
#include <vector>

namespace spscope {

struct LayerChoice {
  // kAuto: by the mode, see chosen_layers(). kFirst: the first `count`. kSpread: `count` of them, spread over the
  // model. kList: those of `list`.
  enum class Kind { kAuto, kFirst, kSpread, kList };

  LayerChoice() = default;
  LayerChoice(int first) : kind(Kind::kFirst), count(first) {}  // NOLINT: run.layers = 3
  static LayerChoice spread(int count);
  static LayerChoice of(std::vector<int> layers);

  Kind kind = Kind::kAuto;
  int count = 0;
  std::vector<int> list;
  friend bool operator==(const LayerChoice&, const LayerChoice&) = default;
};

// How many layers a simulation runs by default, and every other mode.
inline constexpr int kDefaultSpread = 8, kDefaultFirst = 1;

// "auto" and "spread:8" as text; false when it has another form or the count is not in [1, 10000].
bool parse_layer_choice(const std::string& text, LayerChoice& out);
// The value as TOML: "auto", 3, "spread:8", [0, 5, 39].
std::string layer_choice_toml(const LayerChoice& choice);

// The layers of the choice, ascending, of a model that has them (spread_layers tells what first_single is).
// REQUIRES: the kind is not kAuto.
std::vector<int> chosen_layers(const LayerChoice& choice, int layers, int first_single);

// `count` of the layers [0, layers), ascending: the layers before and after `first_single` (which differ in kind, as
// double- and single-stream blocks do) in proportion to their numbers, both when there are two or more, and inside each
// kind the middle of each of equal parts. All of them when `count` is at least `layers`.
std::vector<int> spread_layers(int count, int layers, int first_single);

}  // namespace spscope
