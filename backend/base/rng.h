// A small counter-based random generator (SplitMix64). bits(), uniform() and below() give the same numbers for a seed
// on every machine, which std:: distributions do not promise. normal(), gamma() and beta() call log, cos and pow of the
// C library, so their last bit may differ between libraries and processors.
#pragma once

#include <cstdint>

namespace spscope {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  // A generator for a named part of a seeded whole; streams with different keys are independent.
  Rng(std::uint64_t seed, std::uint64_t key) : state_(mix(seed) ^ mix(key * 0x9e3779b97f4a7c15u + 1)) {}

  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15u;
    return mix(state_);
  }
  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  // Uniform in [0, bound). REQUIRES: bound > 0.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>((static_cast<unsigned __int128>(bits()) * static_cast<std::uint64_t>(bound)) >>
                                     64);
  }
  // Standard normal.
  double normal();
  // Gamma with this shape and scale 1; Beta(a, b). REQUIRES: positive parameters.
  double gamma(double shape);
  double beta(double a, double b);

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace spscope
