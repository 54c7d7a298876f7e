// ProgressCount: follows a job from plan to plan and says where it is and how long it will still take.
//
// The remaining time is estimated from completed plans: the mean of a strategy's plans so far, and the mean of what
// comes before the plans of a layer pass (masks, inputs, the reference). A strategy without a completed plan is taken
// to be like the others where ranks compute, which is the same work; where plans are only made they differ too much. In
// the first plan of all, completed repeats are extrapolated. There is no estimate before that, or once it was exceeded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/base/clock.h"
#include "backend/collect/run_progress.h"
#include "backend/job/job.h"

namespace spscope {

class ProgressCount {
 public:
  // `say` may be empty. `shards`: of the collection. `clock`: another one for tests.
  ProgressCount(std::function<void(const RunProgress&)> say, const Job& job, int shards,
                std::function<std::int64_t()> clock = now_ns);

  // Masks of a layer pass are made: of one that begins soon.
  void say_masks(int denoise_step, int layer);
  // A layer pass begins: its inputs are made.
  void begin_layer(int denoise_step, int layer);
  // Something that no strategy does alone.
  void say(const char* phase);
  // What a strategy does, by its position in the job.
  void say(const char* phase, int strategy, const std::string& id, const std::string& label);
  // A strategy whose label is not known yet.
  void say_planning(const Job& job, int strategy);
  // Repeats of the plan that are done, warm-ups first; in mode `project` ranks that were measured.
  void say_passes(int done, int total);
  // The plan of a strategy is done, or is none.
  void end_plan(int strategy, bool legal);
  // What makes the run fail, first of all.
  void set_cause(const std::string& cause);

  const RunProgress& now() const { return progress_; }

 private:
  struct Spent {
    std::int64_t ns = 0;
    int count = 0;
    bool legal = true;
  };
  void tell();
  // Of the plan that goes on, from its begin to its end; of a plan of the strategy at position `i`.
  std::optional<double> this_plan_ns(std::int64_t now) const;
  std::optional<double> plan_ns(std::size_t i, std::int64_t now) const;
  std::optional<double> eta_ns(std::int64_t now) const;

  std::function<void(const RunProgress&)> say_;
  std::function<std::int64_t()> clock_;
  const int layer_passes_;
  const std::vector<int> layers_;  // of the model, that run: progress counts them from 0
  const std::int64_t begin_ns_;
  RunProgress progress_;
  std::vector<Spent> plans_;          // by strategy
  Spent before_plans_;                // of layer passes: what comes before their plans
  bool is_before_ = false;            // a layer pass has begun, and its plans have not
  std::int64_t mark_ns_;              // when the plan began, or what comes before it
  std::int64_t run_ns_ = 0;           // when the repeats of the plan began
  int passes_done_ = 0, passes_ = 0;  // of the plan
  bool is_alike_ = false;             // plans have repeats
};

}  // namespace spscope
