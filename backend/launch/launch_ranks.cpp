#include "backend/launch/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include "backend/base/clock.h"
#include "backend/config/environment.h"
#include "backend/launch/mpirun.h"
#include "backend/launch/rank_watch.h"

namespace spscope {
namespace {

constexpr double kDrawAfterSeconds = 2;

// Why a run ended that no rank reports: one was killed, is stopped, or all are stuck.
Error death_of(const RankWatch& watch, const LaunchEnd& end) {
  if (!watch.cause()) return {ErrorCode::kRankFailed, "a rank was ended by " + signal_text(end.signal)};
  const RankTrouble trouble = watch.cause()->trouble;
  const bool stuck = trouble == RankTrouble::kStopped || trouble == RankTrouble::kHung;
  return {stuck ? ErrorCode::kRankHung : ErrorCode::kRankFailed, watch.cause()->message};
}

// One look of the launcher: what rank 0 says is drawn, and the first rank that is gone is put on the page.
// False: the ranks have to be ended.
bool look_at_ranks(RankWatch& watch, const ProgressPage& page, bool draws, RunListener& listener) {
  const bool was_lost = watch.lost().has_value(), goes_on = watch.look();
  if (watch.lost() && !was_lost) page.set_cause(watch.lost()->message, watch.lost()->rank);
  if (!draws) return goes_on;
  // What rank 0 has to say comes while the first plan is made, and on the same terminal.
  const std::optional<RunProgress> now = page.read();
  if (now && (now->elapsed_s > kDrawAfterSeconds || now->phase == "run")) listener.progress(moved_on(*now, now_ns()));
  return goes_on;
}

RunEnd end_of_ranks(const RankWatch& watch, const LaunchEnd& ended, RunOutput& output, bool was_stopped) {
  const bool died = ended.signal != 0 || watch.cause();  // else all of them ended by themselves
  const bool is_told = ended.exit_code <= kExitUsage;    // of this program: a rank has said why
  const std::string failure = fmt::format("mpirun ended with exit code {}", ended.exit_code);
  RunEnd end;
  end.exit_code = ended.exit_code;
  end.has_shards = !output.note().shards().empty();
  end.tolerant = ended.exit_code != 0 || died;
  end.incidents = watch.incidents();
  if (!is_told) end.launcher_failure = failure + "; ";
  if (!end.has_shards) {
    if (died) end.failure = Error(death_of(watch, ended).code(), death_of(watch, ended).what(), "nothing was kept");
    if (!died && !is_told) end.failure = Error(ErrorCode::kRankFailed, failure, "see what it said; nothing was kept");
  } else if (!died && ended.exit_code == kExitUsage && !holds_events(output.note())) {  // nothing ran
    output.discard();
    end.has_shards = false;
  } else if (died && !was_stopped) {
    end.failure = death_of(watch, ended);
  }
  return end;
}

}  // namespace

RunEnd launch_ranks(const RunSetup& setup, const std::vector<std::string>& arguments, bool draws, RunOutput& output,
                    const ProgressPage& page, const std::atomic<bool>& stop, RunListener& listener) {
  require_mpirun();
  MpiLaunch launch;
  launch.program = path_of_this_program();
  launch.arguments = arguments;
  launch.ranks = setup.job.run_ranks();
  launch.root = geteuid() == 0;
  launch.others_work = [&] { return !output.places_elsewhere().empty(); };
  const double patience = patience_seconds();
  launch.alone_seconds = patience / 6;
  launch.others_seconds = patience * 2;
  RankWatch watch(output.note(), patience, [&](const std::string& text) { listener.warn(text); });

  LaunchEnd ended = run_mpirun(launch, stop, [&] { return look_at_ranks(watch, page, draws, listener); });

  if (ended.mpirun_hung) {
    listener.warn("mpirun did not end after its ranks, and was killed");
    ended.exit_code = watch.ended_well() ? kExitDone : kExitFailed;
  }
  watch.ended(ended);
  if (watch.cause()) page.set_cause(watch.cause()->message, watch.cause()->rank);
  listener.end_progress();
  return end_of_ranks(watch, ended, output, stop.load());
}

}  // namespace spscope
