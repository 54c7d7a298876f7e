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
#include "backend/mask/mask_import.h"
#include "backend/mask/pattern.h"
#include "backend/mask/statistics.h"

namespace spscope {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
constexpr int kMaxPlace = 9999;  // denoise steps and layers, as in a config

struct MaskFlags {
  std::string input, output, array, starts;
  int step = 0, layer = 0, block = 64;
  std::int64_t tokens = 0;
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

BlockMask read_mask(const MaskFlags& flags) {
  const MaskFile file(flags.input, flags.array);
  if (flags.tokens != 0) return file.mask(flags.step, flags.layer, uniform_cuts(flags.tokens, flags.block));
  if (!file.block_starts().empty()) return file.mask(flags.step, flags.layer);
  // Without cuts, whole blocks: right for every figure but the weight of a ragged last block.
  const std::int64_t blocks = std::max(file.q_blocks(), file.k_blocks());
  return file.mask(flags.step, flags.layer, uniform_cuts(blocks * flags.block, flags.block));
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
  fmt::print(context.out, "heads   {}\n", density_bar(s.head_density));
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

std::string starts_path(const std::string& output) {
  const std::filesystem::path path(output);
  return (path.parent_path() / "block_starts.npy").string();
}

// The cuts of one folder are those of all its masks, so others that are there must not be replaced.
void require_same_cuts(const BlockMask& mask, const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return;
  const auto cuts = mask.coarse_starts();
  for (const Array& array : read_arrays(path))
    if (std::ranges::equal(to_integers(array, path), cuts)) return;
  throw Error(ErrorCode::kStoreExists, fmt::format("\"{}\" cuts the masks of its folder into other blocks", path),
              "write this mask to another folder");
}

int write_and_report(CommandContext& context, const BlockMask& mask, const std::string& output) {
  if (!output.empty()) {
    require_same_cuts(mask, starts_path(output));
    write_mask_npy(mask, output, starts_path(output));
    fmt::print(context.err, "wrote {} and {}\n", output, starts_path(output));
  }
  print_info(context, mask);
  return kExitDone;
}

int generate(CommandContext& context, MaskFlags& flags) {
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
  flags.request.block = flags.block;
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
  print_info(context, read_mask(flags));
  return kExitDone;
}

int import_mask(CommandContext& context, MaskFlags& flags) {
  return write_and_report(context, read_mask(flags), flags.output);
}

void declare_generate(CLI::App& app, const std::shared_ptr<MaskFlags>& flags) {
  app.add_option("pattern", flags->input, "name of a pattern (spscope list patterns)")->required();
  app.add_option("--grid", flags->grid, "frames,height,width in tokens")->delimiter(',');
  app.add_option("--text-tokens", flags->request.text_tokens, "text tokens after the video tokens");
  app.add_option("--heads", flags->request.heads, "number of heads");
  app.add_option("--density", flags->request.density, "active share of the mask, 0 to 1");
  app.add_option("--seed", flags->request.seed, "seed of the pattern");
  app.add_option("--set", flags->settings, "key=value of the pattern");
}

void declare_place(CLI::App& app, const std::shared_ptr<MaskFlags>& flags) {
  app.add_option("--block", flags->block, "tokens a block")->check(CLI::Range(1, kMaxBlockTokens));
  app.add_option("--step", flags->step, "denoise step")->check(CLI::Range(0, kMaxPlace));
  app.add_option("--layer", flags->layer, "layer")->check(CLI::Range(0, kMaxPlace));
}

void declare_input(CLI::App& app, const std::shared_ptr<MaskFlags>& flags) {
  app.add_option("file", flags->input, ".npy, .npz or .safetensors with 0 and 1")->required();
  app.add_option("--array", flags->array, "name of the array in the file");
  app.add_option("--tokens", flags->tokens, "tokens of the sequence, for a ragged last block");
}

}  // namespace

CommandAction declare_mask(CLI::App& app) {
  auto flags = std::make_shared<MaskFlags>();
  auto action = std::make_shared<CommandAction>();
  app.require_subcommand(1);
  CLI::App* info = app.add_subcommand("info", "density, spread over heads, and how uneven a split would be");
  CLI::App* make = app.add_subcommand("generate", "make a mask of a pattern");
  CLI::App* import = app.add_subcommand("import", "read a mask of another program and write it as .npy");
  for (CLI::App* sub : {info, make, import}) declare_place(*sub, flags);
  declare_input(*info, flags);
  declare_input(*import, flags);
  declare_generate(*make, flags);
  make->add_option("-o,--output", flags->output, "write mask.npy here, block_starts.npy beside it");
  import->add_option("-o,--output", flags->output, "write mask.npy here, block_starts.npy beside it")->required();
  const auto bind = [&](CLI::App* sub, int (*command)(CommandContext&, MaskFlags&)) {
    sub->callback([=] { *action = [=](CommandContext& context) { return command(context, *flags); }; });
  };
  bind(info, show);
  bind(make, generate);
  bind(import, import_mask);
  return [action](CommandContext& context) { return (*action)(context); };
}

}  // namespace spscope
