// Fits of linear cost models with coefficients that cannot be negative, as times and bandwidths cannot.
//
// A sample says: this many of each term (a launch, rows, pairs x channels, bytes, ...) took so long. The fit minimises
// the sum of squared *relative* residuals, so that a short op counts as much as a long one: a profile is used for both.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace spscope {

struct FitSample {
  std::vector<double> terms;  // >= 0
  double value = 0;           // > 0
};

// Several values of one number: their median, and the distance of their quartiles over it.
struct Measured {
  double value = 0, spread = 0;
};
// REQUIRES: not empty; values >= 0.
Measured measured(std::vector<double> values);

// How well a model describes the samples it was fitted to: |model / sample - 1|.
struct FitQuality {
  int num_samples = 0;
  double median_relative_residual = 0, max_relative_residual = 0;
  friend bool operator==(const FitQuality&, const FitQuality&) = default;
};

struct LinearFit {
  std::vector<double> coefficients;  // by term, >= 0; 0 for a term that no sample has
  FitQuality quality;
  double squares = 0;  // sum of the squared relative residuals
};

// The coefficients c >= 0 of value = sum of c[i] x terms[i] with the least sum of squared relative residuals.
// REQUIRES: samples not empty, with equally many terms (1 to 8); positive values.
LinearFit fit_non_negative(std::span<const FitSample> samples);

// Latency and bandwidth of a link, of a fit of {1, bytes} to the times of exchanges, the largest last. Absent when
// bytes explain hardly anything of the time of the largest, or little of how times differ: then noise was measured, and
// no bandwidth.
struct LinkNumbers {
  double latency_ns = 0, gbps = 0;
};
std::optional<LinkNumbers> link_of(std::span<const FitSample> samples, const LinearFit& fit);

// By how much compute slows down that ends `delay_ns` later than alone because of communication that was under way for
// `overlap_ns` of it: the s >= 1 with delay = overlap x (1 - 1/s); infinity when it made no progress at all.
double slowdown_of(double overlap_ns, double delay_ns);

}  // namespace spscope
