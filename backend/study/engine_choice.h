// Strategies in the terms of engines (backend/config/engines.h): which ones run them, and a job of what one engine has.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/analysis/strategy_result.h"
#include "backend/config/engines.h"
#include "backend/job/job.h"

namespace spscope {

// Whether masks leave pairs out; those of a file are taken to.
bool has_sparse_masks(const Job& job);
// EngineSetup::masks: the pattern of the masks. Of a file the one whose kernel the times are of, where the file or
// run.attention_kernel names it, else kOwnMasks; "": dense.
std::string backend_masks(const Job& job);

// What the result's plans ask of an engine, on the division of the ranks that the job has. Of layer passes with several
// meshes: of the first.
EngineSetup engine_setup(const Job& job, const StrategyResult& result);

// Leaves those strategies and settings that the engine has; of strategies that were asked for by name all stay. The
// division of the ranks is the job's own.
void restrict_to(const Engine& engine, Job& job);
// The same of all engines together.
void restrict_to_engines(Job& job);
// Whether some engine runs a setting of a strategy.
using SettingTest = std::function<bool(std::string_view strategy, const Parameters& setting)>;
SettingTest run_by_engines(const Job& job);

bool is_ring(const StrategyResult& result);
// Whether the engine that has what the plans ask for runs them as they are, too: a ring passes keys on, and some
// engines gather them.
bool runs_as_modelled(const Engine& engine, const StrategyResult& result);
// What must leave the GPU for the rest to fit, and the engine has no flag for.
std::vector<EngineFeature> without_place(const Engine& engine, const MemoryNeed& need);

// What the engine does that a job does not say, as settings of a run.
std::vector<std::string> engine_settings(const Engine& engine, const Job& job);

// Why its attention backend does not run with the masks, GPU and heads of the job (backend_limit()); "": it does.
std::string why_no_backend(const Engine& engine, const Job& job);

// Why it runs none of the strategies of engines that the job, restricted to it, has not: "it has no tensor
// parallelism";
// "" where it runs one of them, so that the job leaves it out by itself.
std::string why_no_other(const Engine& engine, const Job& job);

// Whether the engine runs so many passes of guidance of the job's model at once.
bool has_division(const Engine& engine, const Job& job, int guidance);

}  // namespace spscope
