#include "backend/execute/reference/key_parts.h"

#include <fmt/format.h>

#include <set>

namespace spscope {

std::vector<Partition> partitions(std::int32_t tokens, std::span<const int> numbers,
                                  std::span<const std::int32_t> starts) {
  std::vector<Partition> all;
  std::set<std::vector<std::int32_t>> known;
  for (const int n : numbers) {
    if (n < 2 || n > tokens) continue;
    const auto blocks = static_cast<std::int64_t>(starts.size()) - 1;
    for (int rule = 0; rule < 4; ++rule) {
      Partition made{{0}, fmt::format("{} parts of the keys", n)};
      constexpr const char* kHow[] = {"", " (cut as by torch.chunk)", " (cut as by torch.tensor_split)",
                                      " (cut at block borders)"};
      for (std::int64_t j = 1; j < n; ++j) {
        const std::int64_t cut[] = {tokens * j / n, std::min<std::int64_t>(tokens, j * ((tokens + n - 1) / n)),
                                    j * (tokens / n) + std::min<std::int64_t>(j, tokens % n),
                                    starts[static_cast<std::size_t>(blocks * j / n)]};
        made.cuts.push_back(static_cast<std::int32_t>(cut[rule]));
      }
      made.cuts.push_back(tokens);
      made.words += kHow[rule];
      if (known.insert(made.cuts).second) all.push_back(std::move(made));
    }
  }
  return all;
}

Folded fold(std::span<const Folded> stretches, const std::function<double(std::size_t)>& times) {
  Folded all{.out = std::vector<double>(stretches.front().out.size(), 0.0)};
  for (std::size_t s = 0; s < stretches.size(); ++s)
    if (stretches[s].sum > 0 && times(s) > 0) all.largest = std::max(all.largest, stretches[s].largest);
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    if (stretches[s].sum <= 0 || times(s) <= 0) continue;
    const double weight = times(s) * stretches[s].sum * std::exp(stretches[s].largest - all.largest);
    all.sum += weight;
    for (std::size_t i = 0; i < all.out.size(); ++i) all.out[i] += weight * stretches[s].out[i];
  }
  for (double& x : all.out) x = all.sum > 0 ? x / all.sum : 0;
  return all;
}

std::vector<double> weighted(std::span<const Folded> parts, const std::function<double(const Folded&)>& weight_of,
                             bool normalised) {
  std::vector<double> out(parts.front().out.size(), 0.0);
  double sum = 0;
  for (const Folded& part : parts) {
    if (part.sum <= 0) continue;
    const double weight = weight_of(part);
    sum += weight;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += weight * part.out[i];
  }
  if (normalised && sum > 0)
    for (double& x : out) x /= sum;
  return out;
}

}  // namespace spscope
