// Fits the profile layers to the published times in bench/measured and says how far predictions can be trusted: each
// source is predicted once by parameters that have not seen it. Every prediction is that of `spscope run` on the config
// that measured_configs writes for the row.
//
//   fit_bench ROOT [--write | --memory]   ROOT: the repository; --write: docs/accuracy.md, its rows, and the profiles;
//                                         --memory: only the section of docs/accuracy.md about published peaks of
//                                         memory
#include <fmt/format.h>

#include <iostream>

#include "backend/fit/memory_row.h"
#include "bench/fit/accuracy_page.h"
#include "bench/fit/contradictions.h"
#include "bench/fit/fitted_profiles.h"

namespace spscope {
namespace {

int run(const std::string& root, bool write) {
  const std::string measured = root + "/bench/measured";
  const Evaluation e(measured);
  std::cout << fmt::format("{} rows, {} left out\n", e.rows.size(), e.left_out.size()) << std::flush;
  std::vector<double> built_in;
  for (const RowModel& row : e.rows) built_in.push_back(row.seconds(row.resolved()));
  std::cout << "built-in profiles: " << summary_text(summarize(e, built_in)) << std::flush;
  const Fit all = fit(e.problem, e.weights, kMaxRounds);
  std::vector<double> fitted;
  const FittedProfiles profiles = fitted_profiles(e, all.values);
  for (const RowModel& row : e.rows) fitted.push_back(seconds_with(row, profiles));
  std::cout << "fitted to all: " << summary_text(summarize(e, fitted)) << std::flush;
  const Unseen unseen = predict_unseen(e);
  std::cout << fmt::format("each source unseen ({} fits, last moves up to {:.2f}): ", unseen.fits, unseen.last_move)
            << summary_text(summarize(e, unseen.seconds)) << '\n';
  for (std::size_t p = 0; p < e.parameters.size(); ++p)
    std::cout << fmt::format("{:<40} {:.4g}  (prior {:.4g})\n", e.parameters[p].fitted.name, all.values[p],
                             e.parameters[p].fitted.prior);
  std::cout << misordered_text(e, unseen.seconds) << contradictions_text(e, unseen.seconds, all.values);
  for (const LeftOut& out : e.left_out) std::cout << out.row.id << ' ' << out.reason << '\n';
  if (!write) return 0;
  write_accuracy(root, e, fitted, unseen.seconds, all.values);
  write_ratio_errors(root + "/backend/analysis/ratio_error.def", e, summarize(e, unseen.seconds));
  write_layers(root, profiles);
  write_clusters(root + "/backend/config/clusters", e, all.values);
  return 0;
}

int write_memory(const std::string& root) {
  const Result<std::vector<MemoryRow>> rows = read_memory_rows(root + "/bench/measured/memory.csv");
  if (!rows) throw rows.error();
  write_memory_section(root + "/docs/accuracy.md", memory_section(*rows));
  return 0;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: fit_bench ROOT [--write | --memory]\n";
    return 2;
  }
  const std::string_view flag = argc > 2 ? argv[2] : "";
  const spscope::Result<int> done = spscope::capture(
      [&] { return flag == "--memory" ? spscope::write_memory(argv[1]) : spscope::run(argv[1], flag == "--write"); });
  if (!done) std::cerr << spscope::render(done.error());
  return done ? *done : 1;
}
