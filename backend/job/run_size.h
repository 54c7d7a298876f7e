// What a run asks of this machine, said before it begins: how long its compute takes, whether ranks crowd cores, and
// whether there is room for what is recorded.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "backend/collect/collection.h"
#include "backend/job/job.h"
#include "backend/plan/plan.h"

namespace spscope {

// "about 50 TFLOP on 2 cores: tens of minutes; ..." when the job's compute takes more than a minute, else "". `plan` is
// that of one strategy for one layer, after which all are judged: they compute nearly the same.
std::string compute_note(const Job& job, const Plan& plan, int num_strategies);

// Throws Error(kLongCompute) when the job would execute for over two minutes here and neither config nor flags give
// run.mode, which execute is the default of: most who ask for a large model want its times on a cluster. By the shapes
// and the density of the first mask, before anything else is made.
void require_mode_for_long_compute(const Job& job);

// Throws Error when no executor has the device, the backend and the communicator of the job, which a flag may have
// changed since the config was checked, or when it is not available here.
void require_executor(const Job& job);

// Throws Error(kLaunch) when this machine cannot run as many ranks: as threads, which it may not have or whose events
// find no room in its memory, or as `processes`.
void require_room_for_ranks(const Job& job, bool processes);

// Looks for room for the events of a run, before it begins and while it goes on.
class RoomCheck {
 public:
  explicit RoomCheck(CollectingNote note) : note_(std::move(note)) {}
  // Throws Error when the folder of the run's shards, or at home that of its output, surely has no room for so many
  // events that are still to come: kOutputPlace the first time, when nothing has run yet; then kStoreWrite, as of a
  // disk that is full.
  void require(std::int64_t events);
  // Whether the run was ended before anything ran.
  bool refused() const { return refused_; }

 private:
  const CollectingNote note_;
  bool begun_ = false, refused_ = false;
};

// "1,000 ranks share 2 cores: ..." when the job executes far more ranks than there are cores, else "".
std::string crowding_note(const Job& job);

}  // namespace spscope
