// The layers of a profile: every number has a source, files read back equal, and the flat numbers of a cluster follow
// from them by the closed forms worked here.
#include "backend/config/profile_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "backend/config/cluster.h"
#include "backend/config/validate.h"

namespace spscope {
namespace {

RunConfig config_on(const std::string& preset) {
  RunConfig config;
  config.model.preset = "wan2.1-t2v-14b";
  config.cluster.preset = preset;
  config.mask.pattern = "dense";
  return config;
}

Cluster resolved(const RunConfig& config) {
  std::vector<Problem> problems;
  Cluster cluster = resolve_cluster(config, problems);
  EXPECT_TRUE(problems.empty()) << (problems.empty() ? "" : problems.front().message);
  return cluster;
}

// What is wrong with a config in one place, as it is printed.
std::string fault_of(const RunConfig& config) {
  std::vector<Problem> problems;
  resolve_cluster(config, problems);
  EXPECT_EQ(problems.size(), 1u);
  return render(Error(problems));
}

// A profile has a source for each number, and is read back equal.
template <typename Profile, typename Parse>
void expect_whole(Profile profile, const std::string& text, const Parse& parse) {
  const auto again = parse(text, "again");
  ASSERT_TRUE(again.has_value()) << render(again.error());
  EXPECT_EQ(*again, profile);
  for (const auto& [name, number] : numbers_of(profile))
    EXPECT_FALSE(number->source.empty()) << profile.name << " " << name;
}

TEST(ProfileLayers, ReadBackEqualAndSayWhereEachNumberIsFrom) {
  ASSERT_GE(gpu_names().size(), 12u);
  for (const std::string_view name : gpu_names()) {
    const GpuProfile& gpu = *find_gpu(name);
    expect_whole(gpu, gpu_toml(gpu), parse_gpu);
    for (const AttentionKernelProfile* kernel : {gpu.find_kernel("fa2"), gpu.find_kernel("fa3")}) {
      if (kernel == nullptr) continue;
      EXPECT_LT(kernel->tflops.value, 1.02 * gpu.dense_bf16_tflops.value) << gpu.name << " " << kernel->name;
    }
  }
  for (const std::string_view name : {"compiled", "official", "eager"}) {
    ASSERT_NE(find_implementation(name), nullptr);
    expect_whole(*find_implementation(name), implementation_toml(*find_implementation(name)), parse_implementation);
  }
  EXPECT_EQ(implementation_names().size(), 3u);
}

// What is called measured was measured of this kernel and on this GPU: attention.csv has the rates that were published.
// STA's is in its paper.
TEST(ProfileLayers, ARateIsMeasuredWhereOneOfThisKernelOnThisGpuIsPublished) {
  const std::map<std::string, std::string> published = {{"FA2", "fa2"},
                                                        {"FA3", "fa3"},
                                                        {"FA3-fp8", "fa3-fp8"},
                                                        {"cuDNN 2024", "cudnn"},
                                                        {"SageAttn2-8b", "sage2"},
                                                        {"Sage int8+fp8", "sage2"},
                                                        {"Sage int8+fp16", "sage"}};
  std::set<std::string> known = {"h100 sta"};
  std::ifstream file(std::string(SPSCOPE_SOURCE_DIR) + "/bench/measured/attention.csv");
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string one; std::getline(cells, one, ',');) row.push_back(one);
    std::string gpu = row[3] == "RTX4090" ? "4090" : row[3];
    std::ranges::transform(gpu, gpu.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (const auto kernel = published.find(row[14]); kernel != published.end())
      known.insert(gpu + " " + kernel->second);
  }
  ASSERT_GT(known.size(), 10u);
  for (const std::string_view gpu : gpu_names())
    for (const AttentionKernelProfile& kernel : find_gpu(gpu)->kernels)
      EXPECT_TRUE(kernel.tflops.from != NumberOrigin::kMeasured || known.contains(std::string(gpu) + " " + kernel.name))
          << gpu << " " << kernel.name;
}

TEST(ProfileLayers, RefuseWhatTheyDoNotKnow) {
  const char* kRefused[][3] = {{"matmul_share", "matmul_rate_", "matmul_share"},
                               {"matmul_share", "speed = 3\nmatmul_share", "no such key"},
                               {"dense_kernel = \"fa2\"", "dense_kernel = \"fa9\"", "\"fa9\""}};
  for (const auto& [old, changed, refusal] : kRefused) {
    std::string text = gpu_toml(*find_gpu("a100"));
    const auto read = parse_gpu(text.replace(text.find(old), std::string_view(old).size(), changed), "mine.toml");
    ASSERT_FALSE(read.has_value()) << changed;
    EXPECT_NE(render(read.error()).find(refusal), std::string::npos) << render(read.error());
  }
}

// Times of the host differ from machine to machine, and so do those of a cluster that runs the code.
TEST(ProfileLayers, CarryTheRangesOfTheirNumbers) {
  std::string text = implementation_toml(*find_implementation("compiled"));
  const std::string key = "host_us_per_hop = { value = ";
  const std::size_t begin = text.find(key) + key.size();
  const auto with = [&](const std::string& value) {
    std::string changed = text;
    return parse_implementation(changed.replace(begin, text.find(',', begin) - begin, value), "mine.toml");
  };
  const auto read = with("40, low = 10, high = 50");
  ASSERT_TRUE(read.has_value()) << render(read.error());
  EXPECT_EQ(read->host_us_per_hop.range, (NumberRange{10, 50}));
  EXPECT_EQ(*parse_implementation(implementation_toml(*read), "again"), *read);
  ClusterPreset cluster = *find_cluster_preset("a100x8");
  ProfileChoices choices;
  choices.model = *find_model_preset("wan-mini");
  resolve_profiles(cluster, *find_gpu("a100"), *read, choices);
  EXPECT_EQ(cluster.ranges.at("cost.host_ns_per_hop"), (NumberRange{10e3, 50e3}));
  EXPECT_EQ(at_range_end(cluster, RangeEnd::kFast).cost.host_ns_per_hop, 10e3);
  for (const char* refused : {"40, low = 41, high = 50", "40, high = 50"}) EXPECT_FALSE(with(refused).has_value());
}

// FLOPs over rates: attention 4 a pair and channel, and the share of the peak of matrix products.
TEST(ProfileLayers, GiveTheNumbersOfAClusterThatNamesItsGpu) {
  const ClusterPreset cluster = resolved(config_on("a100x8")).preset;
  const GpuProfile& gpu = *find_gpu("a100");
  const AttentionKernelProfile& kernel = *gpu.find_kernel("fa2");
  EXPECT_EQ(cluster.gpu, "a100");
  EXPECT_EQ(cluster.attention_kernel, "fa2");
  EXPECT_EQ(cluster.implementation, "compiled");
  EXPECT_DOUBLE_EQ(cluster.cost.attend_ns_per_pair_channel, 4 / (kernel.tflops.value * 1e3));
  EXPECT_DOUBLE_EQ(cluster.cost.gemm_ns_per_flop, 1 / (gpu.matmul_share.value * 312e3));
  EXPECT_DOUBLE_EQ(cluster.cost.move_ns_per_byte, 1 / 2039.0);
  EXPECT_EQ(cluster.origins.at("cost.attend_ns_per_pair_channel"), kernel.tflops.from);
  EXPECT_FALSE(cluster.layered);
  // What a run stores of its cluster is all numbers, and reads back.
  EXPECT_EQ(*parse_cluster(cluster_toml(cluster), "stored"), cluster);
}

// With S keys a row, time = FLOP / rate x (1 + ramp / S); head dims of 72 run as 96.
TEST(ProfileLayers, AttentionRampsUpAndPadsHeads) {
  const KernelCostProfile cost = resolved(config_on("a100x8")).preset.cost;
  const GpuProfile& gpu = *find_gpu("a100");
  const AttentionKernelProfile& kernel = *gpu.find_kernel("fa2");
  const double rows = 1e5, keys = 4096, flops = 4 * rows * keys * 96;
  const double expected_ns =
      1e3 * gpu.launch_us.value + flops / (kernel.tflops.value * 1e3) * (1 + kernel.ramp_keys.value / keys);
  EXPECT_NEAR(cost.attend_ns(rows, rows * keys, 72), expected_ns, 1e-9 * expected_ns);
  EXPECT_DOUBLE_EQ(cost.attend_ns(rows, rows * keys, 96), cost.attend_ns(rows, rows * keys, 72));
  EXPECT_LT(cost.attend_ns(rows, rows * keys, 64), cost.attend_ns(rows, rows * keys, 72));
}

TEST(ProfileLayers, TheMaskChoosesTheKernelAndWhatItKeeps) {
  RunConfig config = config_on("h100x8");
  EXPECT_EQ(resolved(config).preset.attention_kernel, find_gpu("h100")->dense_kernel);
  config.mask.pattern = "sparge";  // whose kernel it has
  config.mask.density = 0.3;
  EXPECT_EQ(resolved(config).preset.attention_kernel, "sparge");
  config.mask.pattern = "paro";
  const ClusterPreset sparse = resolved(config).preset;
  const AttentionKernelProfile& kernel = *find_gpu("h100")->find_kernel(find_gpu("h100")->sparse_kernel);
  EXPECT_EQ(sparse.attention_kernel, kernel.name);
  EXPECT_DOUBLE_EQ(sparse.cost.attend_ns_per_pair_channel, 4 / (kernel.tflops.value * kernel.sparse_keep.value * 1e3));
  config.run.attention_kernel = "fa4";
  EXPECT_NE(fault_of(config).find("run.attention_kernel: \"fa4\" is not an attention kernel of h100\n"),
            std::string::npos);
}

TEST(ProfileLayers, Fp32ComputesAtTheRateOfTf32) {
  RunConfig config = config_on("h100x8");
  const KernelCostProfile bf16 = resolved(config).preset.cost;
  config.run.dtype = Dtype::kFp32;
  const KernelCostProfile fp32 = resolved(config).preset.cost;
  EXPECT_DOUBLE_EQ(fp32.gemm_ns_per_flop, bf16.gemm_ns_per_flop * 2);
  EXPECT_DOUBLE_EQ(fp32.attend_ns_per_pair_channel, bf16.attend_ns_per_pair_channel * 2);
  EXPECT_DOUBLE_EQ(fp32.move_ns_per_byte, bf16.move_ns_per_byte) << "a byte is a byte";
}

TEST(ProfileLayers, TheImplementationAddsPassesAndHostTime) {
  RunConfig config = config_on("a100x8");
  const KernelCostProfile compiled = resolved(config).preset.cost;
  config.run.implementation = "eager";
  const KernelCostProfile eager = resolved(config).preset.cost;
  EXPECT_GT(eager.elementwise_passes, compiled.elementwise_passes);
  EXPECT_GT(eager.rotary_passes, compiled.rotary_passes);
  EXPECT_GT(eager.host_ns_per_launch, compiled.host_ns_per_launch);
  EXPECT_EQ(eager.gemm_ns_per_flop, compiled.gemm_ns_per_flop);
  // Models that do not rotate, or neither norm nor rotate, q and k.
  config.model.preset = "cogvideox-2b";
  EXPECT_EQ(resolved(config).preset.cost.rotary_passes, eager.elementwise_passes);
  config.model.preset = "pixart-alpha";
  EXPECT_EQ(resolved(config).preset.cost.rotary_passes, 0);
  config.run.implementation = "eagre";
  const std::string fault = fault_of(config);
  EXPECT_NE(fault.find("run.implementation: "), std::string::npos) << fault;
  EXPECT_NE(fault.find("did you mean \"eager\"?"), std::string::npos) << fault;
}

// 81 frames of 720 x 1280 are 74.6 Mpixel: the first frame, and 4 for each of the 20 that follow.
TEST(ProfileLayers, OutsideIsARunAndItsPixels) {
  const OutsideNumbers& numbers = find_implementation("compiled")->outside.at("video");
  const double seconds = find_implementation("compiled")->vae.at("wan").mpixel_s.value;
  const double expected_ns = 1e9 * (numbers.per_run_s.value + seconds * 81 * 0.72 * 1.28);
  const ClusterPreset cluster = resolved(config_on("a100x8")).preset;
  EXPECT_NEAR(cluster.outside.per_run_ns, expected_ns, 1e-9 * expected_ns);
  const double on_h100 = resolved(config_on("h100x8")).preset.outside.per_run_ns - 1e9 * numbers.per_run_s.value;
  EXPECT_NEAR(on_h100, (expected_ns - 1e9 * numbers.per_run_s.value) * std::sqrt(312.0 / 989), 1);
}

constexpr std::string_view kLayered = R"(name = "mine"
note = ""
gpu = "l20"
implementation = "eager"
gpus_per_node = 4
[network]
provenance = "assumed"
link_gbps = { value = 20.0, source = "mine" }
intra_latency_ns = { value = 5000.0, source = "mine" }
compute_slowdown = { value = 1.0, source = "mine" }
[device]
memory_gib = { value = 40.0, source = "some of it is taken" }
)";

TEST(LayeredClusterFile, TakesWhatItDoesNotGiveFromTheGpu) {
  const auto read = parse_cluster(kLayered, "mine.toml");
  ASSERT_TRUE(read.has_value()) << render(read.error());
  EXPECT_TRUE(read->layered);
  EXPECT_EQ(read->device.memory_gib, 40);
  EXPECT_EQ(read->device.dense_bf16_tflops, find_gpu("l20")->dense_bf16_tflops.value);
  EXPECT_EQ(read->cost.elementwise_passes, find_implementation("eager")->elementwise_passes.value);
  EXPECT_EQ(*parse_cluster(cluster_toml(*read), "again"), *read);
  std::string text(kLayered);
  const auto other = parse_cluster(text.replace(text.find("l20"), 3, "l21"), "mine.toml");
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(render(other.error()).find("\"l21\" is not a GPU that is known"), std::string::npos);
}

TEST(FlatClusterFile, CannotChooseAKernel) {
  RunConfig config = config_on("local");
  config.run.attention_kernel = "fa3";
  const std::string fault = fault_of(config);
  EXPECT_NE(fault.find("run.attention_kernel: "), std::string::npos) << fault;
  EXPECT_NE(fault.find("gpu = \"h100\""), std::string::npos) << fault;
}

}  // namespace
}  // namespace spscope
