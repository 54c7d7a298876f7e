// Renderers: a comparison as terminal text or JSON, a report as Markdown or one HTML page.
#pragma once

#include <span>
#include <string>

#include "backend/analysis/changed_settings.h"
#include "backend/analysis/comparison.h"
#include "backend/analysis/regression.h"
#include "backend/report/document.h"

namespace spscope {

struct TerminalStyle {
  bool color = false;
  int width = 120;  // columns
};
// The output of `run`, `compare` and `plan`: the headline, a table of strategies for each mode, warnings, conclusions.
std::string render_terminal(const Comparison& comparison, const TerminalStyle& style = {});
// The blocks of one section; charts are left out. Control characters of the text are not passed to the terminal.
std::string render_terminal(const Section& section, const TerminalStyle& style = {});
// One table, aligned.
std::string render_terminal(const Table& table, const TerminalStyle& style = {});

// The JSON of `run`, `compare` and `plan` (schemas/result.schema.json), with a line break at the end. One comparison is
// the object itself; several are the list `comparisons` of an object. `changes` and `settings`, what was set otherwise,
// are left out when they are null.
std::string render_json(std::span<const Comparison> comparisons, const std::vector<Change>* changes = nullptr,
                        const std::vector<ChangedSetting>* settings = nullptr);

// The whole report of a file: every section for each of its workloads, and the definitions.
Report make_report(std::span<const Comparison> comparisons);
// GitHub's Markdown. Charts become tables.
std::string render_markdown(const Report& report);
// One page without scripts or external resources. All text is escaped.
std::string render_html(const Report& report);

// The sections that `compare` adds when it is given several files: what was set otherwise, and each strategy before and
// after.
Section settings_section(const std::string& before_file, const std::string& after_file,
                         std::span<const ChangedSetting> settings);
Section changes_section(const std::string& before_file, const std::string& after_file, std::span<const Change> changes);

}  // namespace spscope
