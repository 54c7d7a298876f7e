// Index groups: heads or blocks divided among the ranks of a group, and how evenly their weights are divided.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

// By group: its indices, ascending. Every index is in one group.
using IndexGroups = std::vector<std::vector<std::int32_t>>;

// The home of each index before any balancing: group g has [n g / G, n (g+1) / G), so that group sizes differ by at
// most one; G need not divide n.
IndexGroups even_groups(int num_indices, int num_groups);
// Round robin: index i is in group i mod G.
IndexGroups cyclic_groups(int num_indices, int num_groups);

// Indices by weight, the heaviest first; ties: the lower index first.
std::vector<std::int32_t> heaviest_first(std::span<const std::int64_t> weights);
// Sum of weights by group.
std::vector<std::int64_t> group_sums(const IndexGroups& groups, std::span<const std::int64_t> weights);
// Largest sum / mean of the sums, >= 1; 1 when all are 0. REQUIRES: sums not empty.
double imbalance_ratio_of(std::span<const std::int64_t> sums);

}  // namespace spscope
