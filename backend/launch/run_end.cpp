#include "backend/launch/run_end.h"

#include <fmt/format.h>

#include <cstring>

#include "backend/base/number_text.h"
#include "backend/launch/stop_signals.h"
#include "backend/record/collector_texts.h"
#include "backend/store/store_reader.h"

namespace spscope {
namespace {

// Why a run did not come to its end, in the file.
IncidentRecord incident_of(const Error* error) {
  IncidentRecord incident;
  incident.kind = IncidentKind::kInterrupted;
  incident.message = stop_text();
  if (error != nullptr) {
    incident.kind = error->code() == ErrorCode::kRankHung ? IncidentKind::kHung : IncidentKind::kFailed;
    incident.message = error->what();
  }
  return incident;
}

// "interrupted: 12 of 2,000 layer passes were complete"
std::string interrupted_text(const RunOutcome& outcome) {
  return fmt::format("interrupted: {} of {} layer passes were complete", count_text(outcome.layer_passes_done),
                     count_text(outcome.layer_passes));
}

std::string kept_text(const RunSetup& setup, const MergeReport& report) {
  if (setup.wanted.empty()) return "nothing was kept";
  return fmt::format("{} events up to then are kept in {}", report.events, setup.wanted);
}

}  // namespace

std::string stop_text() {
  const char* name = stop_signal() != 0 ? ::sigabbrev_np(stop_signal()) : nullptr;
  return name != nullptr ? fmt::format("the run was stopped by SIG{}", name) : "the run was stopped";
}

RunShardsOptions shards_options(const RunSetup& setup, int first_rank, int ranks) {
  RunShardsOptions options;
  options.first_rank = first_rank;
  options.ranks = ranks;
  options.tool_version = setup.tool_version;
  options.collect = setup.job.config.run.collect;
  options.device = setup.job.config.run.device;
  // The ranks could go on, but what they do could not be kept: the layers that are complete are.
  options.on_failure = request_stop;
  return options;
}

RunOptions reporting_options(const RunSetup& setup, const ProgressPage& page, RunListener& listener) {
  RunOptions options;
  options.dump = setup.dump;
  options.on_progress = [&](const RunProgress& now) {
    page.write(now);
    listener.progress(now);
  };
  options.on_note = [&](const std::string& text) { listener.note(text); };
  return options;
}

void store_end(RunShards& shards, const Result<RunOutcome>& outcome, const std::optional<Error>& lost) {
  if (shards.target().head == nullptr) return;
  if (!outcome)
    shards.add_incident(incident_of(&outcome.error()));
  else if (outcome->interrupted())
    shards.add_incident(incident_of(lost ? &*lost : nullptr));
}

void publish_cause(const ProgressPage& page, const RunEnd& end) {
  const Error* const error = end.failure ? &*end.failure : end.lost ? &*end.lost : nullptr;
  if (error != nullptr)
    page.set_cause(error->what(), -1, error_id(error->code()));
  else if (end.outcome && end.outcome->interrupted())
    page.set_cause(stop_text(), -1, error_id(ErrorCode::kInterrupted));
}

MergeReport merge_run(RunOutput& output, const RunSetup& setup, const RunEnd& end) {
  MergeOptions merge;
  merge.tolerant = end.tolerant;
  merge.tool_version = setup.tool_version;
  merge.incidents = end.incidents;
  return output.merge(merge);
}

int report_run(const RunOutput* output, const RunSetup& setup, const RunEnd& end,
               const std::optional<MergeReport>& report, const ProgressPage& page, RunListener& listener) {
  if (report) listener.file_made(setup.wanted);
  if (end.outcome) listener.progress(end.outcome->progress);
  listener.end_progress();
  if (report)
    for (const std::string& text : collector_texts(StoreReader(output->path()).collectors())) listener.note(text);

  // Without a complete layer there is no result, but the events may be kept.
  const bool has_result = report && (!end.outcome || end.outcome->layer_passes_done > 0);
  const std::optional<Error>& failure = end.failure || has_result ? end.failure : end.lost;
  if (failure && report) throw Error(failure->code(), failure->what(), kept_text(setup, *report));
  if (end.failure) throw *end.failure;
  if (end.exit_code != kExitDone) {
    if (!report) return end.exit_code;
    listener.warn(end.launcher_failure + kept_text(setup, *report));
    return kExitFailed;
  }

  const int code = has_result ? listener.show_result(output->path(), setup.wanted) : kExitDone;
  const bool interrupted = end.outcome && end.outcome->interrupted();
  if (interrupted)
    listener.interrupted(interrupted_text(*end.outcome) + (report && !setup.wanted.empty() ? " and are kept" : ""));
  if (end.lost) throw *end.lost;
  if (code == kExitUsage)
    page.set_cause("no strategy can run this workload", -1, error_id(ErrorCode::kStrategyIllegal));
  return interrupted ? kExitFailed : code;
}

int merge_and_report(RunOutput& output, const RunSetup& setup, const RunEnd& end, const ProgressPage& page,
                     RunListener& listener) {
  if (!end.has_shards) return report_run(&output, setup, end, std::nullopt, page, listener);
  const Result<MergeReport> report = capture([&] { return merge_run(output, setup, end); });
  if (report) return report_run(&output, setup, end, *report, page, listener);
  if (end.failure) listener.warn(render(*end.failure));
  throw report.error();
}

int publish_end(const ProgressPage& page, RunListener& listener, const std::function<int()>& run) {
  const Result<int> code = capture(run);
  const std::optional<RunProgress> said = page.read();
  if (!code && (!said || said->cause.empty())) page.set_cause(code.error().what(), -1, error_id(code.error().code()));
  page.set_end(code ? *code : exit_code(code.error()));
  if (const std::optional<RunProgress> last = page.read()) listener.ended(*last);
  if (!code) throw code.error();
  return *code;
}

}  // namespace spscope
