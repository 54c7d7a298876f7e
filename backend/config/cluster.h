// Clusters: the speed of a device and of the network between ranks, each number with its unit in its name and its
// source as text. A preset is a TOML file (clusters/*.toml, built into the program); a user's file and the profile that
// `calibrate` writes have the same form.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/result.h"
#include "backend/config/run_config.h"

namespace spscope {

// How the numbers of a section were found; stored with each run and shown wherever its times are.
enum class Provenance { kAssumed, kModelled, kMeasured };
std::string_view provenance_name(Provenance provenance);

// Every rank has an in and an out port; every node one NIC in and out. gbps: 10^9 bytes a second, one way.
struct NetworkProfile {
  Provenance provenance = Provenance::kAssumed;
  double link_gbps = 1;
  double nic_gbps = 0;  // 0: no network between nodes
  double intra_latency_ns = 0, inter_latency_ns = 0;
  double compute_slowdown = 1;  // >= 1, on compute while two-sided communication is under way on the same rank
  friend bool operator==(const NetworkProfile&, const NetworkProfile&) = default;
};

struct DeviceProfile {
  double dense_bf16_tflops = 0, memory_gbps = 0, memory_gib = 0;  // 0: not known, or not limited
  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

// Affine cost of the kernels of one rank, in nanoseconds. Attention of an op that holds `rows` query rows (summed over
// its heads) and `area` active query-key pairs (summed over its heads) takes
//   attend_ns_per_launch + attend_ns_per_row x rows + attend_ns_per_pair_channel x area x head_dim.
// One pair and channel is 4 FLOPs: 2 of Q K^T, 2 of P V. A fixed part per row of blocks (loading Q, scanning
// skipped blocks) and a part per kept block, as in the source of PAROAttention's kernel that db-SP (f13ced5) builds on.
struct KernelCostProfile {
  Provenance provenance = Provenance::kAssumed;
  double attend_ns_per_launch = 0, attend_ns_per_row = 0, attend_ns_per_pair_channel = 0;
  double move_ns_per_byte = 0;  // copy, merge, finish, norms: each byte read or written
  double gemm_ns_per_flop = 0;

  double attend_ns(double rows, double area, int head_dim) const {
    return attend_ns_per_launch + attend_ns_per_row * rows + attend_ns_per_pair_channel * area * head_dim;
  }
  friend bool operator==(const KernelCostProfile&, const KernelCostProfile&) = default;
};

struct ClusterPreset {
  std::string name, note;  // note: what the numbers leave out
  int gpus_per_node = 0;   // 0: any number (threads of one machine)
  bool scalable = false;   // any number of nodes, set by cluster.nodes or the preset's name (p4de-x4)
  NetworkProfile network;
  DeviceProfile device;
  KernelCostProfile cost;
  std::map<std::string, std::string> sources;  // "network.link_gbps" -> source of the number
  friend bool operator==(const ClusterPreset&, const ClusterPreset&) = default;
};

// One number of a cluster, by name: what listings and docs print.
struct ClusterFieldRow {
  std::string_view section, key, name;  // "network", "link_gbps", "network.link_gbps"
  double& (*ref)(ClusterPreset&);
  double min, max;
  bool required;
  std::string_view help;
};
std::span<const ClusterFieldRow> cluster_fields();

// Built-in presets by name; a scalable one is listed as p4de-xN.
std::vector<std::string_view> cluster_preset_names();
// A built-in preset: "a800x8", "p4de-xN", "p4de-x4". nullptr when the name is not known.
const ClusterPreset* find_cluster_preset(std::string_view name);

// Parses the text of a cluster file; the error holds all problems. `file` names the text in their places.
Result<ClusterPreset> parse_cluster(std::string_view text, std::string_view file);
Result<ClusterPreset> read_profile(const std::string& path);
// The text that parse_cluster reads back as an equal preset.
std::string cluster_toml(const ClusterPreset& preset);
// Replaces the file atomically. Throws Error when it cannot be written; the old file is then unchanged.
void write_profile(const std::string& path, const ClusterPreset& preset);

// The ranks of a run and the cluster they are on. Rank r is on node r / gpus_per_node; the plan runs on ranks
// [0, plan_ranks()), and each other data-parallel replica repeats it.
struct Cluster {
  ClusterPreset preset;
  int ranks = 1, nodes = 1, gpus_per_node = 1, dp = 1;
  int plan_ranks() const { return ranks / dp; }
};

// The cluster of a config: preset or profile read, ranks, nodes and gpus_per_node filled in. Adds problems (unknown
// preset, unreadable profile, counts that contradict each other); the result is then invalid.
Cluster resolve_cluster(const RunConfig& config, std::vector<Problem>& problems);

}  // namespace spscope
