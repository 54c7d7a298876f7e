// `spscope compare FILE...`: the strategies of stored runs side by side and, for several files of one workload, what
// changed from the first to the last.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <ostream>

#include "backend/analysis/file_changes.h"
#include "backend/analysis/observation.h"
#include "backend/base/listed.h"
#include "backend/base/printable.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/report/headline.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

struct CompareFlags {
  std::vector<std::string> files;
  std::string fail_above;  // "5%"; "" when nothing fails
};

// The fraction that "5%" means.
double parse_percentage(const std::string& text) {
  const std::size_t sign = text.find('%');
  double percent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(sign, text.size()), percent);
  const bool whole = sign != std::string::npos && sign + 1 == text.size() && end == text.data() + sign;
  if (error != std::errc() || !whole || !(percent >= 0))
    throw Error(ErrorCode::kUsage, fmt::format("--fail-above \"{}\" is not a percentage", text),
                "write it with its sign, for example --fail-above 5%");
  return percent / 100;
}

std::string verdict_on(const std::vector<Change>& changes, double limit) {
  const auto count = std::ranges::count_if(changes, &Change::regression);
  if (count == 0)
    return fmt::format("No strategy became slower by more than {:g} % and the spread of its repeats.", 100 * limit);
  std::vector<std::string> gone;
  for (const Change& c : changes)
    if (c.regression && c.label_after.empty()) gone.push_back(c.label);
  return fmt::format("{} of {} strategies became worse{}.", count, changes.size(),
                     gone.empty() ? "" : "; no longer there: " + listed(gone));
}

// The comparisons of a file. Throws Error(kStoreCorrupt) when it has none: a file recovered without its head shard
// has events and no workload.
std::vector<Comparison> comparisons_of(const std::string& file) {
  const StoreReader reader(file);
  require_strategies(reader, "compare");
  std::vector<Comparison> comparisons = compare_store(reader);
  if (!comparisons.empty()) return comparisons;
  std::int64_t events = 0;
  for (const LedgerRecord& row : reader.events().ledger()) events += row.stored;
  throw Error(ErrorCode::kStoreCorrupt,
              fmt::format("\"{}\" holds no workload, so there is nothing to compare; {} events are kept", file, events),
              "spscope sql answers questions about events, spscope doctor lists what is missing");
}

// 1 when the runs of all files ended before there was anything to compare.
int exit_code_of(const std::vector<std::vector<Comparison>>& of_file) {
  for (const std::vector<Comparison>& comparisons : of_file)
    for (const Comparison& comparison : comparisons)
      if (nothing_finished_text(comparison).empty()) return kExitDone;
  return kExitFailed;
}

int compare(CommandContext& context, const CompareFlags& flags) {
  const bool judged = !flags.fail_above.empty();
  const double limit = judged ? parse_percentage(flags.fail_above) : 0;
  if (judged && flags.files.size() < 2)
    throw Error(ErrorCode::kUsage, "--fail-above needs two files",
                "spscope compare BEFORE.db AFTER.db --fail-above 5%");
  std::vector<std::vector<Comparison>> of_file;
  for (const std::string& file : flags.files) of_file.push_back(comparisons_of(file));
  const bool several = of_file.size() > 1;
  const FileChanges found = several ? file_changes(of_file.front(), of_file.back(), limit) : FileChanges();
  const std::string& different = found.different;
  const std::vector<Change>& changed = found.changes;
  const std::vector<ChangedSetting>& settings = found.settings;
  if (judged && !different.empty())
    throw Error(ErrorCode::kUsage, different, "--fail-above compares runs of one workload");
  const std::string why_not = judged ? why_not_judged(of_file.front(), of_file.back(), changed) : "";
  if (!why_not.empty())
    throw Error(
        ErrorCode::kUsage, "the times cannot be judged, because " + why_not,
        "--fail-above needs undisturbed times of one mode from one kind of machine: run again with no more ranks than "
        "cores and nothing else running; without --fail-above, compare shows the runs");
  const bool worse = judged && std::ranges::any_of(changed, &Change::regression);

  const TerminalStyle style = terminal_style(context.color);
  if (context.json) {
    std::vector<Comparison> all;
    for (const auto& comparisons : of_file) all.insert(all.end(), comparisons.begin(), comparisons.end());
    context.out << render_json(all, several ? &changed : nullptr, several ? &settings : nullptr);
    return worse ? kExitRegression : exit_code_of(of_file);
  }
  for (std::size_t i = 0; i < of_file.size(); ++i) {
    if (several) context.out << fmt::format("{}{}\n", i > 0 ? "\n" : "", flags.files[i]);
    for (const Comparison& comparison : of_file[i]) context.out << render_terminal(comparison, style);
  }
  // Of unlike runs nearly everything differs.
  constexpr std::size_t kMostOfUnlike = 12;
  const bool shows_settings = several && (different.empty() || settings.size() <= kMostOfUnlike);
  if (shows_settings)
    context.out << '\n' << render_terminal(settings_section(flags.files.front(), flags.files.back(), settings), style);
  if (!changed.empty()) {
    Section section = changes_section(flags.files.front(), flags.files.back(), changed);
    if (judged) section.blocks.push_back(Paragraph{verdict_on(changed, limit), Tone::kConclusion});
    context.out << '\n' << render_terminal(section, style);
  }
  if (!different.empty())
    context.out << fmt::format("\nNo changes are shown, because {}{}.\n", printable_line(different),
                               shows_settings ? "" : fmt::format(", and {} settings differ", settings.size()));
  return worse ? kExitRegression : exit_code_of(of_file);
}

}  // namespace

Command declare_compare() {
  auto flags = std::make_shared<CompareFlags>();
  Command command;
  command.flags = {
      {.names = "files", .help = "stored runs", .target = &flags->files, .required = true},
      {.names = "--fail-above",
       .help =
           "exit with 3 when a strategy of the last file is slower than in the first by more than this, such as 5%, or "
           "missing",
       .target = &flags->fail_above},
  };
  command.action = [flags](CommandContext& context) { return compare(context, *flags); };
  return command;
}

}  // namespace spscope
