#include "backend/study/quiet_run.h"

#include <algorithm>
#include <future>
#include <optional>

#include "backend/base/cores.h"
#include "backend/job/run_size.h"
#include "backend/launch/launch.h"

namespace spscope {
namespace {

// Keeps the comparison, shows nothing of the end.
class Quiet final : public RunListener {
 public:
  explicit Quiet(const QuietRun& options) : options_(options) {}

  void progress(const RunProgress& now) override {
    if (options_.on_progress) options_.on_progress(now);
  }
  void note(const std::string&) override {}
  void warn(const std::string& line) override {
    if (options_.on_warning) options_.on_warning(line);
  }
  std::string warning_line(const std::string& line) const override { return line + '\n'; }
  void silence() override {}
  void end_progress() override {}
  void file_made(const std::string&) override {}
  int show_result(const std::string& path, const std::string&) override {
    comparison = compare_store(StoreReader(path)).front();
    return kExitDone;
  }
  void interrupted(const std::string&) override { comparison.reset(); }
  void ended(const RunProgress&) override {}

  std::optional<Comparison> comparison;

 private:
  const QuietRun& options_;
};

}  // namespace

std::vector<Comparison> at_once(const Job& job, std::size_t count, std::size_t most, const QuietRun& options,
                                const std::function<Comparison(std::size_t, const QuietRun&)>& make) {
  constexpr int kMostRanks = 512;  // of all together: 128 ranks of a large model take 300 MB
  most = std::min(most, static_cast<std::size_t>(std::max(1, kMostRanks / job.cluster.ranks)));
  most = std::min(most, static_cast<std::size_t>(usable_cores()) + 1);  // one of them often waits for files
  if (job.config.run.mode != RunMode::kSimulate || usable_cores() == 1) most = 1;
  QuietRun silent = options;
  silent.on_progress = {};
  std::vector<Comparison> made;
  while (made.size() < count) {
    std::vector<std::future<Comparison>> others;
    for (std::size_t i = made.size() + 1; i < std::min(count, made.size() + most); ++i)
      others.push_back(std::async([&, i] { return make(i, silent); }));
    made.push_back(make(made.size(), options));
    for (std::future<Comparison>& other : others) made.push_back(other.get());
  }
  return made;
}

Comparison comparison_of(const Job& job, const QuietRun& options) {
  require_room_for_ranks(job, false);
  if (job.config.run.mode == RunMode::kExecute) require_executor(job);
  const RunSetup setup{job, "", false, "", options.tool_version};
  RunOutput output("", {false, job.config.run.scratch, job.run_ranks(), {}});
  const ProgressPage page(output.note().progress_page());
  Quiet listener(options);
  publish_end(page, listener, [&] {
    const RunEnd end = run_in_process(setup, output, page, options.stop, listener);
    return merge_and_report(output, setup, end, page, listener);
  });
  if (!listener.comparison) throw Error(ErrorCode::kInterrupted, stop_text());
  listener.comparison->file.clear();
  return std::move(*listener.comparison);
}

}  // namespace spscope
