// Advice: what `spscope advise --json` answers, as the window shows it, and the run that shows it in detail.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spscope::gui {

// A strategy at its best setting. Times are of a mean layer pass, means over ranks but for `layer_ns`.
struct AdvisedStrategy {
  std::string label;
  bool is_best = false;
  double layer_ns = 0;
  std::optional<double> end_to_end_ns, speedup, compute_ns, wait_late_peer_ns, wire_ns, imbalance, sent_bytes;
};

struct Advice {
  std::vector<std::string> sentences;
  std::string reference;                    // that speed-ups are against
  std::vector<AdvisedStrategy> strategies;  // that can run, the fastest first
  // Arguments behind those of the form that simulate the strategy that is advised, beside the reference, as they were
  // compared; empty where none is advised.
  std::vector<std::string> run_arguments;
};

// Nothing where the text is no answer.
std::optional<Advice> read_advice(std::string_view json);
// The command that runs what was advised: `words` is the one that asked.
std::vector<std::string> advised_run(const std::vector<std::string>& words, const Advice& advice,
                                     const std::string& output);

}  // namespace spscope::gui
