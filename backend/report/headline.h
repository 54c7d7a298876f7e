// Headlines: the workload and the provenance of its times, in one line each.
#pragma once

#include <string>
#include <vector>

#include "backend/report/section.h"

namespace spscope {

// "wan2.1-t2v-14b, 75,600 tokens, paro, density 0.41, 1 of 40 layers, 8 x a800"
// Whether some strategy was executed, not projected or simulated.
bool executes(const Comparison& comparison);
// `executed`: all passes of guidance that run at once are in the figures, not one of them.
std::string workload_line(const Workload& workload, bool executed = false);
// "12 of 4,096 events are not in the file: 12 dropped"; "" when all are.
std::string missing_events_text(const Recording& recording);
// "no layer was finished by every strategy, so there is nothing to compare; 4,084 events are kept"; "" when one was.
std::string nothing_finished_text(const Comparison& comparison);
// Warnings that precede all numbers: the run was interrupted, or compute is not the cluster's.
std::vector<Sentence> headline_warnings(const Comparison& comparison);
// Why the times of a mode name no winner: ranks shared cores, masks are empty, other programs disturbed the run.
std::vector<std::string> timing_warnings(const ModeGroup& group);
// What the ranks of a mode compute on, as a reader writes it: "CPU", "GPU"; "" when nothing ran.
std::string device_word(const ModeGroup& group);
// The same, a GPU by its name: "NVIDIA H200".
std::string device_text(const ModeGroup& group);
// "compute measured on CPU, network scheduled"; "" when nothing ran.
std::string provenance_line(const ModeGroup& group);
// "compute was timed on this CPU, about 350x slower than the cost model of a800, ..."; "" when it is the cluster's own.
std::string foreign_compute_note(const ModeGroup& group);
Badges provenance_badges(const ModeGroup& group);

}  // namespace spscope
