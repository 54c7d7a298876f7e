// Config files: every problem named with its place, overrides under the same rules, canonical text and hash.
#include "backend/config/config_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "backend/config/config_fields.h"

namespace spscope {
namespace {

const NameLists kNames = {
    .patterns = {"dense", "sparge", "paro"},
    .strategies = {"ulysses", "ring", "usp"},
    .executors = {{"cpu", "threads", {"memory"}}, {"cpu", "mpi", {"mpi"}}, {"gpu", "mpi", {"nccl"}}}};

std::vector<Problem> load_problems(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const std::string path = testing::TempDir() + "spscope-config-text-test.toml";
  std::ofstream(path) << text;
  auto loaded = load_config(path, overrides, kNames);
  std::filesystem::remove(path);
  return loaded.has_value() ? std::vector<Problem>() : loaded.error().problems();
}

// What is wrong with a config, as it is printed.
std::string faults(const RunConfig& config, const NameLists& names = kNames) {
  const std::vector<Problem> problems = validate(config, names);
  return problems.empty() ? "" : render(Error(problems));
}

TEST(RunConfig, DefaultsAreValid) {
  EXPECT_TRUE(validate(RunConfig(), kNames).empty());
  auto loaded = load_config("", {}, kNames);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->config, RunConfig());
  const ResolvedConfig resolved = resolve(RunConfig());
  EXPECT_EQ(resolved.model.tokens(), 784);
  EXPECT_EQ(resolved.cluster.ranks, 4);
}

TEST(ReadConfig, SetsEveryKindOfValue) {
  const ReadConfig read = parse_config(
      "[model]\ngrid = [2, 4, 6]\nactivations = \"photo.npz\"\n[mask]\ndensity = 1\nseed = 9000000000000000000\n"
      "[mask.sparge]\nkappa = 10.5\nsticky = true\n[run]\nmode = \"project\"\ndtype = \"fp32\"\n"
      "strategies = [\"ring\", \"usp:ulysses=2,ring=2\"]\n[strategy.usp]\nulysses = 2\nranks = \"strided\"\n",
      "a.toml");
  ASSERT_TRUE(read.problems.empty()) << render(Error(read.problems));
  EXPECT_EQ(read.config.model.grid, (TokenGrid{2, 4, 6}));
  EXPECT_EQ(read.config.mask.density, 1.0);
  EXPECT_EQ(read.config.mask.seed, 9000000000000000000u);
  EXPECT_EQ(read.config.run.mode, RunMode::kProject);
  EXPECT_EQ(read.config.run.dtype, Dtype::kFp32);
  EXPECT_EQ(read.config.pattern_parameters.at("sparge"), (ParameterTexts{{"kappa", "10.5"}, {"sticky", "true"}}));
  EXPECT_EQ(read.config.strategy_parameters.at("usp"), (ParameterTexts{{"ulysses", "2"}, {"ranks", "strided"}}));
  const StrategyChoice choice = strategy_choice(read.config, "usp:ulysses=4");
  EXPECT_EQ(choice.name, "usp");
  EXPECT_EQ(choice.parameters, (ParameterTexts{{"ulysses", "4"}, {"ranks", "strided"}}));
}

TEST(ReadConfig, ValuesThatContradictEachOtherAreNamedWhereOneOfThemStands) {
  const auto problems = load_problems(
      "[model]\nactivations = \"qkv.npz\"\n[run]\nscope = \"layer\"\n"
      "[cluster]\npreset = \"a800x8\"\ndp = 3\n");
  ASSERT_EQ(problems.size(), 2u);
  for (const auto& [field, line, column] : {std::tuple("run.scope", 4, 9), std::tuple("cluster.dp", 7, 6)}) {
    const auto found = std::ranges::find(problems, field, &Problem::field);
    ASSERT_NE(found, problems.end()) << field;
    EXPECT_EQ(found->code, ErrorCode::kConfigConflict);
    EXPECT_EQ(std::pair(found->place.line, found->place.column), std::pair(line, column)) << field;
  }
}

TEST(ReadConfig, SectionsOfUnknownPatternsAndStrategiesAreProblems) {
  const auto problems = load_problems("[mask.spargee]\nx = 1\n[strategy.ulises]\ny = 2\n[mask.density]\nz = 3\n");
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].field, "mask.density.z");
  EXPECT_EQ(problems[1].hint, "did you mean \"sparge\"?");
  EXPECT_EQ(problems[1].place.line, 2) << "the first key of the section";
  EXPECT_EQ(problems[2].hint, "did you mean \"ulysses\"?");
}

TEST(ReadConfig, InputPathsStartAtTheFolderOfTheFile) {
  RunConfig config;
  config.folder = "samples/photo";
  EXPECT_EQ(input_path(config, "qkv.npz"), "samples/photo/qkv.npz");
  EXPECT_EQ(input_path(config, "/data/qkv.npz"), "/data/qkv.npz");
}

TEST(Validate, TemporalPatternNeedsASpatiotemporalModel) {
  RunConfig config;
  config.mask.temporal_pattern = "dense";
  ASSERT_EQ(validate(config, kNames).size(), 1u);
  EXPECT_EQ(validate(config, kNames)[0].field, "mask.temporal_pattern");
  config.model.preset = "st-mini";
  EXPECT_TRUE(validate(config, kNames).empty());
}

TEST(Validate, CatchesWhatNoSingleKeyShows) {
  const auto count = [](auto&& change) {
    RunConfig config;
    change(config);
    return validate(config, kNames).size();
  };
  EXPECT_EQ(count([](RunConfig& c) { c.mask.density = 0; }), 1u);
  EXPECT_EQ(count([](RunConfig& c) { c.run.layers = 5; }), 1u);
  EXPECT_EQ(count([](RunConfig& c) { c.run.layers = LayerChoice::of({4}); }), 1u) << "the last of four is layer 3";
  EXPECT_EQ(count([](RunConfig& c) { c.run.strategies = {"all", "all:ulysses=2"}; }), 1u);
  EXPECT_EQ(count([](RunConfig& c) { c.run.strategies = {"usp:ulysses"}; }), 1u);
  EXPECT_EQ(count([](RunConfig& c) { c.run.strategies = {"usp:", "usp:=2", "ring:a=", "", "usp:a=1,"}; }), 5u);
  EXPECT_EQ(count([](RunConfig& c) { c.cluster.profile = "/nonexistent.toml"; }), 1u);
  EXPECT_EQ(count([](RunConfig& c) { c.mask.file = "m.npy", c.mask.pattern = "unknown"; }), 1u);
}

TEST(Validate, CollectorsAreAutoOrNoneAloneOrNames) {
  NameLists names = kNames;
  names.collectors = {"cupti", "nvml"};
  const auto problems = [&](std::vector<std::string> collect, RunMode mode = RunMode::kExecute) {
    RunConfig config;
    config.run.collect = std::move(collect);
    config.run.mode = mode;
    return faults(config, names);
  };
  EXPECT_EQ(problems({"auto"}), "");
  EXPECT_EQ(problems({"none"}, RunMode::kSimulate), "");
  EXPECT_EQ(problems({"nvml", "cupti"}), "");
  EXPECT_EQ(problems({"cuptu"}),
            "error SPS-005: run.collect: \"cuptu\" is not a collector\n  did you mean \"cupti\"?\n");
  EXPECT_EQ(problems({"cupti", "auto"}),
            "error SPS-006: run.collect: \"auto\" stands beside names of collectors\n  use it alone, as in --set "
            "run.collect=auto, or leave it out\n");
  EXPECT_EQ(problems({"cupti"}, RunMode::kSimulate),
            "error SPS-006: run.collect: collectors watch devices while ranks run on them, which mode = simulate does "
            "not\n  use run.mode = execute, or leave run.collect out\n");
}

TEST(Override, HasTheChecksOfTheFile) {
  ReadConfig read;
  for (const char* assignment : {"run.dtype=fp32", "model.grid=4,14,14", "mask.density=0.25", "cluster.ranks=3",
                                 "run.strategies=ring;usp:ulysses=2,ring=2", "strategy.usp.ulysses=2",
                                 "mask.sparge.kappa=3.50", "run.output=a=b.db"})
    apply_override(read, assignment);
  ASSERT_TRUE(read.problems.empty()) << render(Error(read.problems));
  EXPECT_EQ(read.config.run.dtype, Dtype::kFp32);
  EXPECT_EQ(read.config.model.grid, (TokenGrid{4, 14, 14}));
  EXPECT_EQ(read.config.run.strategies, (std::vector<std::string>{"ring", "usp:ulysses=2,ring=2"}));
  EXPECT_EQ(read.config.strategy_parameters.at("usp").at("ulysses"), "2");
  EXPECT_EQ(read.config.pattern_parameters.at("sparge").at("kappa"), "3.50");
  EXPECT_EQ(read.config.run.output, "a=b.db");
  apply_override(read, "run.strategies=[\"ulysses\"]");
  apply_override(read, "model.grid=2x3x4");
  EXPECT_EQ(read.config.run.strategies, std::vector<std::string>{"ulysses"});
  EXPECT_EQ(read.config.model.grid, (TokenGrid{2, 3, 4}));

  for (const char* assignment : {"run.dtype=fp16", "run.dtpe=fp32", "run.repeats=1.5", "run.repeats=", "model.grid=1,2",
                                 "mask.density=nan", "run.seed=99999999999999999999", "noequals", "=x", "run=3",
                                 "run.strategies=[\"a\"]\nrun.x=1", "run.strategies=[\"a"})
    apply_override(read, assignment);
  EXPECT_EQ(read.problems.size(), 12u) << render(Error(read.problems));
  EXPECT_EQ(read.problems[0].place.file, "--set run.dtype=fp16");
}

TEST(Override, RepairsTheKeyItReplaces) {
  EXPECT_TRUE(load_problems("[run]\nlayers = 3\n", {"run.layers=2"}).empty());
  EXPECT_EQ(load_problems("[run]\nlayers = 99\n").size(), 1u);
  EXPECT_TRUE(load_problems("[run]\nlayers = 99\n", {"run.layers=1"}).empty());
}

RunConfig unusual() {
  RunConfig config;
  config.model.preset = "cogvideox-5b";
  config.model.grid = {3, 5, 7};
  config.model.text_tokens = 0;
  config.model.activations = "a \"quoted\"\\path\n.npz";
  config.mask.density = 0.1 + 0.2;
  config.mask.seed = 9007199254740993u;  // not a double
  config.run.mode = RunMode::kSimulate;
  config.run.strategies = {"ring", "usp:ulysses=3,ring=2"};
  config.run.verify = VerifyExtent::kOff;
  config.pattern_parameters["paro"] = {{"kappa", "1e-05"}, {"text", "007"}, {"flag", "true"}};
  config.strategy_parameters["usp"] = {{"ulysses", "4"}, {"a key", "x=\"y\""}};
  return config;
}

TEST(CanonicalText, ReadsBackAsAnEqualConfig) {
  for (const RunConfig& config : {RunConfig(), unusual()}) {
    const std::string text = runnable_toml(config);
    ReadConfig read = parse_config(text, "canonical");
    ASSERT_TRUE(read.problems.empty()) << render(Error(read.problems)) << text;
    EXPECT_EQ(runnable_toml(read.config), text);
    read.config.model.activations = config.model.activations;  // absolute in the text
    EXPECT_EQ(read.config, config) << text;
  }
}

// Guards the promise that a hash outlives releases: these texts are written in databases.
TEST(ConfigHash, IsStable) {
  RunConfig oldest;  // with the default strategies of the first hashes
  oldest.run.strategies = {"ulysses", "ring", "usp:ulysses=2,ring=2"};
  EXPECT_EQ(config_hash(oldest), "cbf29ce484222325");  // FNV-1a of nothing
  RunConfig config = oldest;
  config.run.repeats = 7;
  config.run.dtype = Dtype::kFp32;
  // FNV-1a of "[run]\nrepeats = 7\ndtype = \"fp32\"\n".
  EXPECT_EQ(config_hash(config), "e549d76cbb0b16a6");
}

TEST(ConfigHash, IgnoresOrderAndOutputsOnly) {
  const auto hash = [](const char* text) { return config_hash(parse_config(text, "t").config); };
  EXPECT_EQ(hash("[run]\nseed = 2\nrepeats = 3\n[mask]\nblock = 32\n"),
            hash("[mask]\nblock = 32\n[run]\nrepeats = 3\nseed = 2\noutput = \"x.db\"\nscratch = \"/tmp\"\n"));
  RunConfig other = unusual();
  const std::string before = config_hash(other);
  for (const FieldRow& row : config_fields()) {
    if (row.role == FieldRole::kOutputPath) continue;
    RunConfig changed = other;
    std::visit(
        [](auto* value) {
          using T = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_enum_v<T>)
            *value = *value == T{} ? T{1} : T{};
          else if constexpr (std::is_same_v<T, TokenGrid>)
            (*value)[1] += 1;
          else if constexpr (std::is_same_v<T, std::vector<std::string>>)
            value->push_back("x");
          else if constexpr (std::is_same_v<T, std::string>)
            *value += "x";
          else if constexpr (std::is_same_v<T, LayerChoice>)
            *value = LayerChoice::spread(3);
          else
            *value += 1;
        },
        row.ref(changed));
    EXPECT_NE(config_hash(changed), before) << row.name;
  }
  other.strategy_parameters["usp"]["ulysses"] = "8";
  EXPECT_NE(config_hash(other), before);
  // The same file, named from the folder of the config and by its whole path.
  EXPECT_EQ(hash("[mask]\nfile = \"../masks/m.npy\"\n"), hash("[mask]\nfile = \"/data/masks/m.npy\"\n"));
  EXPECT_NE(hash("[mask]\nfile = \"../masks/m.npy\"\n"), hash("[mask]\nfile = \"../masks/n.npy\"\n"));
  // A folder, however it is written, is not nothing.
  for (const char* folder : {"../masks/", "masks/.", "/data/masks", "masks/steps/..//"})
    EXPECT_EQ(hash(("[mask]\nfile = \"" + std::string(folder) + "\"\n").c_str()), hash("[mask]\nfile = \"masks\"\n"))
        << folder;
  EXPECT_NE(hash("[mask]\nfile = \"masks/\"\n"), hash(""));
}

}  // namespace
}  // namespace spscope
