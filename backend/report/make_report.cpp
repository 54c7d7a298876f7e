// The whole report of a file: a part for each workload with every section of sections.def, then the definitions.
#include <fmt/format.h>

#include "backend/report/headline.h"
#include "backend/report/metrics.h"
#include "backend/report/render.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

Report make_report(std::span<const Comparison> comparisons) {
  Report report;
  report.title = "Sequence parallelism, compared";
  for (const Comparison& comparison : comparisons) {
    Part part;
    part.title = workload_line(comparison.workload, executes(comparison));
    for (const ModeGroup& group : by_mode(comparison))
      if (const std::string line = provenance_line(group); !line.empty())
        part.subtitle += (part.subtitle.empty() ? "" : "; ") + line;
    part.warnings = headline_warnings(comparison);
    for (const SectionRow& row : report_sections()) {
      Section section = make_section(row.name, comparison);
      if (!section.blocks.empty()) part.sections.push_back(std::move(section));
    }
    report.parts.push_back(std::move(part));
  }
  report.definitions = {"definitions", "What the numbers mean", {}};
  report.definitions.blocks.push_back(Definitions{{metrics().begin(), metrics().end()}});
  if (!comparisons.empty()) {
    const Comparison& first = comparisons.front();
    report.subtitle = file_name(first.file);
    report.footer =
        fmt::format("spscope {}{}{}", first.tool_version, first.created_utc.empty() ? "" : ", ", first.created_utc);
  }
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
  table.columns = {text_column("strategy"),
                   {"before", "makespan"},
                   {"after", "makespan"},
                   {"slower by"},
                   number_column("compute", "compute", 1),
                   number_column("late peer", "wait_late_peer", 1),
                   number_column("wire", "wire", 1),
                   number_column("other", "other", 1),
                   text_column("")};
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
