// Arrival skew of a program that was observed: who came last to its collectives of NCCL, and how long others waited.
//
// A collective can move data once its last rank has come. The ranks that came before wait on their device, inside the
// collective, so the rank that came last takes the shortest time. What another rank takes beyond that is its wait.
// These are differences of one device's timer each, which need no common clock. Collectives with a root are left out:
// there a rank may be done sooner without being late. So are sends and receives, which have a peer each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/store/store_reader.h"

namespace spscope {

struct LastRank {
  int rank = 0;                     // of the process; where none is known, that in the communicator
  std::int64_t last_in = 0;         // of ArrivalSkew::collectives
  std::int64_t others_wait_ns = 0;  // all other ranks together; of each the union of its waits for this one
  std::optional<double> kernels;    // time in kernels that are not NCCL's over the mean of the other ranks
};

struct ArrivalSkew {
  std::int64_t collectives = 0;  // that two ranks of the file or more took part in, with times of their devices
  int ranks = 0;                 // that took part in them
  int largest_communicator = 0;  // its ranks; more than `ranks` where some are on other hosts
  std::vector<LastRank> last;    // those that came last to any, the one that others wait longest for first
  std::int64_t from_ns = 0;      // earlier operations do not count, where there are millions; otherwise the first begin
  // Of processes without a rank. Where there are several, NCCL's ranks do not tell processes apart, and nothing above
  // is known.
  int nameless_communicators = 0;
  std::int64_t wait_ns() const;  // of all ranks together
};

ArrivalSkew arrival_skew(const StoreReader& reader);

}  // namespace spscope
