#include "backend/store/merge/merge_ranks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backend/store/observed_run.h"
#include "backend/store/records.h"

namespace spscope {
namespace {

// That with the most events: many programs also start a little on the first GPU that they see.
std::string busiest_device(const MergeSource& source) {
  std::map<std::string, std::int64_t> events;
  for (const SourceTrack& track : source.tracks) {
    if (track.track.kind != TrackKind::kDeviceStream || !track.track.device) continue;
    std::int64_t& sum = events[*track.track.device];
    for (const ChunkPlace& chunk : track.chunks) sum += chunk.header.count;
  }
  const auto most = std::ranges::max_element(events, {}, [](const auto& one) { return one.second; });
  return most == events.end() ? "" : most->first;
}

}  // namespace

MergedRanks give_ranks(std::vector<MergeSource>& sources) {
  std::vector<MergeSource*> watched;
  std::vector<ProcessLife> processes;
  for (MergeSource& source : sources) {
    if (!source.process) continue;
    watched.push_back(&source);
    processes.push_back(source.process->process);
    processes.back().device = busiest_device(source);
  }
  ProcessRanks decided = decide_ranks(processes);
  MergedRanks ranks = {.text = std::move(decided.text)};
  for (std::size_t i = 0; i < watched.size(); ++i) {
    const std::optional<int> rank = decided.ranks[i];
    watched[i]->told_rank = watched[i]->shard.rank;
    watched[i]->shard.rank = rank.value_or(kNoRank);
    for (SourceTrack& track : watched[i]->tracks) track.track.rank = rank;
    ranks.of_processes.emplace(processes[i].name, rank);
    if (rank) ranks.all.insert(*rank);
  }
  return ranks;
}

void write_ranks(Database& out, std::span<const MergeSource> sources, const MergedRanks& ranks) {
  std::vector<const MergeSource*> watched;
  for (const MergeSource& source : sources)
    if (source.process) watched.push_back(&source);
  if (watched.empty()) return;
  // Of several processes of a rank, the first.
  std::ranges::sort(watched, {}, [](const MergeSource* source) { return source->process->process.begin_ns; });
  Statement insert(out,
                   "INSERT OR IGNORE INTO rank_process (rank, host, node, boot_id, pid, state_text) "
                   "VALUES (?, ?, 0, ?, ?, '')");
  for (const MergeSource* const source : watched)
    if (source->shard.rank != kNoRank)
      insert.run(source->shard.rank, source->process->host, source->process->boot_id, source->process->process.pid);
  Statement(out, "UPDATE workload SET ranks = ? WHERE workload_id IN (SELECT workload_id FROM strategy WHERE mode = ?)")
      .run(std::max<std::int64_t>(1, std::ssize(ranks.all)), RunMode::kObserved);
  if (!ranks.text.empty())
    Statement(out, "INSERT OR REPLACE INTO meta (key, value) VALUES ('ranks', ?)").run(ranks.text);
}

void write_windows(Database& out, std::span<const MergeSource> sources, const MergeClocks& clocks) {
  Statement of_head(out, "SELECT 1 FROM meta WHERE key = 'collected_ns' AND value != ''");
  if (of_head.step()) return;
  std::vector<CollectWindow> windows;
  for (const MergeSource& source : sources) {
    if (!source.process) continue;
    const ClockFit* const fit = clocks.fit(source, Track{.kind = TrackKind::kHostThread});
    for (const CollectWindow& window : source.process->windows)
      windows.push_back({std::max<std::int64_t>(0, on_run_clock(fit, window.begin_ns)),
                         window.end_ns == CollectWindow::kOpen ? window.end_ns : on_run_clock(fit, window.end_ns)});
  }
  std::erase_if(windows, [](const CollectWindow& window) { return window.end_ns <= window.begin_ns; });
  if (windows.empty()) return;
  Statement(out, "INSERT OR REPLACE INTO meta (key, value) VALUES ('collected_ns', ?)")
      .run(stored_windows(std::move(windows)));
}

}  // namespace spscope
