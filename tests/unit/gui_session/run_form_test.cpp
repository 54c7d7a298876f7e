// The form of a run: texts to config and back, and commands that ask for the same as the form.
#include "gui/launch/run_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "backend/config/config_fields.h"
#include "backend/config/validate.h"
#include "gui/launch/advice.h"
#include "gui/launch/child.h"
#include "gui/launch/command_text.h"
#include "gui/launch/plan_answer.h"
#include "gui/launch/presets.h"

namespace spscope::gui {
namespace {

const std::string kProgram = std::string(SPSCOPE_BINARY_DIR) + "/bin/spscope";
const Cancelled kNever;

// A text for the key that differs from its default.
std::string other_text(const FieldRow& row, std::mt19937& random) {
  const std::vector<std::string_view> choices = field_choices(row);
  const std::string_view type = field_type(row);
  if (!choices.empty()) return std::string(choices[random() % choices.size()]);
  if (type == "three integers") return "[3, 6, " + std::to_string(1 + random() % 9) + "]";
  if (type == "layers") return random() % 2 == 0 ? "[0, 2]" : "spread:2";
  if (type == "list of texts") return R"(["ring", "usp:ulysses=2,ring=2", "it's \"odd\""])";
  if (type == "real") return "0.25";
  if (row.role == FieldRole::kInputPath) return "/a [b] 'c' \"d\" $e";
  if (type == "text") return random() % 2 == 0 ? "[a 'b' \"c\" $d" : "plain";
  return std::to_string(static_cast<int>(row.min) + 1);
}

TEST(RunForm, BeginsWithTheDefaults) {
  const RunForm form;
  EXPECT_EQ(form.config(), RunConfig());
  EXPECT_TRUE(form.changed_keys().empty());
  EXPECT_TRUE(form.problems().empty());
  for (const FieldRow& row : config_fields())
    EXPECT_EQ(form.text(row.name), typed_text(row.name, RunConfig())) << row.name;
}

TEST(RunForm, EveryKeyCanBeSetAndGoesThroughToml) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    RunForm form;
    for (const FieldRow& row : config_fields())
      if (random() % 2 == 0) form.set(row.name, other_text(row, random));
    if (form.changed("mask.file"))  // keys of patterns are refused beside it
      for (const std::string_view key : keys_unused_beside_mask_file()) form.reset(key);
    form.set("strategy.usp.ulysses", "2");
    form.set("mask.sparge.cdf", "0.8");
    for (const FieldRow& row : config_fields())
      EXPECT_EQ(typed_text(row.name, form.config()), form.text(row.name)) << row.name;
    const ReadConfig read = parse_config(form.toml(), "form");
    EXPECT_TRUE(read.problems.empty()) << render(read.problems.front());
    EXPECT_EQ(read.config, form.config());
    // What --set reads is what the form says.
    ReadConfig typed;
    const std::vector<std::string> words = form.arguments();
    for (std::size_t i = 0; i + 1 < words.size(); i += 2)
      if (words[i] == "--set") apply_override(typed, words[i + 1]);
    typed.config.run.strategies = form.config().run.strategies;
    EXPECT_EQ(config_hash(typed.config), config_hash(form.config()));
  }
}

TEST(RunForm, AConfigComesBackAsItIs) {
  ReadConfig read = read_config(std::string(SPSCOPE_SOURCE_DIR) + "/samples/photo.toml");
  RunForm form;
  form.load(read.config);
  RunConfig expected = read.config;
  expected.mask.file = std::string(SPSCOPE_SOURCE_DIR) + "/samples/photo_mask.npy";
  expected.model.activations = std::string(SPSCOPE_SOURCE_DIR) + "/samples/photo_qkv.safetensors";
  expected.folder.clear();
  EXPECT_EQ(form.config(), expected);
  EXPECT_TRUE(form.changed("mask.file"));
  EXPECT_FALSE(form.changed("run.repeats"));  // the file says what is the default
  form.reset("mask.file");
  EXPECT_EQ(form.config().mask.file, "");
}

TEST(RunForm, AnInputIsTheSameFileInEveryFolder) {
  RunForm form;
  form.set("mask.file", "masks/../mine.npy");
  EXPECT_EQ(form.text("mask.file"), "masks/../mine.npy");  // as it was typed
  EXPECT_EQ(form.config().mask.file, (std::filesystem::current_path() / "mine.npy").string());
  EXPECT_EQ(form.arguments(), (std::vector<std::string>{"--set", "mask.file=" + form.config().mask.file}));
  EXPECT_EQ(form.toml().find("density"), std::string::npos);  // the mask is that of the file
}

// Whatever key is wrong, its problem is one of that key, under which the form shows it; the text stays until it is
// reset.
TEST(RunForm, AFaultOfAnyKeyIsOneOfThatKey) {
  std::set<std::string_view> take_any_text;
  for (const FieldRow& row : config_fields()) {
    RunForm form;
    form.set(row.name, "?!");
    if (form.problems().empty()) take_any_text.insert(row.name);
    for (const Problem& problem : form.problems()) EXPECT_EQ(problem.field, row.name) << problem.message;
    EXPECT_EQ(form.text(row.name), "?!");
    form.reset(row.name);
    EXPECT_TRUE(form.problems().empty()) << row.name;
  }
  // Paths, and names of which only the program has the list: it says what is wrong with them.
  EXPECT_EQ(take_any_text,
            (std::set<std::string_view>{"mask.file", "mask.pattern", "model.activations", "run.backend", "run.collect",
                                        "run.comm", "run.device", "run.output", "run.scratch", "run.strategies"}));
}

TEST(RunForm, WhatIsLeftToAPresetIsSaid) {
  RunForm form;
  form.set("model.preset", "wan2.1-t2v-14b");
  form.set("cluster.preset", "h100x8");
  EXPECT_EQ(form.from_preset("model.grid"), "[21, 45, 80]");
  EXPECT_EQ(form.from_preset("cluster.ranks"), "8");
  EXPECT_EQ(form.from_preset("model.preset"), "");
  form.set("model.grid", "[5, 8, 8]");
  EXPECT_EQ(form.from_preset("model.grid"), "");
}

TEST(RunForm, NamesAreThoseOfTheProgram) {
  RunForm form;
  form.set_strategies({"rng"});
  EXPECT_TRUE(form.problems().empty());
  Catalog catalog;
  catalog.strategies = {{.name = "ring", .summary = "", .parameters = {}}};
  form.check_names(catalog);
  ASSERT_EQ(form.problems().size(), 1U);
  EXPECT_EQ(form.problems()[0].field, "run.strategies");
  EXPECT_NE(form.problems()[0].hint.find("ring"), std::string::npos);
  form.set_strategies({});
  ASSERT_EQ(form.problems().size(), 1U);
  EXPECT_EQ(form.problems()[0].message, "no strategy is chosen");
}

TEST(CommandText, AShellReadsTheWordsThatWereMeant) {
  const std::vector<std::string> words = {"printf", "%s\\n", "plain", "two words", "it's", "$HOME `id` \"x\" \\",
                                          "",       "a\nb",  "*"};
  const ChildResult result = run_child({"/bin/sh", "-c", shell_line(words)}, kNever);
  EXPECT_EQ(result.output, "plain\ntwo words\nit's\n$HOME `id` \"x\" \\\n\na\nb\n*\n");
}

TEST(CommandText, TheCopiedCommandAsksForTheSameConfig) {
  RunForm form;
  form.set("model.grid", "[3, 6, 7]");
  form.set("run.mode", "simulate");
  form.set("run.layers", "[0, 2]");
  form.set("mask.sparge.cdf", "0.8");
  form.set_strategies({"ring", "usp:ulysses=2,ring=2"});
  const std::string line = shell_line(command_words(kProgram, {}, form)) + " --json";
  const ChildResult result = run_child({"/bin/sh", "-c", line}, kNever);
  ASSERT_EQ(result.end.code, 0) << result.errors;
  EXPECT_EQ(Json::parse(result.output)->text_or("config_hash", ""), config_hash(form.config()));
}

// What is advised can be run: as the first strategy, on the division of the ranks that was chosen.
TEST(AdvisedRun, IsThatOfTheAnswer) {
  const std::vector<std::string> words = {kProgram, "advise",
                                          "--set",  "model.preset=wan2.1-t2v-1.3b",
                                          "--set",  "cluster.preset=h100x8",
                                          "--set",  "mask.pattern=dense",
                                          "--json"};
  const auto advice = read_advice(run_child(words, kNever).output);
  ASSERT_TRUE(advice && !advice->sentences.empty() && advice->strategies.size() > 2);
  const auto best = std::ranges::find(advice->strategies, true, &AdvisedStrategy::is_best);
  EXPECT_TRUE(best->end_to_end_ns && best->speedup && best->imbalance);
  EXPECT_LE(advice->strategies.front().layer_ns, advice->strategies.back().layer_ns);
  std::vector<std::string> run = advised_run(words, *advice, "");
  run.resize(run.size() - 2);  // without an output: it is planned only
  run[1] = "plan";
  run.push_back("--json");
  const ChildResult planned = run_child(run, kNever);
  ASSERT_EQ(planned.end.code, 0) << shell_line(run) << planned.errors;
  EXPECT_EQ(Json::parse(planned.output)->find("strategies")->begin()->text_or("label", ""), best->label);
  EXPECT_FALSE(read_advice("fastest: ring"));
}

TEST(CommandText, ASweepNamesItsKeysAndItsTable) {
  RunForm form;
  form.set("run.output", "/here/table.csv");
  form.set_strategies({"ring"});
  const Task task = {.verb = Verb::kSweep, .over = " cluster.ranks=2,4  mask.density=0.2,0.4 ", .replace = true};
  EXPECT_EQ(shell_line(command_words("spscope", task, form)),
            "spscope sweep -s ring --over cluster.ranks=2,4 --over mask.density=0.2,0.4 -o /here/table.csv --force");
}

TEST(CommandText, AScriptForSlurmHoldsTheConfig) {
  RunForm form;
  form.set("cluster.preset", "ndr-h100-xN");
  form.set("cluster.ranks", "16");
  form.set("run.threads_per_rank", "3");
  form.set("run.output", "it's here.db");
  const std::string script = sbatch_script(form);
  EXPECT_NE(script.find("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n#SBATCH --cpus-per-task=3\n"),
            std::string::npos)
      << script;
  EXPECT_NE(script.find("--launcher mpi"), std::string::npos);
  // A shell finds nothing wrong with it, and writes the same config when it comes there.
  EXPECT_EQ(run_child({"bash", "-n", "-c", script}, kNever).end.code, 0);
  const std::string folder = ::testing::TempDir() + "/sbatch";
  std::filesystem::create_directories(folder);
  const std::string run = "cd " + folder + " && SLURM_JOB_ID=7 && srun() { :; } && sbatch() { :; }\n" + script;
  const ChildResult result = run_child({"bash", "-c", run}, kNever);
  ASSERT_EQ(result.end.code, 0) << result.errors;
  const ReadConfig read = read_config(folder + "/it's here.db.7.toml");
  EXPECT_TRUE(read.problems.empty());
  EXPECT_EQ(config_hash(read.config), config_hash(form.config()));
  std::filesystem::remove_all(folder);
}

TEST(Presets, ACommentDescribesAFile) {
  const Preset preset = described_preset(
      "# Many ranks. What they are for,\n# on two lines.\n#   spscope sweep a.toml --over cluster.ranks=16,32 -o "
      "a.csv\n\n[run]\n# not this\n");
  EXPECT_EQ(preset.title, "Many ranks");
  EXPECT_EQ(preset.description, "What they are for, on two lines.");
  EXPECT_EQ(preset.task.verb, Verb::kSweep);
  EXPECT_EQ(preset.task.over, "cluster.ranks=16,32");
  EXPECT_EQ(described_preset("[run]\n").title, "");
}

TEST(Presets, ThoseThatAreInstalledReadWithoutAFault) {
  const std::vector<Preset> presets =
      presets_in({std::string(SPSCOPE_SOURCE_DIR) + "/samples/presets", "/no/such/folder"});
  ASSERT_EQ(presets.size(), 6U);
  std::set<Verb> verbs;
  for (const Preset& preset : presets) {
    verbs.insert(preset.task.verb);
    EXPECT_FALSE(preset.description.empty()) << preset.path;
    const ReadConfig read = read_config(preset.path);
    EXPECT_TRUE(read.problems.empty()) << preset.path;
    RunForm form;
    form.load(read.config);
    EXPECT_TRUE(form.problems().empty()) << preset.path << ": " << render(form.problems().front());
    EXPECT_TRUE(read.config.mask.file.empty() || std::filesystem::exists(form.config().mask.file)) << preset.path;
  }
  EXPECT_EQ(verbs.size(), 3U);
}

// -- what `spscope plan` says, asked of the program itself

Catalog real_catalog() {
  Catalog catalog;
  catalog.strategies = catalog_rows(
      *Json::parse(run_child({kProgram, "list", "strategies", "--json"}, kNever).output)->find("strategies"));
  catalog.patterns =
      catalog_rows(*Json::parse(run_child({kProgram, "list", "patterns", "--json"}, kNever).output)->find("patterns"));
  return catalog;
}

PlanAnswer asked(const RunForm& form, const Catalog& catalog) {
  const ChildResult result = run_child(plan_words(kProgram, form, catalog), kNever);
  return read_plan(result.output, result.errors, planned_strategies(form, catalog));
}

TEST(PlanAnswer, EveryStrategyIsLegalOrSaysWhyNot) {
  const Catalog catalog = real_catalog();
  ASSERT_GE(catalog.strategies.size(), 10U);
  ASSERT_NE(catalog.parameter("strategy.usp.ulysses"), nullptr);
  EXPECT_EQ(catalog.parameter("strategy.usp.ulysses")->fallback, "0");
  EXPECT_EQ(catalog.parameter("strategy.dbsp.refine")->choices, (std::vector<std::string>{"false", "true"}));
  RunForm form;
  form.set("model.grid", "[3, 6, 7]");
  form.set_strategies({"ring", "usp:ulysses=7,ring=1"});
  const PlanAnswer answer = asked(form, catalog);
  EXPECT_TRUE(answer.problems.empty());
  ASSERT_EQ(answer.strategies.size(), planned_strategies(form, catalog).size());
  EXPECT_EQ(answer.strategies[0].asked, "ring");
  EXPECT_TRUE(answer.strategies[0].legal);
  EXPECT_GE(*answer.strategies[0].imbalance, 1);
  EXPECT_GT(*answer.strategies[0].sent_bytes, 0);
  EXPECT_GT(*answer.strategies[0].memory_bytes, 0);
  EXPECT_FALSE(answer.strategies[0].makespan_ns);  // nothing was run or modelled
  EXPECT_EQ(answer.strategies[1].asked, "usp:ulysses=7,ring=1");
  EXPECT_FALSE(answer.strategies[1].legal);
  ASSERT_FALSE(answer.strategies[1].problems.empty());
  EXPECT_NE(answer.strategies[1].problems[0].message.find("7"), std::string::npos);
  EXPECT_FALSE(answer.strategies[1].problems[0].hint.empty());
}

TEST(PlanAnswer, SettingsThatAreTheSameHaveTheSameAnswer) {
  const Catalog catalog = real_catalog();
  RunForm form;
  form.set("model.grid", "[3, 6, 7]");
  form.set("strategy.usp.order", "cyclic");
  form.set_strategies(
      {"usp:ulysses=2,ring=2", "usp:ulysses=0", "dbsp:reward=2,ring=2", "ring", "ring:order=contiguous"});
  const PlanAnswer answer = asked(form, catalog);
  std::map<std::string, std::string> labels;
  for (const PlannedStrategy& strategy : answer.strategies) {
    labels[strategy.asked] = strategy.label;
    EXPECT_EQ(strategy.name, strategy.asked.substr(0, strategy.asked.find(':')));
  }
  EXPECT_EQ(answer.strategies.size(), 5 + catalog.strategies.size() - 1);  // ring is one of them
  EXPECT_EQ(labels["usp"], labels["usp:ulysses=0"]);
  EXPECT_NE(labels["usp"], labels["usp:ulysses=2,ring=2"]);
  EXPECT_EQ(labels["ring"], labels["ring:order=contiguous"]);
  EXPECT_NE(labels["dbsp"], labels["dbsp:reward=2,ring=2"]);
}

TEST(PlanAnswer, ASimulatedConfigHasTimes) {
  RunForm form;
  form.set("model.grid", "[3, 6, 7]");
  form.set("run.mode", "simulate");
  form.set("run.denoise_steps", "9");  // one is planned
  form.set_strategies({"all"});
  const PlanAnswer answer = asked(form, {});
  ASSERT_GT(answer.strategies.size(), 1U);
  EXPECT_EQ(answer.layer_passes, 4);
  for (const PlannedStrategy& strategy : answer.strategies) {
    EXPECT_EQ(strategy.asked, "all");
    if (strategy.legal) {
      EXPECT_GT(strategy.makespan_ns.value_or(0), 0) << strategy.name;
    } else {
      EXPECT_FALSE(strategy.problems.empty()) << strategy.name;
    }
  }
}

TEST(PlanAnswer, WhatIsNoAnswerIsAProblem) {
  const PlanAnswer answer = read_plan("", "error SPS-201: the memory of this machine is full\n", {{"ring"}});
  ASSERT_EQ(answer.problems.size(), 1U);
  EXPECT_EQ(answer.problems[0].message, "error SPS-201: the memory of this machine is full");
  const PlanAnswer refused =
      read_plan(R"({"problems":[{"field":"mask.file","message":"no such file","hint":null}]})", "", {{"ring"}});
  ASSERT_EQ(refused.problems.size(), 1U);
  EXPECT_EQ(refused.problems[0].field, "mask.file");
}

}  // namespace
}  // namespace spscope::gui
