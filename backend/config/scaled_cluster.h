// A cluster with faster or slower parts: the hardware side of --what-if.
#pragma once

#include "backend/config/cluster.h"

namespace spscope {

// What a rate or a time is multiplied by; 1: as it is.
struct ClusterFactors {
  double link = 1, nic = 1;  // rates inside a node and between nodes
  double latency = 1;        // time before the first byte, both
  double kernel = 1;         // rate of attention
  double gemm = 1;           // rate of matrix products
  double memory = 1;         // rate of device memory
  friend bool operator==(const ClusterFactors&, const ClusterFactors&) = default;
};

// REQUIRES: factors above 0. Scaled numbers are assumed from then on, and their sources say what they were multiplied
// by.
ClusterPreset scaled(const ClusterPreset& preset, const ClusterFactors& factors);

}  // namespace spscope
