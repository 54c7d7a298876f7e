// Divisions: how the ranks of a cluster divide into replicas and guidance passes, each timed with the fastest strategy
// that an engine runs, or where none runs any with the fastest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/config/parallel_settings.h"
#include "backend/report/document.h"
#include "backend/study/quiet_run.h"

namespace spscope {

struct DivisionTime {
  ParallelSetting setting;
  int ranks = 1;                   // of a plan: those of one replica and one guidance pass
  std::string best = {};           // label of that strategy; "": none can run
  std::int64_t end_to_end_ns = 0;  // of that, mean over seeds; 0: not known
  double samples_per_hour = 0;     // of all replicas together
  MemoryNeed memory_need = {};     // of that strategy
  bool no_engine = false;          // docs/engines.md knows none that runs it
};

struct Divisions {
  std::vector<DivisionTime> times;
  // Positions in `times`; of equal ones, and where no time end to end is known, the first.
  std::size_t fastest = 0, most_samples = 0;
  bool timed() const;  // some time end to end is known
};

// Of jobs that differ in cluster.dp and cluster.guidance, the times of each on masks of so many seeds, where these say
// more than one. Throws Error as comparison_of(). REQUIRES: jobs not empty.
Divisions time_divisions(const std::vector<Job>& jobs, int seeds, const QuietRun& options);
// Where no engine runs any strategy of the fastest division, the fastest that one runs takes its place if it takes less
// than `error` longer, a fraction: as of strategies that are too close to call.
void prefer_run(Divisions& divisions, double error);
// The division of the job, where it is one of them and both have a time, gets the time of this strategy: every setting
// was picked for the answer, and one that engines run may be faster than those that divisions were timed with.
void set_time(Divisions& divisions, const Job& job, const StrategyResult& chosen);

// "For throughput, run 4 independent replicas on 2 GPUs each, with ulysses u2: ..."; "" where the fastest division has
// most, or no other has more by over `error`, a fraction.
std::string throughput_sentence(const Divisions& divisions, double error);

// "Another division of the GPUs is too close to call: passes in turn on 8 GPUs with ring r8 (99.1 s)"; "" where no
// other takes less than `error` longer than the fastest.
std::string tied_divisions_sentence(const Divisions& divisions, double error);

// "The next division takes 2,690 s: passes in turn on 2 GPUs with ulysses u2."; "" where nothing else has a time.
std::string next_division_sentence(const Divisions& divisions);

// "Engines run another division of the GPUs: passes 2 at once on 4 GPUs with ulysses u4 (93.2 s).", the fastest of
// those; "" where an engine runs the strategy of the fastest division, or none runs any.
std::string run_division_sentence(const Divisions& divisions);

// "With link=0.5, another division of the ranks has the least latency: passes in turn on 8 GPUs with ring r8 (120 s
// instead of 131 s)"; "" where it is that of `now`. REQUIRES: of the same jobs, or none.
std::string other_division_sentence(const Divisions& now, const Divisions& then, const std::string& what_if);

// A row for each division, the chosen one emphasised; no row where there is nothing to choose.
Table divisions_table(const Divisions& divisions);

}  // namespace spscope
