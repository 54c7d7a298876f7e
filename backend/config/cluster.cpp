// The ranks of a run and their nodes: the rules by which ranks, nodes and GPUs a node follow from each other.
#include "backend/config/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/base/listed.h"
#include "backend/base/nearest_name.h"
#include "backend/config/model.h"
#include "backend/config/profile_layers.h"

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
  const std::string of_count = cluster_of_count_hint(config.cluster.preset);
  problems.push_back(
      {ErrorCode::kConfigUnknownName, "cluster.preset", fmt::format("\"{}\" is not a cluster", config.cluster.preset),
       !of_count.empty() ? of_count
       : near.empty()    ? fmt::format("use one of {}, or cluster.profile = \"file.toml\"", fmt::join(names, ", "))
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

// Presets of several nodes that these counts fit, each by the name with its number of nodes; those with the GPU of the
// config's preset where there are some.
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
  const std::string gpu = "-" + config.cluster.preset.substr(0, config.cluster.preset.rfind('x')) + "-";
  std::vector<std::string> alike;
  for (const std::string& name : fitting)
    if (name.find(gpu) != std::string::npos) alike.push_back(name);
  return alike.empty() ? fitting : alike;
}

std::string several_nodes_hint(const RunConfig& config, int nodes) {
  const std::vector<std::string> presets = presets_of(config, nodes);
  const char* kOwn = "a file of your own as cluster.profile: samples/cluster-a800-2node.toml is one";
  return presets.empty() ? fmt::format("use {}", kOwn)
                         : fmt::format("use cluster.preset = {}, or {}", listed(presets, "or"), kOwn);
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
  const int replica = cluster.replica_ranks();
  if (replica % cluster.guidance != 0)
    return conflict(
        problems, "cluster.guidance",
        fmt::format("the {} ranks of a replica do not split into {} guidance passes", replica, cluster.guidance),
        "guidance must divide ranks / dp");
  if (!aligned_with_nodes(replica, cluster.gpus_per_node))
    conflict(problems, "cluster.dp",
             fmt::format("replicas of {} ranks do not align with nodes of {}", replica, cluster.gpus_per_node),
             "choose dp so that a replica fills whole nodes, or a node holds whole replicas");
  else if (!aligned_with_nodes(cluster.plan_ranks(), cluster.gpus_per_node))
    conflict(problems, "cluster.guidance",
             fmt::format("guidance passes of {} ranks do not align with nodes of {}", cluster.plan_ranks(),
                         cluster.gpus_per_node),
             "choose ranks so that a pass fills whole nodes, or a node holds whole passes");
}

// Whether the masks of the config leave pairs out; a file of masks is taken to.
bool has_sparse_masks(const RunConfig& config) {
  const auto is_dense = [](const std::string& pattern) { return pattern.empty() || pattern == "dense"; };
  if (!config.mask.file.empty()) return true;
  return config.mask.density < 1 && !(is_dense(config.mask.pattern) && is_dense(config.mask.temporal_pattern));
}

// Chooses the kernel and the implementation of a layered preset; of any other they were chosen when it was made.
void choose_profiles(const RunConfig& config, int ranks, ClusterPreset& preset, std::vector<Problem>& problems) {
  const RunSection& run = config.run;
  if (!preset.layered) {
    const auto refuse = [&](const char* key, const std::string& wanted, const std::string& has) {
      if (wanted.empty() || wanted == has) return;
      conflict(problems, key,
               fmt::format("the file of {} gives the cost of {} in its [cost], not of \"{}\"", preset.name,
                           has.empty() ? "one device" : "\"" + has + "\"", wanted),
               "leave the key out, or write gpu = \"h100\" (spscope list gpus) in the file in place of [cost]");
    };
    refuse("run.attention_kernel", run.attention_kernel, preset.attention_kernel);
    refuse("run.implementation", run.implementation, preset.implementation);
    return;
  }
  std::vector<Problem> known_elsewhere;
  resolve_profiles(preset,
                   {.attention_kernel = run.attention_kernel,
                    .implementation = run.implementation.empty() ? preset.implementation : run.implementation,
                    .sparse = has_sparse_masks(config),
                    .method = config.mask.method(),
                    .dtype = run.dtype,
                    .model = resolve_model(config.model, known_elsewhere),
                    .gpus = ranks},
                   problems);
  preset.layered = false;
  preset.own_device.clear();
}

}  // namespace

bool aligned_with_nodes(int group_ranks, int gpus_per_node) {
  return group_ranks % gpus_per_node == 0 || gpus_per_node % group_ranks == 0;
}

Cluster resolve_cluster(const RunConfig& config, std::vector<Problem>& problems) {
  const std::size_t known = problems.size();
  Cluster cluster;
  cluster.preset = load_preset(config, problems);
  cluster.layered = cluster.preset.layered;
  if (problems.size() != known) return cluster;
  const int nodes_of_name = config.cluster.profile.empty() ? nodes_in_name(config.cluster.preset, cluster.preset) : 0;
  cluster.dp = config.cluster.dp;
  cluster.guidance = config.cluster.guidance;
  fill_counts(config.cluster, nodes_of_name, cluster, problems);
  if (problems.size() == known) check_counts(config, cluster, problems);
  choose_profiles(config, std::max(1, cluster.ranks / std::max(1, cluster.dp)), cluster.preset, problems);
  return cluster;
}

}  // namespace spscope
