// `spscope mask info|generate|import`: block masks without a run.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>

#include "backend/base/json.h"
#include "backend/base/nearest_name.h"
#include "backend/base/printable.h"
#include "backend/base/whole_file.h"
#include "backend/cli/command.h"
#include "backend/cli/masks_of_run.h"
#include "backend/cli/replaceable.h"
#include "backend/mask/mask_import.h"
#include "backend/mask/pattern.h"
#include "backend/mask/statistics.h"

namespace spscope {
namespace {

constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
constexpr int kAssumedBlock = 64;

struct MaskFlags {
  std::string input, output, array, as = "auto", counts, starts, delta = "auto", axes;
  int step = 0, layer = 0, batch = -1;
  int block = 0, q_block = 0, key_block = 0;  // 0: not given
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

// What a file holds, and the mask of one layer and step of it.
struct ReadMask {
  BlockMask mask;
  // MaskFile::words(), which layer and step are shown where there are several, and how its blocks are cut.
  std::vector<std::string> words = {};
  std::string to_run = {};      // what a run needs to take all layers and steps; "": there is one of each
  std::string with_batch = {};  // MaskAxes::with_batch
};

ReadMask read_mask(CommandContext& context, const MaskFlags& flags) {
  const auto said = [](const std::string& text, std::string_view yes) {
    return text == "auto" ? std::nullopt : std::optional(text == yes);
  };
  const int block = block_or_assumed(flags);
  const MaskFile file(flags.input, {.array = flags.array,
                                    .lists = said(flags.as, "lut"),
                                    .counts = flags.counts,
                                    .starts = flags.starts,
                                    .delta = said(flags.delta, "yes"),
                                    .axes = flags.axes,
                                    .batch = flags.batch,
                                    .tokens = flags.tokens,
                                    .block = block,
                                    .q_block = flags.q_block,
                                    .key_block = flags.key_block,
                                    .user = MaskUser::kFlags,
                                    .max_bytes = context.max_memory_bytes});
  ReadMask read{.mask = {}, .words = {file.words()}, .with_batch = file.axes_with_batch()};
  if (file.layers() > 1 || file.denoise_steps() > 1) {
    read.words.push_back(fmt::format("shown: layer {}{}, denoise step {}", flags.layer,
                                     flags.layer == 0 ? " (the first)" : " (from 0)", flags.step));
    read.to_run = fmt::format("--set run.layers={} --set run.denoise_steps={}", file.layers(), file.denoise_steps());
  }
  const std::vector<std::int32_t>& cuts = file.block_starts();
  if (flags.tokens != 0) file.require_tokens(flags.tokens);
  const auto cut_at = [&](const std::vector<std::int32_t>& starts) {
    read.mask = file.mask(flags.step, flags.layer, starts);
    if (const std::string cut = file.cut_text(starts); !cut.empty()) read.words.push_back(cut);
    return read;
  };
  if (!cuts.empty() && flags.block == 0) return cut_at(cuts);
  if (flags.block == 0)
    context.err << fmt::format("assuming blocks of {} tokens: give --block when they have another size\n",
                               kAssumedBlock);
  // Without a length, whole blocks: right for every figure but the weight of a ragged last block.
  const std::int64_t tokens = flags.tokens != 0 ? flags.tokens
                              : cuts.empty()    ? file.whole_blocks() * block
                                                : cuts.back();
  return cut_at(uniform_cuts(tokens, block));
}

// "16 blocks of 64 tokens", with the last when it alone is shorter; "28 blocks of 8 to 64 tokens".
std::string block_text(const BlockMask& mask) {
  const int first = mask.block(0).size(), last = mask.block(mask.blocks() - 1).size();
  int least = first, most = first;
  for (std::int32_t b = 0; b + 1 < mask.blocks(); ++b) {
    least = std::min(least, mask.block(b).size());
    most = std::max(most, mask.block(b).size());
  }
  if (least != most || last > most)
    return fmt::format("{} blocks of {} to {} tokens", mask.blocks(), std::min(least, last), std::max(most, last));
  const std::string text = fmt::format("{} blocks of {} tokens", mask.blocks(), first);
  return first == last ? text : fmt::format("{}, the last of {}", text, last);
}

// One character a head, from empty to full, the first for nothing at all; of more heads than a line has room for, the
// mean of neighbours.
std::string density_bar(const std::vector<double>& densities) {
  static constexpr const char* levels[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t kMostCharacters = 96;
  const std::size_t heads = densities.size(), length = std::min(heads, kMostCharacters);
  std::string bar;
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t begin = heads * i / length, end = heads * (i + 1) / length;
    double sum = 0;
    for (std::size_t head = begin; head < end; ++head) sum += densities[head];
    const double mean = sum / static_cast<double>(end - begin);
    bar += levels[std::clamp(static_cast<int>(mean * 8.999), mean > 0 ? 1 : 0, 8)];
  }
  return heads == length ? bar : fmt::format("{}  ({} heads a character)", bar, (heads + length - 1) / length);
}

Json info_json(const BlockMask& mask, const MaskStatistics& s) {
  Json splits = Json::array();
  for (int degree = 2; degree <= 16; degree *= 2) {
    Json row = {{"degree", degree}};
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

void print_info(CommandContext& context, const ReadMask& read) {
  const BlockMask& mask = read.mask;
  const MaskStatistics s = describe(mask);
  Json facts = info_json(mask, s);
  if (!read.words.empty()) facts["read"] = fmt::format("{}", fmt::join(read.words, "; "));
  if (context.json) {
    context.out << fmt::format("{}\n", facts.sorted().dump(2));
    return;
  }
  for (const std::string& words : read.words) context.out << printable_line(words) << '\n';
  if (!read.to_run.empty()) context.out << fmt::format("a run takes all of them with {}\n", read.to_run);
  if (!read.with_batch.empty())
    context.out << fmt::format("if the file has samples of a batch: --axes {} --batch N takes one, from 0\n",
                               read.with_batch);
  context.out << fmt::format("{} head{}, {} tokens in {}\n", mask.heads(), mask.heads() == 1 ? " for all" : "s",
                             mask.tokens(), block_text(mask));
  context.out << fmt::format("density {:.3f}, {} active tiles, spread over heads {:.2f} (standard deviation / mean)\n",
                             s.density, s.active_tiles, s.head_cv);
  const auto [lowest, highest] = std::ranges::minmax(s.head_density);
  context.out << fmt::format("heads   {}  from {:.3f} to {:.3f}; · is empty, █ is full\n", density_bar(s.head_density),
                             lowest, highest);
  if (s.empty_rows > 0)
    context.out << fmt::format("{} rows of blocks have no key at all: their output is 0\n", s.empty_rows);
  context.out << fmt::format("\nbusiest rank over mean   {:>8} {:>12} {:>19}\n", "ulysses", "ring, total",
                             "ring, step by step");
  const auto cell = [](const Json& row, const char* key) {
    return row.contains(key) ? fmt::format("{:.3f}", row[key].number()) : std::string("-");
  };
  for (const Json& row : facts["splits"])
    context.out << fmt::format("{:>9} ranks          {:>8} {:>12} {:>19}\n", row["degree"].dump(),
                               cell(row, "ulysses_imbalance_ratio"), cell(row, "ring_imbalance_ratio"),
                               cell(row, "ring_barrier_imbalance_ratio"));
}

// Before anything is read or made.
void check_output(const MaskFlags& flags) {
  if (flags.output.empty()) return;
  if (std::filesystem::path(flags.output).extension() != ".npy")
    throw Error(ErrorCode::kUsage, fmt::format("-o \"{}\" does not end in .npy", flags.output),
                "masks are written in the format of numpy.save, and read by the ending of their name");
  const std::filesystem::path folder = std::filesystem::absolute(flags.output).parent_path();
  require_folder(folder.string(), "-o");  // which is made later
  if (std::error_code unknown; std::filesystem::exists(folder, unknown))
    for (const std::string& path : {flags.output, starts_path_of(flags.output)}) require_replaceable(path, flags.force);
}

int write_and_report(CommandContext& context, const ReadMask& read, const std::string& output) {
  if (!output.empty()) {
    std::error_code failed;  // a folder that cannot be made is named when the file in it cannot
    std::filesystem::create_directories(std::filesystem::path(output).parent_path(), failed);
    write_mask_npy(read.mask, output, starts_path_of(output));
    context.err << fmt::format("wrote {} and {}\n", output, starts_path_of(output));
  }
  print_info(context, read);
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
  return write_and_report(context, {pattern->generate(flags.request)}, flags.output);
}

// Where neither layer nor step is given, the first mask of the run is taken.
int show_run(CommandContext& context, const MaskFlags& flags) {
  const StoreReader reader(flags.input);
  const bool first = flags.layer == 0 && flags.step == 0;
  const MaskOfRun masks = mask_of_run(reader, first ? std::nullopt : std::optional(flags.layer),
                                      first ? std::nullopt : std::optional(flags.step));
  if (context.json) {
    context.out << fmt::format("{}\n", masks_json(masks, info_json(masks.mask, describe(masks.mask))).sorted().dump(2));
    return kExitDone;
  }
  context.out << masks_text(masks) << '\n';
  print_info(context, {masks.mask});
  if (const std::string owners = owners_text(masks); !owners.empty()) context.out << '\n' << owners;
  return kExitDone;
}

int show(CommandContext& context, MaskFlags& flags) {
  if (std::filesystem::path(flags.input).extension() == ".db") return show_run(context, flags);
  print_info(context, read_mask(context, flags));
  return kExitDone;
}

int import_mask(CommandContext& context, MaskFlags& flags) {
  check_output(flags);
  return write_and_report(context, read_mask(context, flags), flags.output);
}

std::vector<Flag> pattern_flags(MaskFlags& flags) {
  PatternRequest& request = flags.request;
  return {
      {.names = "pattern",
       .help = "name of a pattern (spscope list patterns)",
       .target = &flags.input,
       .required = true},
      {.names = "--grid",
       .help = "frames,height,width in tokens",
       .target = &flags.grid,
       .default_text = fmt::format("{}", fmt::join(flags.grid, ",")),
       .delimiter = ','},
      {.names = "--text-tokens",
       .help = "text tokens after the video tokens",
       .target = &request.text_tokens,
       .default_text = fmt::to_string(request.text_tokens)},
      {.names = "--heads",
       .help = "number of heads",
       .target = &request.heads,
       .default_text = fmt::to_string(request.heads)},
      {.names = "--density",
       .help = "active share of the mask, above 0 and at most 1",
       .target = &request.density,
       .default_text = fmt::to_string(request.density)},
      {.names = "--seed",
       .help = "seed of the pattern",
       .target = &request.seed,
       .default_text = fmt::to_string(request.seed)},
      {.names = "--set", .help = "key=value of the pattern; may repeat", .target = &flags.settings},
  };
}

// Block size and place of the mask; `meaning` ends "denoise step ...".
std::vector<Flag> place_flags(MaskFlags& flags, std::string_view meaning) {
  return {
      {.names = "--block",
       .help = "tokens a block",
       .target = &flags.block,
       .rule = IntegerBetween{1, kMaxBlockTokens},
       .default_text = fmt::to_string(kAssumedBlock)},
      {.names = "--step",
       .help = fmt::format("denoise step {}, from 0", meaning),
       .target = &flags.step,
       .rule = IntegerBetween{0, kMaxPlace},
       .default_text = fmt::to_string(flags.step)},
      {.names = "--layer",
       .help = fmt::format("layer {}, from 0", meaning),
       .target = &flags.layer,
       .rule = IntegerBetween{0, kMaxPlace},
       .default_text = fmt::to_string(flags.layer)},
  };
}

constexpr const char* kArrayFile = ".npy, .npz or .safetensors with 0 and 1, or with lists of key blocks";

std::vector<Flag> input_flags(MaskFlags& flags, std::string file_help = kArrayFile) {
  return {
      {.names = "file", .help = std::move(file_help), .target = &flags.input, .required = true},
      {.names = "--array", .help = "name of the array, where the file has several", .target = &flags.array},
      {.names = "--as",
       .help =
           "what the array holds: 0 and 1, or lists of key blocks; auto: lists where the arrays have the names of a "
           "known layout",
       .target = &flags.as,
       .rule = OneOf{{"auto", "bits", "lut"}}},
      {.names = "--counts", .help = "of lists: the array of their lengths", .target = &flags.counts},
      {.names = "--starts", .help = "of lists: the array of where they begin", .target = &flags.starts},
      {.names = "--delta",
       .help = "of lists: yes, each entry is the distance from the one before it; no, it is a key block; auto, as the "
               "layout has it, or whichever is possible, and refused when both are",
       .target = &flags.delta,
       .rule = OneOf{{"auto", "yes", "no"}}},
      {.names = "--axes",
       .help = "dimensions of the array, as batch,heads,q,k, of steps, layers, batch, heads, q and k",
       .target = &flags.axes},
      {.names = "--batch",
       .help = "entry of the batch to take, from 0",
       .target = &flags.batch,
       .rule = IntegerBetween{0, kMaxPlace}},
      {.names = "--q-block",
       .help = "tokens of a kernel's query block, a multiple of --block",
       .target = &flags.q_block,
       .rule = IntegerBetween{1, 65536}},
      {.names = "--key-block",
       .help = "tokens of a kernel's key block, a multiple of --block",
       .target = &flags.key_block,
       .rule = IntegerBetween{1, 65536}},
      {.names = "--tokens",
       .help = "tokens of the sequence, where the last block is not whole",
       .target = &flags.tokens},
  };
}

std::vector<Flag> output_flags(MaskFlags& flags, bool required) {
  return {
      {.names = "-o,--output",
       .help = "write NAME.npy, and its cuts as NAME.block_starts.npy beside it",
       .target = &flags.output,
       .required = required},
      {.names = "--force", .help = "replace files that exist; never a stored run", .target = &flags.force},
  };
}

std::vector<Flag> joined(std::initializer_list<std::vector<Flag>> parts) {
  std::vector<Flag> all;
  for (const std::vector<Flag>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Command declare_info() {
  auto flags = std::make_shared<MaskFlags>();
  return {
      .name = "info",
      .summary = "density, spread over heads, and how uneven a split would be",
      .text =
          "The cuts of a mask come from an array block_starts in the file or from NAME.block_starts.npy beside "
          "NAME.npy.\nWithout them blocks have --block tokens.\n\n"
          "Of a stored run (.db) all masks are listed, and of the one of --layer and --step, else the first, how its "
          "tiles\nare divided among ranks by each strategy: shared by several operations, redundant (computed more "
          "than "
          "once), moved\n(computed by another rank than in a contiguous split).\n\n"
          "  spscope mask info masks.npz --array mask --block 128 --layer 3\n"
          "  spscope mask info today.db --layer 3 --step 1",
      .flags =
          joined({input_flags(*flags, std::string(kArrayFile) + "; or a stored run"), place_flags(*flags, "to take")}),
      .action = [flags](CommandContext& context) { return show(context, *flags); },
  };
}

Command declare_generate() {
  auto flags = std::make_shared<MaskFlags>();
  return {
      .name = "generate",
      .summary = "make a mask of a pattern",
      .text =
          "The keys of --set are those that `spscope list patterns` shows below the pattern.\n\n"
          "  spscope mask generate window --grid 4,16,16 --heads 8 --set radius=2\n"
          "  spscope mask generate paro --grid 21,45,80 --heads 40 --density 0.4 -o masks/paro.npy",
      .flags = joined({pattern_flags(*flags), place_flags(*flags, "that is made"), output_flags(*flags, false)}),
      .action = [flags](CommandContext& context) { return generate(context, *flags); },
  };
}

Command declare_import() {
  auto flags = std::make_shared<MaskFlags>();
  return {
      .name = "import",
      .summary = "read a mask of another program and write it as .npy",
      .text =
          "  spscope mask import sparge.npz --array mask --step 10 --layer 3 --tokens 75600 -o masks/sparge.npy\n"
          "  spscope mask import sparge.npz --as lut --tokens 75600 -o masks/sparge.npy",
      .flags = joined({input_flags(*flags), place_flags(*flags, "to take"), output_flags(*flags, true)}),
      .action = [flags](CommandContext& context) { return import_mask(context, *flags); },
  };
}

}  // namespace

Command declare_mask() {
  Command command;
  command.commands = {declare_info(), declare_generate(), declare_import()};
  return command;
}

}  // namespace spscope
