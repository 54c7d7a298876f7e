// Cluster presets, cluster files, and how ranks, nodes and GPUs fill each other in.
#include "backend/config/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/config/engines.h"
#include "backend/config/model.h"
#include "backend/config/profile_layers.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

std::pair<Cluster, std::vector<Problem>> tried(const ClusterConfig& cluster) {
  RunConfig config;
  config.cluster = cluster;
  std::vector<Problem> problems;
  Cluster result = resolve_cluster(config, problems);
  return {result, problems};
}

Cluster resolved(const ClusterConfig& cluster) {
  const auto [result, problems] = tried(cluster);
  EXPECT_TRUE(problems.empty()) << render(Error(problems));
  return result;
}

std::vector<Problem> cluster_problems(const ClusterConfig& cluster) { return tried(cluster).second; }

ClusterPreset parsed(std::string_view text) {
  auto read = parse_cluster(text, "mine.toml");
  if (!read) throw read.error();
  return *read;
}

TEST(ClusterPresets, AreTheNamedOnesAndStateASourceForEveryNumber) {
  const std::vector<std::string_view> names = cluster_preset_names();
  for (const std::string_view name :
       {"a800x8", "a100x8", "h100x8", "h200x8", "h20x8", "h800x8", "b200x8", "l40sx8", "l20x8", "4090x8", "p4de-xN",
        "hdr-a100-xN", "ndr-h100-xN", "ndr-h800-xN", "ndr-b200-xN", "local"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  for (const std::string_view name : names) {
    SCOPED_TRACE(name);
    ClusterPreset preset = *find_cluster_preset(name);
    ClusterPreset empty;
    for (const ClusterFieldRow& row : cluster_fields())
      EXPECT_TRUE((!row.required && row.ref(preset) == row.ref(empty)) ||
                  !preset.sources[std::string(row.name)].empty())
          << row.name;
    EXPECT_FALSE(preset.note.empty());
    EXPECT_EQ(preset.scalable, preset.network.nic_gbps > 0);
    EXPECT_NE(preset.cost.provenance, Provenance::kMeasured);
    if (name == "local") continue;
    EXPECT_EQ(preset.network.provenance, Provenance::kModelled);
    for (const auto& [number, source] : preset.sources)
      EXPECT_TRUE(!number.starts_with("network.") || preset.origins.contains(number)) << number;
  }
}

// Constants times links, and peaks without sparsity, computed here from the parts.
TEST(ClusterPresets, NumbersEqualTheirDerivation) {
  EXPECT_DOUBLE_EQ(find_cluster_preset("a800x8")->network.link_gbps, 8 * 20.0);
  EXPECT_DOUBLE_EQ(find_cluster_preset("a100x8")->network.link_gbps, 12 * 20.0);
  EXPECT_DOUBLE_EQ(find_cluster_preset("h100x8")->network.link_gbps, 18 * 20.6);
  EXPECT_DOUBLE_EQ(find_cluster_preset("h800x8")->network.link_gbps, 8 * 20.6);
  EXPECT_DOUBLE_EQ(find_cluster_preset("b200x8")->network.link_gbps, 18 * 40.1);
  EXPECT_DOUBLE_EQ(find_cluster_preset("ndr-h100-x4")->network.nic_gbps, 8 * 48.0);
  EXPECT_DOUBLE_EQ(find_cluster_preset("ndr-h100-x4")->network.rank_nic_gbps, 48.5);
  for (const std::string_view name : cluster_preset_names()) {
    const ClusterPreset& preset = *find_cluster_preset(name);
    if (preset.device.dense_bf16_tflops == 0) continue;
    const double flop_per_ns = 4.0 / preset.cost.attend_ns_per_pair_channel;
    const double efficiency = flop_per_ns / (preset.device.dense_bf16_tflops * 1e3);
    EXPECT_GT(efficiency, 0.49) << name;
    EXPECT_LT(efficiency, 1.02) << name;  // GPUs for games run above the clock that their peak is stated for
    EXPECT_NEAR(preset.cost.move_ns_per_byte * preset.device.memory_gbps, 1.0, 1e-3) << name;
  }
}

// One layer of Wan2.1-14B at 720p on 8 A800 at half of peak: 18.8 ms of attention at density 0.2 (5 heads a rank),
// which is 18.7 ms of pairs and 0.1 ms of one extra tile of 64 keys a row.
TEST(KernelCost, ReproducesTheWorkedLayer) {
  const KernelCostProfile cost{.attend_ns_per_pair_channel = 4 / 156e3, .attend_ramp_keys = 64};
  const double rows = 5 * 75600.0;
  EXPECT_NEAR(1e-6 * cost.attend_ns(rows, 0.2 * rows * 75600.0, 128), 18.8, 0.05);
}

TEST(ClusterPresets, ScalableOnesTakeTheirNodesFromTheName) {
  EXPECT_EQ(resolved({.preset = "p4de-x4"}).ranks, 32);
  EXPECT_EQ(resolved({.preset = "p4de-xN", .nodes = 3}).ranks, 24);
  EXPECT_EQ(resolved({.preset = "ndr-h100-xN", .ranks = 1024}).nodes, 128);
  EXPECT_EQ(find_cluster_preset("p4de-x"), nullptr);
  EXPECT_EQ(find_cluster_preset("p4de-x0"), nullptr);
  EXPECT_EQ(find_cluster_preset("p4de-x99999999999"), nullptr);
  EXPECT_EQ(find_cluster_preset("a800x88"), nullptr);
}

TEST(ClusterPresets, AreMeantByWhatPeopleCallThem) {
  EXPECT_EQ(cluster_preset_meant("H100x8"), "h100x8");
  EXPECT_EQ(cluster_preset_meant("RTX-4090x8"), "4090x8");
  EXPECT_EQ(cluster_preset_meant("NVIDIA GeForce RTX 4090x8"), "4090x8");
  EXPECT_EQ(cluster_preset_meant("NDR-H100-x4"), "ndr-h100-x4");
  EXPECT_EQ(cluster_preset_meant("H101x8"), "H101x8");
  EXPECT_EQ(cluster_of_count_hint("h100x4"), "use cluster.preset = h100x8, cluster.ranks = 4");
  EXPECT_EQ(cluster_of_count_hint("rtx4090x2"), "use cluster.preset = 4090x8, cluster.ranks = 2");
  EXPECT_EQ(cluster_of_count_hint("h100x32"), "use cluster.preset = ndr-h100-x4");
  for (const char* other : {"h100", "x4", "h100x", "4090x16", "h101x4", "h100x0x"})
    EXPECT_EQ(cluster_of_count_hint(other), "") << other;
  EXPECT_EQ(model_preset_meant("Wan-AI/Wan2.1-T2V-14B-Diffusers"), "wan2.1-t2v-14b");
  EXPECT_EQ(model_preset_meant("tencent/HunyuanVideo"), "hunyuanvideo");
  EXPECT_EQ(model_preset_meant("Wan2.2"), "Wan2.2");
}

// docs/engines.md is where these are from.
TEST(Engines, HaveWhatTheirSourcesSay) {
  const EngineSetup usp{.strategy = "usp", .heads = 40, .ulysses = 4, .ring = 2, .guidance = 2, .kernel = "fa2"};
  const EngineSetup uneven{.strategy = "ulysses", .heads = 30, .ulysses = 4, .compiled = true, .kernel = "fa3"};
  const EngineSetup gather{.strategy = "allgather_kv", .heads = 40, .gather = 8, .sharded = true};
  const auto sparse = [](const char* masks, const char* strategy = "ulysses") {
    return EngineSetup{.strategy = strategy, .heads = 40, .ulysses = 8, .masks = masks, .density = 0.3};
  };
  EngineSetup ring = sparse("sparge");
  ring.ulysses = 4, ring.ring = 2, ring.strategy = "usp";
  using Ids = std::vector<std::string_view>;
  EXPECT_EQ(engines_with(usp, "hunyuanvideo"), (Ids{"sglang", "vllm-omni"}));
  EXPECT_EQ(engines_with(usp, "wan2.1-i2v-14b"), (Ids{"sglang", "xdit", "vllm-omni"}));
  EXPECT_EQ(engines_with({.strategy = "ring", .ring = 8}, "wan2.1-t2v-14b"),
            (Ids{"sglang", "xdit", "vllm-omni", "wan"}));
  EXPECT_EQ(engines_with(uneven, "cogvideox-2b"), (Ids{"diffusers", "vllm-omni"}));
  EXPECT_EQ(engines_with(gather, "flux.1-dev"), (Ids{"sglang", "vllm-omni"}));
  EXPECT_EQ(engines_with(sparse("sparge"), "wan2.1-t2v-14b"), (Ids{"sglang", "xdit"}));
  EXPECT_EQ(engines_with(sparse("sparge"), "hunyuanvideo"), (Ids{"sglang"}));
  EngineSetup snake = sparse("sparge", "snake");
  EXPECT_EQ(engines_with(snake, "wan2.1-t2v-14b"), (Ids{"xdit"}));
  EXPECT_EQ(
      engine_command(find_engine("xdit"), snake),
      "xdit --model MODEL --ulysses_degree 8 --attention_backend FLEX_BLOCK_SPARGE --cross_attention_backend FLASH_3 "
      "--use_spargeattn_head_balance");
  EXPECT_EQ(engines_with(sparse("vsa"), "wan2.1-t2v-14b"), (Ids{"sglang", "vllm-omni"}));
  EXPECT_EQ(engines_with(sparse("a file"), "wan2.1-t2v-14b"), (Ids{"sglang", "xdit", "vllm-omni"}));
  EXPECT_EQ(engines_with(sparse("radial"), "wan2.1-t2v-14b"), Ids{});
  EXPECT_EQ(engines_with({.strategy = "megatron_tp", .heads = 40, .tensor = 8, .sharded = true}, "flux.1-dev"),
            (Ids{"sglang"}));
  const std::string own = "sglang serve --model-path MODEL --num-gpus 8 --ulysses-degree 8";
  EXPECT_EQ(engine_command(find_engine("sglang"), sparse("a file")), own);
  EXPECT_EQ(engine_command(find_engine("sglang"), sparse("sparge")),
            own + " --attention-backend sparge_attn --attention-backend-config topk=0.3");
  EXPECT_EQ(engine_command(find_engine("sglang"), sparse("vsa")),
            own + " --attention-backend video_sparse_attn --attention-backend-config sparsity=0.7");
  EngineSetup of_file = sparse("vsa");
  of_file.density.reset();  // no flag sets one
  EXPECT_EQ(engine_command(find_engine("sglang"), of_file), own + " --attention-backend video_sparse_attn");
  EXPECT_EQ(engines_with(ring, "wan2.1-t2v-14b"), Ids{});
  EXPECT_EQ(engines_with({.strategy = "snake", .heads = 40, .ulysses = 8}, "flux.1-dev"), Ids{});
  EXPECT_EQ(engines_with({.strategy = "usp", .own_order = true, .ulysses = 2, .ring = 2}, "flux.1-dev"), Ids{});
  EXPECT_EQ(engine_command(find_engine("sglang"), usp),
            "sglang serve --model-path MODEL --num-gpus 16 --enable-cfg-parallel --ulysses-degree 4 --ring-degree 2 "
            "--attention-backend fa");
  EXPECT_EQ(engine_command(find_engine("xdit"), {.strategy = "ulysses", .heads = 24, .ulysses = 4, .compiled = true}),
            "xdit --model MODEL --ulysses_degree 4 --use_torch_compile");
  EXPECT_EQ(engine_command(find_engine("vllm-omni"), uneven),
            "vllm serve MODEL --omni --num-gpus 4 --usp 4 --ulysses-mode advanced_uaa --diffusion-attention-backend "
            "FLASH_ATTN_3_HUB");
  EXPECT_TRUE(engine_command(find_engine("vllm-omni"), gather).ends_with(" --use-hsdp --enforce-eager"));
  EXPECT_EQ(engine_command(find_engine("diffusers"), uneven),
            "torchrun --nproc-per-node 4 SCRIPT.py, in it pipe.transformer.set_attention_backend('_flash_3_hub'); "
            "pipe.transformer.enable_parallelism(config=ContextParallelConfig(ulysses_degree=4, "
            "ulysses_anything=True)); pipe.transformer.compile_repeated_blocks()");
  // On two nodes, with the text encoder elsewhere; who says nothing of nodes gets flags alone.
  EngineSetup nodes{.strategy = "ring", .ring = 16, .sharded = true, .gpus_per_node = 8, .text_encoder_out = true};
  EXPECT_EQ(engine_command(find_engine("wan"), nodes),
            "torchrun --nnodes 2 --nproc_per_node 8 --rdzv-backend c10d --rdzv-endpoint HOST:29500 generate.py "
            "--ring_size 16 --dit_fsdp --t5_cpu");
  nodes.sharded = nodes.text_encoder_out = false;
  EXPECT_EQ(engine_command(find_engine("xdit"), nodes), "--ring_degree 16");
  for (const std::string_view gpu : gpu_names()) EXPECT_GT(compute_capability(gpu), 0) << gpu;
  for (const Engine& engine : engines())
    for (int f = 0; f < kEngineFeatures; ++f)
      EXPECT_TRUE(!engine.has(EngineFeature(f)) || engine.source(EngineFeature(f)).starts_with("https://"))
          << engine.id;
  const auto is_known = [](std::string_view kernel) {
    return std::ranges::any_of(gpu_names(), [&](std::string_view gpu) { return find_gpu(gpu)->find_kernel(kernel); });
  };
  for (const Engine& engine : engines())
    for (const Engine::Kernel& row : engine.kernels)
      EXPECT_TRUE(std::ranges::all_of(row.kernels, is_known)) << row.text;
  EXPECT_THROW(find_engine("vllm"), Error);
}

TEST(ResolveCluster, CountsFollowFromThoseThatAreGiven) {
  EXPECT_EQ(resolved({}).ranks, 4);
  EXPECT_EQ(resolved({.ranks = 6}).gpus_per_node, 6);
  EXPECT_EQ(resolved({.preset = "a800x8"}).ranks, 8);
  EXPECT_EQ(resolved({.preset = "a800x8", .ranks = 3}).nodes, 1);
  EXPECT_EQ(resolved({.preset = "p4de-xN", .ranks = 8, .gpus_per_node = 4}).nodes, 2);
  EXPECT_EQ(resolved({.preset = "p4de-xN", .ranks = 8, .nodes = 4}).gpus_per_node, 2);
  EXPECT_EQ(resolved({.preset = "a800x8", .dp = 2}).plan_ranks(), 4);
}

TEST(ResolveCluster, CountsThatContradictEachOtherAreRefused) {
  const ClusterConfig kContradictions[] = {{.preset = "p4de-xN", .ranks = 12, .nodes = 2, .gpus_per_node = 8},
                                           {.preset = "p4de-xN", .ranks = 12},
                                           {.preset = "p4de-x4", .nodes = 2},
                                           {.preset = "a800x8", .gpus_per_node = 16},
                                           {.preset = "a800x8", .ranks = 16},  // one node has no network to another
                                           {.ranks = 4, .nodes = 2},
                                           {.ranks = 7, .gpus_per_node = 2},
                                           {.preset = "a800x8", .dp = 3},
                                           {.preset = "p4de-xN", .nodes = 3, .dp = 2},  // 12 ranks straddle nodes of 8
                                           {.preset = "p4de-xN", .nodes = 65536, .gpus_per_node = 65536}};
  for (const ClusterConfig& cluster : kContradictions)
    EXPECT_EQ(cluster_problems(cluster).size(), 1u) << cluster.preset << ", " << cluster.ranks << " ranks";
  EXPECT_EQ(cluster_problems(kContradictions[0])[0].message, "12 ranks are not 2 nodes x 8 GPUs");
}

// The key that was given is at fault, and what is suggested is taken.
TEST(ResolveCluster, NodesOfAOneNodeClusterGetOnesThatHaveAsMany) {
  const std::string own = "a file of your own as cluster.profile: samples/cluster-a800-2node.toml is one";
  struct Row {
    ClusterConfig cluster;
    std::string field, presets;
  };
  for (const Row& row :
       {Row{{.nodes = 64}, "nodes", "hdr-a100-x64, ndr-b200-x64, ndr-h100-x64, ndr-h800-x64 or p4de-x64"},
        Row{{.preset = "a800x8", .ranks = 16},
            "ranks",
            "hdr-a100-x2, ndr-b200-x2, ndr-h100-x2, ndr-h800-x2 or p4de-x2"},
        Row{{.preset = "h100x8", .ranks = 16}, "ranks", "ndr-h100-x2"},
        // More GPUs a node than these have.
        Row{{.nodes = 2, .gpus_per_node = 16}, "nodes", ""}}) {
    const auto problems = cluster_problems(row.cluster);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].field, "cluster." + row.field);
    EXPECT_EQ(problems[0].hint,
              "use " + (row.presets.empty() ? "" : "cluster.preset = " + row.presets + ", or ") + own);
  }
  EXPECT_EQ(cluster_problems({.nodes = 64})[0].message, "64 nodes, but local is one node");
  EXPECT_EQ(resolved({.preset = "ndr-h100-x64", .nodes = 64}).ranks, 512);
  EXPECT_EQ(resolved({.preset = "p4de-x2", .ranks = 16}).nodes, 2);
}

TEST(ClusterFile, RoundTripsThroughAFile) {
  const TemporaryFolder folder;
  ClusterPreset profile = *find_cluster_preset("local");
  profile.cost.provenance = Provenance::kMeasured;
  profile.cost.attend_ns_per_row = 0.1 + 0.2;
  profile.sources["cost.attend_ns_per_row"] = "measured: \"this\" machine\nand a tab\t";
  write_profile(folder.file("local.toml"), profile);
  auto read = read_profile(folder.file("local.toml"));
  ASSERT_TRUE(read.has_value()) << render(read.error());
  EXPECT_EQ(*read, profile);
  for (const std::string_view name : cluster_preset_names())
    EXPECT_EQ(parsed(cluster_toml(*find_cluster_preset(name))), *find_cluster_preset(name));
}

// A section of which nothing is given may be left out, and may be empty.
TEST(ClusterFile, NeedsNothingOfTheDevice) {
  const std::string text = cluster_toml(resolved({.preset = "a800x8"}).preset);
  const std::size_t device = text.find("[device]"), end = text.find("[cost]");
  ASSERT_LT(device, end);
  for (const char* section : {"", "[device]\n"}) {
    std::string other = text;
    const ClusterPreset preset = parsed(other.replace(device, end - device, section));
    EXPECT_EQ(preset.device.memory_gbps, 0);
    EXPECT_EQ(parsed(cluster_toml(preset)), preset);
  }
}

// h100x8 with one line of its all-to-all replaced by another.
std::string with_line(std::string_view key, std::string_view line) {
  std::string text = cluster_toml(*find_cluster_preset("h100x8"));
  const std::size_t section = text.find("[network.all_to_all]"), begin = text.find(std::string(key) + " = ", section);
  return text.replace(begin, text.find('\n', begin) + 1 - begin, line);
}

TEST(ClusterFile, KeepsOriginsAndRanges) {
  const ClusterPreset preset = parsed(
      with_line("gbps", "gbps = { value = 300, low = 250.5, high = 340, source = \"here\", from = \"measured\" }\n"));
  EXPECT_EQ(preset.origins.at("network.all_to_all.gbps"), NumberOrigin::kMeasured);
  EXPECT_EQ(preset.ranges.at("network.all_to_all.gbps"), (NumberRange{250.5, 340}));
  EXPECT_EQ(parsed(cluster_toml(preset)), preset);
}

// Rates are fast when high, times when low.
TEST(ClusterFile, RangesHaveAFastAndASlowEnd) {
  ClusterPreset preset = *find_cluster_preset("h100x8");
  preset.ranges["network.all_to_all.gbps"] = {250, 340};
  preset.ranges["network.all_to_all.floor_ns"] = {11000, 76500};
  const ClusterPreset fast = at_range_end(preset, RangeEnd::kFast), slow = at_range_end(preset, RangeEnd::kSlow);
  EXPECT_EQ(fast.network.all_to_all.gbps, 340);
  EXPECT_EQ(slow.network.all_to_all.gbps, 250);
  EXPECT_EQ(fast.network.all_to_all.floor_ns, 11000);
  EXPECT_EQ(slow.network.all_to_all.floor_ns, 76500);
  EXPECT_EQ(fast.network.all_gather, preset.network.all_gather);
  EXPECT_EQ(fast.network.compute_slowdown, 1);
  EXPECT_EQ(slow.network.compute_slowdown, preset.network.compute_slowdown);
  EXPECT_GT(fast.network.point_to_point.gbps, 2 * preset.network.point_to_point.gbps);
}

TEST(ClusterFile, RefusesHalfACurveAndARangeWithoutItsValue) {
  const char* kRefused[][3] = {
      {"t0_ns", "", "a curve needs floor_ns, t0_ns, gbps: write t0_ns = "},
      {"gbps", "gbps = { value = 300, low = 301, high = 340, source = \"s\" }\n",
       "300 is outside its own range of 301 to 340"},
      {"gbps", "gbps = { value = 300, low = 30, source = \"s\" }\n",
       "network.all_to_all.gbps.high: this key is missing"},
      {"gbps", "gbps = { value = 300, source = \"s\", from = \"guessed\" }\n", "use one of assumed, fitted, measured"}};
  for (const auto& [key, line, refusal] : kRefused) {
    const auto read = parse_cluster(with_line(key, line), "mine.toml");
    ASSERT_FALSE(read.has_value()) << line;
    EXPECT_NE(render(read.error()).find(refusal), std::string::npos) << render(read.error());
  }
}

TEST(ClusterFile, AllProblemsAreNamedAtOnceWithTheirPlaces) {
  auto read = parse_cluster(
      "name = \"x\"\n"
      "gpus_per_node = -1\n"
      "[network]\n"
      "provenance = \"guessed\"\n"
      "link_gbps = 160.0\n"
      "nic_gpbs = { value = 1.0, source = \"s\" }\n"
      "intra_latency_ns = { value = nan, source = \"s\" }\n"
      "compute_slowdown = { value = 0.5, source = \"s\" }\n"
      "[device]\n"
      "memory_gib = { value = 80 }\n",
      "mine.toml");
  ASSERT_FALSE(read.has_value());
  const std::string text = render(read.error());
  for (const char* part :
       {"gpus_per_node: -1 is outside [0, 1048576]\n  --> mine.toml:2:17", "\"guessed\" is not a provenance",
        "write link_gbps = { value = ..., source = \"...\" }", "network.nic_gpbs.value: a cluster file has no such key",
        "nan is outside", "0.5 is outside [1, 100]",
        "device.memory_gib.source: this key is missing from the cluster file",
        "cost.attend_ns_per_row: this key is missing from the cluster file\n  --> mine.toml\n  write attend_ns_per_row "
        "= { value "
        "= ..., "})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace spscope
