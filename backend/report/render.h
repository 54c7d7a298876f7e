// Renderers: a comparison as terminal text or JSON, a report as Markdown or one HTML page.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "backend/analysis/changed_settings.h"
#include "backend/analysis/comparison.h"
#include "backend/analysis/head_rows.h"
#include "backend/analysis/observation.h"
#include "backend/analysis/pass_picture.h"
#include "backend/analysis/regression.h"
#include "backend/base/error.h"
#include "backend/report/document.h"

namespace spscope {

struct TerminalStyle {
  bool color = false;
  int width = 120;        // columns of sentences
  int table_width = 120;  // columns of tables: those that matter less are left out where there is no room
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

// What is wrong with a config, a command or a file (schemas/problems.schema.json), with a line break at the end: every
// problem with its field and place, where it has them.
std::string render_json(const Error& error);

// The whole report: a part for each comparison with every section, and the definitions. Of several files each part says
// which, and the last one is what changed from the first file to the last, or why nothing can be told. `pictures`: of
// each comparison, for the sections that draw single operations and masks; empty: none. Programs that were observed get
// their parts after those.
Report make_report(std::span<const Comparison> comparisons, std::span<const std::optional<PassPicture>> pictures = {},
                   std::span<const Observation> observed = {});
// GitHub's Markdown. Charts become tables.
std::string render_markdown(const Report& report);
// Tables by file name, RFC 4180: figures of strategies, layer passes, ranks, waits and heads, in base units that the
// headings name (makespan_ns), with all their digits. A text that a spreadsheet would take for a formula gets an
// apostrophe. `heads`: of each comparison.
std::map<std::string, std::string> render_csv(std::span<const Comparison> comparisons,
                                              std::span<const std::vector<HeadRow>> heads);
// One page without scripts or external resources. All text is escaped.
std::string render_html(const Report& report);

// The sections that `compare` adds when it is given several files: what was set otherwise, and each strategy before and
// after.
Section settings_section(const std::string& before_file, const std::string& after_file,
                         std::span<const ChangedSetting> settings);
Section changes_section(const std::string& before_file, const std::string& after_file, std::span<const Change> changes);

}  // namespace spscope
