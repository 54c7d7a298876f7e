// Clusters: the speed of a device and of the network between ranks, each number with its unit in its name and its
// source as text. A preset is a TOML file (clusters/*.toml, built into the program); a user's file and the profile that
// `calibrate` writes have the same form.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/result.h"
#include "backend/config/run_config.h"

namespace spscope {

// How the numbers of a section were found; stored with each run and shown wherever its times are.
// Fitted: by bench/fit or `calibrate --fit`, to times that others or the user measured.
enum class Provenance { kAssumed, kModelled, kMeasured, kFitted };
std::string_view provenance_name(Provenance provenance);

// Time of one collective by itself, of which a rank sends or gets up to `bytes`, whichever is more: max(floor_ns, t0_ns
// + bytes / gbps). Its own part does not count, so gbps is the bus bandwidth of nccl-tests, of all_reduce too. Where it
// crosses nodes, the larger of t0_ns and inter_t0_ns stands for t0_ns.
struct CollectiveCurve {
  double floor_ns = 0, t0_ns = 0, gbps = 0;  // gbps 0: not known
  double inter_t0_ns = 0;                    // 0: inter_latency_ns
  // Without a switch between all GPUs of a node, more than two share host bridges with every other group in use:
  // gbps among 4 and among 8 of them (Network::port_rate). 0: as gbps.
  double of_4_gbps = 0, of_8_gbps = 0;
  friend bool operator==(const CollectiveCurve&, const CollectiveCurve&) = default;
};

// Every rank has an in and an out port; every node one NIC in and out. gbps: 10^9 bytes a second, one way. A collective
// without a curve takes intra_latency_ns (inter_latency_ns) for each message, and bytes / link_gbps; an all_reduce
// without one is its two halves.
struct NetworkProfile {
  Provenance provenance = Provenance::kAssumed;
  double link_gbps = 1;
  double nic_gbps = 0;  // 0: no network between nodes
  double intra_latency_ns = 0, inter_latency_ns = 0;
  double compute_slowdown = 1;  // >= 1, on compute while two-sided communication is under way on the same rank
  CollectiveCurve point_to_point = {}, all_to_all = {}, all_gather = {}, reduce_scatter = {}, all_reduce = {};
  CollectiveCurve one_sided = {};  // of pulls and pushes, which slow no compute; without a floor
  // Of one rank's point-to-point and one-sided messages between nodes; 0: only those of the node.
  double rank_nic_gbps = 0;
  // GPUs of a node are in sockets of socket_gpus each; of all such messages out of or into one, one way.
  double socket_gpus = 0, socket_gbps = 0;  // 0: nothing between sockets holds messages up
  friend bool operator==(const NetworkProfile&, const NetworkProfile&) = default;
};

struct DeviceProfile {
  double dense_bf16_tflops = 0, memory_gbps = 0, memory_gib = 0;  // 0: not known, or not limited
  double reserved_gib = 0;                                        // of memory_gib
  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

// Cost of the work of one rank, in nanoseconds. Attention of an op that holds `rows` query rows (summed over its heads)
// and `area` active query-key pairs (summed over its heads), with head_dim padded to a multiple (D), takes
//   attend_ns_per_launch + attend_ns_per_row x rows +
//   attend_ns_per_pair_channel x D x (area + attend_ramp_keys x rows) x small_tile ^ log2(slices)
// One pair and channel is 4 FLOPs: 2 of Q K^T, 2 of P V. The ramp is what a kernel needs to fill and drain for each row
// of blocks: with S keys a row, time = FLOP / rate x (1 + ramp / S). Tiles are blocks of the mask, or where each block
// is cut into slices these: each halving of them costs small_tile.
struct KernelCostProfile {
  Provenance provenance = Provenance::kAssumed;
  double attend_ns_per_launch = 0, attend_ns_per_row = 0, attend_ns_per_pair_channel = 0;
  double move_ns_per_byte = 0;  // copy, merge, finish, norms: each byte read or written
  double gemm_ns_per_flop = 0;
  double attend_ramp_keys = 0;
  double attend_head_dim_multiple = 1;
  double small_tile = 1;
  double pack_ns_per_byte = 0;  // of an all-to-all: each byte before it is sent, and each byte after it has arrived
  // Times that norms, gates and activations move each byte that they touch; norms with a rotary embedding; merges.
  double elementwise_passes = 1, rotary_passes = 1, merge_passes = 1;
  // Times that attention of rows that attended before, as in a later ring step, moves its result and the accumulator to
  // merge them; 0: in its kernel.
  double ring_merge_passes = 0;
  // The host launches kernels one after the other, ahead of the device, and starts communication: an all-to-all or
  // other collective, a hop of a ring.
  double host_ns_per_launch = 0, host_ns_per_collective = 0, host_ns_per_hop = 0;

  int padded_head_dim(int head_dim) const {
    const int multiple = static_cast<int>(attend_head_dim_multiple);
    return multiple > 1 ? (head_dim + multiple - 1) / multiple * multiple : head_dim;
  }
  double attend_ns(double rows, double area, int head_dim, int slices = 1) const {
    const double tiles = slices > 1 ? std::pow(small_tile, std::log2(slices)) : 1;
    return attend_ns_per_launch + attend_ns_per_row * rows +
           attend_ns_per_pair_channel * padded_head_dim(head_dim) * (area + attend_ramp_keys * rows) * tiles;
  }
  friend bool operator==(const KernelCostProfile&, const KernelCostProfile&) = default;
};

// Time of a whole generation that is not in its layers: text encoder, VAE, saving; embeddings and scheduler of a step.
struct OutsideProfile {
  Provenance provenance = Provenance::kAssumed;
  double per_run_ns = 0, per_step_ns = 0;
  friend bool operator==(const OutsideProfile&, const OutsideProfile&) = default;
};

// How one number was found: read off a measurement, fitted to several, or neither (data sheets are neither).
enum class NumberOrigin { kAssumed, kFitted, kMeasured };
std::string_view number_origin_name(NumberOrigin origin);
// nullopt when there is no such name.
std::optional<NumberOrigin> find_number_origin(std::string_view name);

// A number that differs from host to host of one kind of machine: low <= value <= high.
struct NumberRange {
  double low = 0, high = 0;
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

struct ClusterPreset {
  std::string name, note;  // note: what the numbers leave out
  int gpus_per_node = 0;   // 0: any number (threads of one machine)
  bool scalable = false;   // any number of nodes, set by cluster.nodes or the preset's name (p4de-x4)
  NetworkProfile network;
  DeviceProfile device;
  KernelCostProfile cost;
  OutsideProfile outside;
  std::map<std::string, std::string> sources;   // "network.link_gbps" -> source of the number
  std::map<std::string, NumberOrigin> origins;  // of those numbers that say it
  std::map<std::string, NumberRange> ranges;    // of those numbers that differ from host to host
  // What the numbers of device, cost and outside are of (profile_layers.h); "": given one by one.
  std::string gpu, attention_kernel, implementation;
  // Whether kernel and implementation can still be chosen: the file names a GPU and gives no [cost].
  bool layered = false;
  std::set<std::string> own_device;  // of a layered one: numbers of [device] that are the file's and not the GPU's
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

// Which end of every range of a cluster: where communication is fastest, or slowest.
enum class RangeEnd { kFast, kSlow };
// The cluster with every ranged number at that end: rates (gbps) at their high when fast, times (ns) at their low.
ClusterPreset at_range_end(ClusterPreset preset, RangeEnd end);

// Built-in presets by name; a scalable one is listed as p4de-xN.
std::vector<std::string_view> cluster_preset_names();
// A built-in preset: "a800x8", "p4de-xN", "p4de-x4". nullptr when the name is not known.
const ClusterPreset* find_cluster_preset(std::string_view name);
// The name that is meant: whatever the case, and with "nvidia", "geforce" or "rtx" before it. As it is where there is
// no such preset: "RTX-4090x8" is 4090x8.
std::string cluster_preset_meant(std::string_view typed);
// Of "h100x4", a part of the node of h100x8, or "h100x16", several of it: "use cluster.preset = h100x8, cluster.ranks =
// 4"; "" for any other name.
std::string cluster_of_count_hint(std::string_view typed);

// Parses the text of a cluster file; the error holds all problems. `file` names the text in their places.
Result<ClusterPreset> parse_cluster(std::string_view text, std::string_view file);
Result<ClusterPreset> read_profile(const std::string& path);
// The text that parse_cluster reads back as an equal preset.
std::string cluster_toml(const ClusterPreset& preset);
// Replaces the file atomically. Throws Error when it cannot be written; the old file is then unchanged.
void write_profile(const std::string& path, const ClusterPreset& preset);

// The ranks of a run and the cluster they are on. Rank r is on node r / gpus_per_node. Ranks are counted replica by
// replica, in a replica guidance pass by guidance pass: rank ((replica x guidance) + pass) x plan_ranks() + i is rank i
// of a plan. The plan runs on ranks [0, plan_ranks()), and every other pass and replica repeats it. A plan, and so a
// replica, fills whole nodes or has its nodes' NICs idle: the messages of one never meet those of another on a link.
struct Cluster {
  ClusterPreset preset;
  int ranks = 1, nodes = 1, gpus_per_node = 1, dp = 1, guidance = 1;
  bool layered = false;  // the preset was: kernel, implementation and model chose its numbers
  int replica_ranks() const { return ranks / dp; }
  int plan_ranks() const { return replica_ranks() / guidance; }
};
// Whether groups of so many ranks, one after the other, fill whole nodes, or a node holds whole groups.
bool aligned_with_nodes(int group_ranks, int gpus_per_node);

// The cluster of a config: preset or profile read, ranks, nodes and gpus_per_node filled in. Adds problems (unknown
// preset, unreadable profile, counts that contradict each other); the result is then invalid. A layered preset comes
// back with the numbers of the kernel and the implementation of the config, no longer layered.
Cluster resolve_cluster(const RunConfig& config, std::vector<Problem>& problems);

}  // namespace spscope
