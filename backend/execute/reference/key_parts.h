// Keys cut into parts, one for each rank of a ring, and softmax over some of them: what faults of known_faults.h are
// made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace spscope {

// Part j is [cuts[j], cuts[j + 1]).
struct Partition {
  std::vector<std::int32_t> cuts;
  std::string words;  // "4 parts of the keys"
  int parts() const { return static_cast<int>(cuts.size()) - 1; }
  int part_of(std::int32_t token) const {
    return static_cast<int>(std::ranges::upper_bound(cuts, token) - cuts.begin()) - 1;
  }
};

// As programs cut: evenly rounded down, as torch.chunk does, as torch.tensor_split does, at the borders of blocks
// `starts`. Each list of cuts once, for each of these numbers of parts.
std::vector<Partition> partitions(std::int32_t tokens, std::span<const int> numbers,
                                  std::span<const std::int32_t> starts);

// Softmax over some keys: the largest score, the sum of exp(score - largest), and the values by those weights over it.
struct Folded {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  std::vector<double> out;
  double lse() const { return largest + std::log(sum); }
};

// Some of the stretches, each counted `times`.
Folded fold(std::span<const Folded> stretches, const std::function<double(std::size_t)>& times);

// The sum of the outputs of parts that have keys, each times its weight; over the sum of weights where it is
// normalised.
std::vector<double> weighted(std::span<const Folded> parts, const std::function<double(const Folded&)>& weight_of,
                             bool normalised);

}  // namespace spscope
