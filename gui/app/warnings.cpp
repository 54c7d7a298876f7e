// What the report says before any number, of the files that are looked at: in full above Overview, above the other
// views in one line, so that they are not pushed out.
#include <fmt/format.h>

#include "backend/analysis/mode_group.h"
#include "backend/base/number_text.h"
#include "backend/report/headline.h"
#include "gui/app/app.h"

namespace spscope::gui {
namespace {

std::vector<std::string> warnings_of(const Comparison& comparison) {
  std::vector<std::string> warnings;
  for (const Sentence& warning : headline_warnings(comparison)) warnings.push_back(sentence(warning.text));
  for (const ModeGroup& group : by_mode(comparison))
    for (const std::string& warning : timing_warnings(group)) warnings.push_back(warning);
  return warnings;
}

std::vector<std::string> warnings_of(const Observation& observation) {
  std::vector<std::string> warnings;
  if (!observation.run.finished)
    warnings.emplace_back("Nobody saw the program end: events of its last moments may be missing.");
  if (const std::string lost = lost_events_text(observation); !lost.empty()) warnings.push_back(sentence(lost));
  const std::vector<Sentence>& incidents = observation.recording.incidents;
  if (incidents.empty()) return warnings;
  const std::string more = incidents.size() > 1 ? fmt::format(" (and {} more)", incidents.size() - 1) : "";
  warnings.push_back(sentence(incidents.front().text + more));
  return warnings;
}

// Of all files that are looked at, with the name of the file where there are several.
std::vector<std::string> all_warnings(const Session& session) {
  std::vector<std::string> all;
  for (std::size_t f = 0; f < session.files().size(); ++f) {
    const OpenFile& file = *session.files()[f];
    if (file.content() == nullptr || !session.in_scope(static_cast<int>(f))) continue;
    const bool alone = session.files().size() == 1 || session.scope().file;
    const auto take = [&](std::vector<std::string> found) {
      for (std::string& warning : found) all.push_back((alone ? "" : file.name + ": ") + std::move(warning));
    };
    for (const Comparison& comparison : file.content()->comparisons) take(warnings_of(comparison));
    for (const Observation& observation : file.content()->observed) take(warnings_of(observation));
  }
  return all;
}

}  // namespace

void App::draw_warnings(Ui& ui) {
  // A report tells them itself.
  const ViewRow* row = find_view(session_.view());
  if (row == nullptr || !row->needs_file || row->id == "report") return;
  const std::vector<std::string> all = all_warnings(session_);
  if (all.empty()) return;
  if (row->id == "overview") {
    ui.banner("warnings", BannerTone::kWarning, all, "", true);
    return;
  }
  const bool is_one = all.size() == 1;
  const std::string line = is_one ? all.front() : fmt::format("{} warnings. {}", all.size(), all.front());
  constexpr float kBesideWords = 110;  // the edges and the button, in the design's pixels
  const bool fits = is_one && ui.text_width(line) < ui.width_left() - ui.px(kBesideWords);
  if (ui.banner("warnings", BannerTone::kWarning, {&line, 1}, fits ? "" : "Show", false)) ui.open_popup("all warnings");
  ui.popup(
      "all warnings",
      [&] {
        for (const std::string& warning : all) ui.text(warning, {.ink = Token::kWarn, .wrap = true});
        return true;
      },
      false, ui.px(620));
}

}  // namespace spscope::gui
