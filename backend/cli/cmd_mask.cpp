// `spscope mask info|generate|import`: block masks without a run.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "backend/base/nearest_name.h"
#include "backend/cli/command.h"
#include "backend/cli/flag_values.h"
#include "backend/cli/replaceable.h"
#include "backend/mask/mask_import.h"
#include "backend/mask/pattern.h"
#include "backend/mask/statistics.h"

namespace spscope {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
constexpr int kAssumedBlock = 64;
constexpr int kMaxPlace = 9999;  // denoise steps and layers, as in a config

struct MaskFlags {
  std::string input, output, array, starts;
  int step = 0, layer = 0;
  int block = 0;  // 0: not given
  std::int64_t tokens = 0;
  bool force = false;
  PatternRequest request;
  std::vector<int> grid = {4, 16, 16};
  std::vector<std::string> settings;  // key=value of the pattern
};

// Cuts into blocks of --block tokens.
std::vector<std::int32_t> uniform_cuts(std::int64_t tokens, int block) {
  if (tokens < 1 || tokens > kMaxTokens)
    throw Error(ErrorCode::kUsage, fmt::format("a sequence of {} tokens is outside [1, {}]", tokens, kMaxTokens),
                "--tokens is the length of the sequence");
  return BlockMask::uniform_starts(static_cast<std::int32_t>(tokens), block);
}

int block_or_assumed(const MaskFlags& flags) { return flags.block > 0 ? flags.block : kAssumedBlock; }

BlockMask read_mask(CommandContext& context, const MaskFlags& flags) {
  const MaskFile file(flags.input, flags.array, MaskUser::kFlags, context.max_memory_bytes);
  const std::vector<std::int32_t>& cuts = file.block_starts();
  if (flags.tokens != 0) file.require_tokens(flags.tokens);
  if (!cuts.empty() && flags.block == 0) return file.mask(flags.step, flags.layer);
  if (flags.block == 0)
    fmt::print(context.err, "assuming blocks of {} tokens: give --block when they have another size\n", kAssumedBlock);
  const int block = block_or_assumed(flags);
  // Without a length, whole blocks: right for every figure but the weight of a ragged last block.
  const std::int64_t blocks = std::max(file.q_blocks(), file.k_blocks());
  const std::int64_t tokens = flags.tokens != 0 ? flags.tokens : cuts.empty() ? blocks * block : cuts.back();
  return file.mask(flags.step, flags.layer, uniform_cuts(tokens, block));
}

// "16 blocks of 64 tokens", with the last when it is ragged.
std::string block_text(const BlockMask& mask) {
  const Span first = mask.block(0), last = mask.block(mask.blocks() - 1);
  const std::string text = fmt::format("{} blocks of {} tokens", mask.blocks(), first.size());
  return first.size() == last.size() ? text : fmt::format("{}, the last of {}", text, last.size());
}

// One character a head, from empty to full.
std::string density_bar(const std::vector<double>& densities) {
  static constexpr const char* levels[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string bar;
  for (double d : densities) bar += levels[std::clamp(static_cast<int>(d * 8.999), 0, 8)];
  return bar;
}

json info_json(const BlockMask& mask, const MaskStatistics& s) {
  json splits = json::array();
  for (int degree = 2; degree <= 16; degree *= 2) {
    json row = {{"degree", degree}};
    if (degree <= mask.heads()) row["ulysses_imbalance_ratio"] = split_imbalance(mask, degree, 1).plain;
    if (degree <= mask.blocks()) {
      const SplitImbalance ring = split_imbalance(mask, 1, degree);
      row["ring_imbalance_ratio"] = ring.plain;
      row["ring_barrier_imbalance_ratio"] = ring.barrier;
    }
    splits.push_back(std::move(row));
  }
  return {{"schema_version", 1},
          {"heads", mask.heads()},
          {"tokens", mask.tokens()},
          {"blocks", mask.blocks()},
          {"density", s.density},
          {"head_density", s.head_density},
          {"head_cv", s.head_cv},
          {"active_tiles", s.active_tiles},
          {"empty_rows", s.empty_rows},
          {"row_histogram", s.row_histogram},
          {"column_histogram", s.column_histogram},
          {"splits", std::move(splits)},
          {"hash", fmt::format("{:016x}", mask.hash())}};
}

void print_info(CommandContext& context, const BlockMask& mask) {
  const MaskStatistics s = describe(mask);
  const json facts = info_json(mask, s);
  if (context.json) {
    fmt::print(context.out, "{}\n", facts.dump(2));
    return;
  }
  fmt::print(context.out, "{} heads, {} tokens in {}\n", mask.heads(), mask.tokens(), block_text(mask));
  fmt::print(context.out, "density {:.3f}, {} active tiles, spread over heads {:.2f} (standard deviation / mean)\n",
             s.density, s.active_tiles, s.head_cv);
  const auto [lowest, highest] = std::ranges::minmax(s.head_density);
  fmt::print(context.out, "heads   {}  from {:.3f} to {:.3f}; · is empty, █ is full\n", density_bar(s.head_density),
             lowest, highest);
  if (s.empty_rows > 0)
    fmt::print(context.out, "{} rows of blocks have no key at all: their output is 0\n", s.empty_rows);
  fmt::print(context.out, "\nbusiest rank over mean   {:>8} {:>8} {:>14}\n", "ulysses", "ring", "ring, stepwise");
  const auto cell = [](const json& row, const char* key) {
    return row.contains(key) ? fmt::format("{:.3f}", row[key].get<double>()) : std::string("-");
  };
  for (const json& row : facts["splits"])
    fmt::print(context.out, "{:>9} ranks          {:>8} {:>8} {:>14}\n", row["degree"].get<int>(),
               cell(row, "ulysses_imbalance_ratio"), cell(row, "ring_imbalance_ratio"),
               cell(row, "ring_barrier_imbalance_ratio"));
}

// Before anything is read or made.
void check_output(const MaskFlags& flags) {
  if (flags.output.empty()) return;
  if (std::filesystem::path(flags.output).extension() != ".npy")
    throw Error(ErrorCode::kUsage, fmt::format("-o \"{}\" does not end in .npy", flags.output),
                "masks are written in the format of numpy.save, and read by the ending of their name");
  for (const std::string& path : {flags.output, starts_path_of(flags.output)}) require_replaceable(path, flags.force);
}

int write_and_report(CommandContext& context, const BlockMask& mask, const std::string& output) {
  if (!output.empty()) {
    write_mask_npy(mask, output, starts_path_of(output));
    fmt::print(context.err, "wrote {} and {}\n", output, starts_path_of(output));
  }
  print_info(context, mask);
  return kExitDone;
}

int generate(CommandContext& context, MaskFlags& flags) {
  check_output(flags);
  const Pattern* pattern = find_pattern(flags.input);
  if (!pattern) {
    std::vector<std::string_view> names;
    for (const Pattern& p : patterns()) names.push_back(p.name);
    const std::string near = nearest_name(flags.input, names);
    throw Error(ErrorCode::kConfigUnknownName, fmt::format("there is no pattern \"{}\"", flags.input),
                near.empty() ? fmt::format("patterns are {}", fmt::join(names, ", "))
                             : fmt::format("did you mean \"{}\"?", near));
  }
  std::vector<Problem> problems;
  if (flags.grid.size() != 3)
    problems.push_back({ErrorCode::kUsage, "--grid", "it needs three numbers: frames,height,width", "", {}});
  else
    std::copy(flags.grid.begin(), flags.grid.end(), flags.request.grid.begin());
  const std::vector<Parameter> rows = pattern->parameters();
  flags.request.parameters = Parameters(rows);
  for (const std::string& setting : flags.settings) {
    const std::size_t equals = setting.find('=');
    set_parameter(flags.request.parameters, rows, setting.substr(0, equals),
                  equals == std::string::npos ? std::string_view() : std::string_view(setting).substr(equals + 1),
                  pattern->name, problems);
  }
  flags.request.block = block_or_assumed(flags);
  flags.request.denoise_step = flags.step;
  flags.request.layer = flags.layer;
  flags.request.layers = std::max(flags.request.layers, flags.layer + 1);
  flags.request.denoise_steps = std::max(flags.request.denoise_steps, flags.step + 1);
  if (problems.empty())
    for (Problem& p : pattern->check(flags.request)) problems.push_back(std::move(p));
  if (!problems.empty()) throw Error(std::move(problems));
  return write_and_report(context, pattern->generate(flags.request), flags.output);
}

int show(CommandContext& context, MaskFlags& flags) {
  print_info(context, read_mask(context, flags));
  return kExitDone;
}

int import_mask(CommandContext& context, MaskFlags& flags) {
  check_output(flags);
  return write_and_report(context, read_mask(context, flags), flags.output);
}

void declare_generate(CLI::App& app, const std::shared_ptr<MaskFlags>& flags) {
  app.add_option("pattern", flags->input, "name of a pattern (spscope list patterns)")->required();
  app.add_option("--grid", flags->grid, "frames,height,width in tokens")->delimiter(',')->default_str("4,16,16");
  app.add_option("--text-tokens", flags->request.text_tokens, "text tokens after the video tokens")
      ->capture_default_str();
  app.add_option("--heads", flags->request.heads, "number of heads")->capture_default_str();
  app.add_option("--density", flags->request.density, "active share of the mask, above 0 and at most 1")
      ->capture_default_str();
  app.add_option("--seed", flags->request.seed, "seed of the pattern")->capture_default_str();
  app.add_option("--set", flags->settings, "key=value of the pattern; may repeat");
  app.footer(
      "The keys of --set are those that `spscope list patterns` shows below the pattern.\n\n"
      "  spscope mask generate window --grid 4,16,16 --heads 8 --set radius=2\n"
      "  spscope mask generate paro --grid 21,45,80 --heads 40 --density 0.4 -o masks/paro.npy");
}

void declare_place(CLI::App& app, const std::shared_ptr<MaskFlags>& flags, const char* meaning) {
  take_integer(app.add_option("--block", flags->block, "tokens a block")->default_str(std::to_string(kAssumedBlock)), 1,
               kMaxBlockTokens, "INT");
  take_integer(
      app.add_option("--step", flags->step, fmt::format("denoise step {}, from 0", meaning))->capture_default_str(), 0,
      kMaxPlace, "INT");
  take_integer(app.add_option("--layer", flags->layer, fmt::format("layer {}, from 0", meaning))->capture_default_str(),
               0, kMaxPlace, "INT");
}

void declare_input(CLI::App& app, const std::shared_ptr<MaskFlags>& flags) {
  app.add_option("file", flags->input, ".npy, .npz or .safetensors with 0 and 1")->required();
  app.add_option("--array", flags->array, "name of the array, where the file has several");
  app.add_option("--tokens", flags->tokens, "tokens of the sequence, where the last block is not whole");
}

void declare_output(CLI::App& app, const std::shared_ptr<MaskFlags>& flags, bool required) {
  app.add_option("-o,--output", flags->output, "write NAME.npy, and its cuts as NAME.block_starts.npy beside it")
      ->required(required);
  app.add_flag("--force", flags->force, "replace files that exist; never a stored run");
}

}  // namespace

CommandAction declare_mask(CLI::App& app) {
  auto flags = std::make_shared<MaskFlags>();
  auto action = std::make_shared<CommandAction>();
  app.require_subcommand(1);
  CLI::App* info = app.add_subcommand("info", "density, spread over heads, and how uneven a split would be");
  CLI::App* make = app.add_subcommand("generate", "make a mask of a pattern");
  CLI::App* import = app.add_subcommand("import", "read a mask of another program and write it as .npy");
  for (CLI::App* sub : {info, import}) {
    declare_input(*sub, flags);
    declare_place(*sub, flags, "to take");
  }
  info->footer(
      "The cuts of a mask come from an array block_starts in the file or from NAME.block_starts.npy beside NAME.npy.\n"
      "Without them blocks have --block tokens.\n\n"
      "  spscope mask info masks.npz --array mask --block 128 --layer 3");
  import->footer("  spscope mask import sparge.npz --array lut --step 10 --layer 3 --tokens 75600 -o masks/sparge.npy");
  declare_generate(*make, flags);
  declare_place(*make, flags, "that is made");
  declare_output(*make, flags, false);
  declare_output(*import, flags, true);
  const auto bind = [&](CLI::App* sub, int (*command)(CommandContext&, MaskFlags&)) {
    sub->callback([=] { *action = [=](CommandContext& context) { return command(context, *flags); }; });
  };
  bind(info, show);
  bind(make, generate);
  bind(import, import_mask);
  return [action](CommandContext& context) { return (*action)(context); };
}

}  // namespace spscope
