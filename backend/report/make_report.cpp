// The whole report of a file: a part for each workload with every section of sections.def, then the definitions.
#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/file_changes.h"
#include "backend/report/headline.h"
#include "backend/report/metrics.h"
#include "backend/report/observed_part.h"
#include "backend/report/render.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

Part part_of(const Comparison& comparison, const PassPicture* picture) {
  Part part;
  part.title = workload_line(comparison.workload, executes(comparison));
  for (const ModeGroup& group : by_mode(comparison))
    if (const std::string line = provenance_line(group); !line.empty())
      part.subtitle += (part.subtitle.empty() ? "" : "; ") + line;
  part.warnings = headline_warnings(comparison);
  for (const SectionRow& row : report_sections()) {
    Section section = make_section(row.name, {comparison, picture});
    if (!section.blocks.empty()) part.sections.push_back(std::move(section));
  }
  return part;
}

// What changed from the first file to the last. REQUIRES: several files, whose comparisons follow each other.
Part changes_part(std::span<const Comparison> comparisons) {
  const std::string &first = comparisons.front().file, &last = comparisons.back().file;
  const auto is_of = [](const std::string& file) { return [&](const Comparison& c) { return c.file == file; }; };
  const auto end = std::ranges::find_if_not(comparisons, is_of(first));
  const auto begin = std::ranges::find_if(end, comparisons.end(), is_of(last));
  const FileChanges found = file_changes({comparisons.begin(), end}, {begin, comparisons.end()}, 0);
  Part part;
  part.title = fmt::format("From {} to {}", file_name(first), file_name(last));
  if (found.different.empty())
    part.sections.push_back(changes_section(first, last, found.changes));
  else
    part.warnings.push_back({"no changes are shown: " + found.different});
  constexpr std::size_t kMostOfUnlike = 12;  // of unlike runs nearly everything differs
  if (found.different.empty() || found.settings.size() <= kMostOfUnlike)
    part.sections.push_back(settings_section(first, last, found.settings));
  return part;
}

// Of files without strategies.
Report observed_report(std::span<const Observation> observed) {
  Report report;
  report.title = observed.size() == 1 ? "An observed program" : "Observed programs";
  report.definitions = {"definitions", "What the numbers mean", {}};
  report.definitions.blocks.push_back(
      Paragraph{"Total: the sum of the durations of all events of a row. Events of several streams and threads may "
                "overlap. Mean: of one event.",
                Tone::kPlain});
  report.definitions.blocks.push_back(
      Paragraph{"The program ran: from when attach started it to when it ended. From its first to its last event: from "
                "the start of the first kernel, copy, call or operation that was recorded to the end of the last.",
                Tone::kPlain});
  for (const Observation& o : observed) report.parts.push_back(observed_part(o));
  const Observation& first = observed.front();
  report.subtitle = file_name(first.file);
  report.footer =
      fmt::format("spscope {}{}{}", first.tool_version, first.created_utc.empty() ? "" : ", ", first.created_utc);
  return report;
}

}  // namespace

Report make_report(std::span<const Comparison> comparisons, std::span<const std::optional<PassPicture>> pictures,
                   std::span<const Observation> observed) {
  if (comparisons.empty() && !observed.empty()) return observed_report(observed);
  Report report;
  report.title = "Sequence parallelism, compared";
  report.definitions = {"definitions", "What the numbers mean", {}};
  report.definitions.blocks.push_back(Definitions{{metrics().begin(), metrics().end()}});
  if (comparisons.empty()) return report;
  const Comparison& first = comparisons.front();
  const bool several = first.file != comparisons.back().file;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const bool drawn = i < pictures.size() && pictures[i];
    report.parts.push_back(part_of(comparisons[i], drawn ? &*pictures[i] : nullptr));
    if (several) report.parts.back().title = file_name(comparisons[i].file) + ": " + report.parts.back().title;
  }
  if (several) report.parts.push_back(changes_part(comparisons));
  for (const Observation& o : observed) report.parts.push_back(observed_part(o));
  report.subtitle = file_name(first.file) + (several ? " to " + file_name(comparisons.back().file) : "");
  report.footer =
      fmt::format("spscope {}{}{}", first.tool_version, first.created_utc.empty() ? "" : ", ", first.created_utc);
  return report;
}

Section settings_section(const std::string& before_file, const std::string& after_file,
                         std::span<const ChangedSetting> settings) {
  Section section{"settings", "Settings that differ", {}};
  if (settings.empty()) {
    section.blocks.push_back(Paragraph{"Both runs have the same settings, of the cluster too.", Tone::kPlain});
    return section;
  }
  Table table;
  table.caption = fmt::format("Settings that differ, {} -> {}", file_name(before_file), file_name(after_file));
  table.columns = {text_column("setting"), text_column("before"), text_column("after")};
  const auto shown = [](const std::string& value) { return text_cell(value.empty() ? "–" : value); };
  for (const ChangedSetting& s : settings) table.rows.push_back({{text_cell(s.key), shown(s.before), shown(s.after)}});
  section.blocks.push_back(std::move(table));
  return section;
}

Section changes_section(const std::string& before_file, const std::string& after_file,
                        std::span<const Change> changes) {
  Section section{"changes", "Changes", {}};
  Table table;
  table.caption = fmt::format("{} -> {}; compute, late peer, wire and other are what each added to the makespan",
                              file_name(before_file), file_name(after_file));
  table.columns = {text_column("strategy"), {"before", "makespan"}, {"after", "makespan"}, {"slower by"}};
  for (const TimePart& part : kTimeParts) table.columns.push_back(number_column(part.heading, part.metric, 1));
  table.columns.push_back(text_column(""));
  for (const Change& c : changes) {
    const bool both = !c.label_before.empty() && !c.label_after.empty();
    const std::string label =
        both && c.label_before != c.label_after ? fmt::format("{} (was {})", c.label, c.label_before) : c.label;
    Row row{
        {text_cell(label), duration_cell(c.before_ns), duration_cell(c.after_ns), cell(Hint::kPercent, c.slower_by)},
        false,
        !c.regression};
    for (std::size_t i = 0; i < kNumTimeColumns; ++i)
      row.cells.push_back(duration_cell(c.parts_ns ? std::optional((*c.parts_ns)[i]) : std::nullopt));
    row.cells.push_back(text_cell(c.regression ? "REGRESSION: " + c.note : c.note));
    table.rows.push_back(std::move(row));
  }
  section.blocks.push_back(std::move(table));
  for (const Change& c : changes)
    if (!c.why.empty()) section.blocks.push_back(Paragraph{c.why + ".", Tone::kReason});
  return section;
}

}  // namespace spscope
