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
    part.title = workload_line(comparison.workload);
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

Section changes_section(const std::string& before_file, const std::string& after_file,
                        std::span<const Change> changes) {
  Section section{"changes", "Changes", {}};
  Table table;
  table.caption = fmt::format("{} -> {}", file_name(before_file), file_name(after_file));
  table.columns = {
      text_column("strategy"), {"before", "makespan"}, {"after", "makespan"}, {"slower by"}, text_column("")};
  for (const Change& c : changes)
    table.rows.push_back(
        {{text_cell(c.label), duration_cell(c.before_ns), duration_cell(c.after_ns), cell(Hint::kPercent, c.slower_by),
          text_cell(c.regression ? "REGRESSION: " + c.note : c.note)},
         false,
         !c.regression});
  section.blocks.push_back(std::move(table));
  return section;
}

}  // namespace spscope
