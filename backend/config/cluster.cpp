// The ranks of a run and their nodes: the rules by which ranks, nodes and GPUs a node follow from each other.
#include "backend/config/cluster.h"

#include <fmt/format.h>

#include <charconv>

#include "backend/base/nearest_name.h"

namespace spscope {
namespace {

// As cluster.ranks in config_fields.def. Plans of more ranks have more ops than a plan may have, but for a few.
constexpr int kMaxRanks = 65536;
// Nodes of a scalable preset when neither the config nor the preset's name has a number.
constexpr int kDefaultNodes = 2;
// Ranks of a cluster that takes any number of them, when the config does not say.
constexpr int kDefaultRanks = 4;

void conflict(std::vector<Problem>& problems, std::string field, std::string message, std::string hint) {
  problems.push_back({ErrorCode::kConfigConflict, std::move(field), std::move(message), std::move(hint)});
}

ClusterPreset load_preset(const RunConfig& config, std::vector<Problem>& problems) {
  if (!config.cluster.profile.empty()) {
    auto profile = read_profile(input_path(config, config.cluster.profile));
    if (profile.has_value()) return *std::move(profile);
    for (Problem problem : profile.error().problems()) {
      if (problem.field.empty()) problem.field = "cluster.profile";
      problems.push_back(std::move(problem));
    }
    return {};
  }
  if (const ClusterPreset* preset = find_cluster_preset(config.cluster.preset)) return *preset;
  const auto names = cluster_preset_names();
  const std::string near = nearest_name(config.cluster.preset, names);
  problems.push_back(
      {ErrorCode::kConfigUnknownName, "cluster.preset", fmt::format("\"{}\" is not a cluster", config.cluster.preset),
       near.empty() ? fmt::format("use one of {}, or cluster.profile = \"file.toml\"", fmt::join(names, ", "))
                    : fmt::format("did you mean \"{}\"?", near)});
  return {};
}

// 4 for "p4de-x4" when the preset is "p4de-xN", else 0.
int nodes_in_name(std::string_view given, const ClusterPreset& preset) {
  if (!preset.scalable || given == preset.name || given.size() < preset.name.size()) return 0;
  const std::string_view digits = given.substr(preset.name.size() - 1);
  int nodes = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), nodes);
  return nodes;
}

// Fills nodes and gpus_per_node from ranks, where the config gives neither.
void spread_ranks(Cluster& cluster, std::vector<Problem>& problems) {
  const int full = cluster.preset.gpus_per_node;
  if (full == 0 || cluster.ranks <= full) {
    cluster.nodes = 1;
    cluster.gpus_per_node = cluster.ranks;
  } else if (cluster.ranks % full == 0) {
    cluster.nodes = cluster.ranks / full;
    cluster.gpus_per_node = full;
  } else {
    conflict(problems, "cluster.ranks", fmt::format("{} ranks do not fill nodes of {} GPUs", cluster.ranks, full),
             "give cluster.nodes and cluster.gpus_per_node");
  }
}

// Fills what is missing of ranks = nodes x gpus_per_node.
void fill_counts(const ClusterConfig& config, int nodes_of_name, Cluster& cluster, std::vector<Problem>& problems) {
  const int full = cluster.preset.gpus_per_node;
  if (nodes_of_name > 0 && config.nodes > 0 && config.nodes != nodes_of_name)
    return conflict(problems, "cluster.nodes",
                    fmt::format("{} nodes, but {} has {}", config.nodes, config.preset, nodes_of_name),
                    "leave cluster.nodes out");
  cluster.ranks = config.ranks;
  cluster.nodes = nodes_of_name > 0 ? nodes_of_name : config.nodes;
  cluster.gpus_per_node = config.gpus_per_node;
  if (cluster.ranks > 0 && cluster.nodes == 0 && cluster.gpus_per_node == 0) return spread_ranks(cluster, problems);
  if (cluster.ranks > 0 && cluster.nodes == 0 && cluster.ranks % cluster.gpus_per_node == 0)
    cluster.nodes = cluster.ranks / cluster.gpus_per_node;
  if (cluster.ranks > 0 && cluster.gpus_per_node == 0 && cluster.ranks % cluster.nodes == 0)
    cluster.gpus_per_node = cluster.ranks / cluster.nodes;
  if (cluster.nodes == 0) cluster.nodes = cluster.ranks > 0 || !cluster.preset.scalable ? 1 : kDefaultNodes;
  if (cluster.gpus_per_node == 0) cluster.gpus_per_node = full > 0 ? full : kDefaultRanks;
  const std::int64_t product = std::int64_t{cluster.nodes} * cluster.gpus_per_node;
  if (product > kMaxRanks)
    return conflict(
        problems, "cluster.nodes",
        fmt::format("{} nodes of {} GPUs are more than {} ranks", cluster.nodes, cluster.gpus_per_node, kMaxRanks),
        "give fewer nodes or GPUs a node");
  if (cluster.ranks == 0) cluster.ranks = static_cast<int>(product);
  if (product != cluster.ranks)
    conflict(problems, "cluster.ranks",
             fmt::format("{} ranks are not {} nodes x {} GPUs", cluster.ranks, cluster.nodes, cluster.gpus_per_node),
             "leave one of ranks, nodes and gpus_per_node out and it follows from the others");
}

// Presets of several nodes that these counts fit, each by the name with its number of nodes.
std::vector<std::string> presets_of(const RunConfig& config, int nodes) {
  std::vector<std::string> fitting;
  for (const std::string_view name : cluster_preset_names()) {
    const ClusterPreset& preset = *find_cluster_preset(name);
    if (!preset.scalable || preset.network.nic_gbps <= 0) continue;
    RunConfig other;
    other.cluster = config.cluster;
    other.cluster.profile.clear();
    other.cluster.preset = fmt::format("{}{}", name.substr(0, name.size() - 1), nodes);
    std::vector<Problem> problems;
    resolve_cluster(other, problems);
    if (problems.empty()) fitting.push_back(other.cluster.preset);
  }
  return fitting;
}

std::string several_nodes_hint(const RunConfig& config, int nodes) {
  const std::vector<std::string> presets = presets_of(config, nodes);
  const char* kOwn = "a file of your own as cluster.profile: samples/cluster-a800-2node.toml is one";
  return presets.empty() ? fmt::format("use {}", kOwn)
                         : fmt::format("use cluster.preset = {}, or {}", fmt::join(presets, " or "), kOwn);
}

void check_counts(const RunConfig& config, const Cluster& cluster, std::vector<Problem>& problems) {
  const ClusterPreset& preset = cluster.preset;
  if (preset.gpus_per_node > 0 && cluster.gpus_per_node > preset.gpus_per_node)
    conflict(problems, "cluster.gpus_per_node",
             fmt::format("{} GPUs a node, but {} has {}", cluster.gpus_per_node, preset.name, preset.gpus_per_node),
             "");
  if (cluster.nodes > 1 && (!preset.scalable || preset.network.nic_gbps <= 0)) {
    if (config.cluster.nodes > 1)
      conflict(problems, "cluster.nodes", fmt::format("{} nodes, but {} is one node", cluster.nodes, preset.name),
               several_nodes_hint(config, cluster.nodes));
    else
      conflict(problems, "cluster.ranks",
               fmt::format("{} ranks need {} nodes, but {} is one node", cluster.ranks, cluster.nodes, preset.name),
               several_nodes_hint(config, cluster.nodes));
  }
  if (cluster.ranks % cluster.dp != 0)
    return conflict(problems, "cluster.dp",
                    fmt::format("{} ranks do not split into {} replicas", cluster.ranks, cluster.dp),
                    "dp must divide ranks");
  const int plan = cluster.plan_ranks();
  if (plan % cluster.gpus_per_node != 0 && cluster.gpus_per_node % plan != 0)
    conflict(problems, "cluster.dp",
             fmt::format("replicas of {} ranks do not align with nodes of {}", plan, cluster.gpus_per_node),
             "choose dp so that a replica fills whole nodes, or a node holds whole replicas");
}

}  // namespace

Cluster resolve_cluster(const RunConfig& config, std::vector<Problem>& problems) {
  const std::size_t known = problems.size();
  Cluster cluster;
  cluster.preset = load_preset(config, problems);
  if (problems.size() != known) return cluster;
  const int nodes_of_name = config.cluster.profile.empty() ? nodes_in_name(config.cluster.preset, cluster.preset) : 0;
  cluster.dp = config.cluster.dp;
  fill_counts(config.cluster, nodes_of_name, cluster, problems);
  if (problems.size() == known) check_counts(config, cluster, problems);
  return cluster;
}

}  // namespace spscope
