// Collective: which collective a communication is to the network. A cluster has a curve of time by bytes for each kind
// (backend/config/cluster.h); what moves where is in the messages alone.
#pragma once

#include <cstdint>

namespace spscope {

// Stored numbers: append only.
enum class Collective : std::uint8_t {
  kPointToPoint = 0,   // a hop to another rank: PlanBuilder::shift
  kAllToAll = 1,       // an exchange in which ranks send different parts to different ranks
  kAllGather = 2,      // an exchange in which each rank sends all it holds to every other, and keeps it
  kReduceScatter = 3,  // sums of shares in disjoint parts
  kAllReduce = 4,      // either half of sums that every rank gets: a reduce-scatter, then an all-gather
  kOneSided = 5,       // a pull or push: one end moves the bytes, the other takes no part
};
inline constexpr int kNumCollectives = 6;
// "point_to_point", ...: also the section of a cluster file, network.point_to_point.
const char* collective_name(Collective collective);

}  // namespace spscope
