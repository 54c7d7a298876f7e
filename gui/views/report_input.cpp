#include "gui/views/report_input.h"

#include "backend/report/render.h"

namespace spscope::gui {

std::vector<Comparison> ReportInput::comparisons() const {
  std::vector<Comparison> all;
  for (const File& file : files)
    all.insert(all.end(), file.content->comparisons.begin(), file.content->comparisons.end());
  return all;
}

Report ReportInput::report(bool with_pictures) const {
  PassPictures all;
  for (const File& file : files) {
    if (!with_pictures) break;
    if (file.pictures) all.insert(all.end(), file.pictures->begin(), file.pictures->end());
    if (!file.pictures) all.resize(all.size() + file.content->comparisons.size());
  }
  std::vector<Observation> observed;
  for (const File& file : files)
    observed.insert(observed.end(), file.content->observed.begin(), file.content->observed.end());
  Report report = make_report(comparisons(), all, observed);
  for (Part& part : report.parts)
    std::erase_if(part.sections, [&](const Section& section) { return hidden.contains(section.id); });
  return report;
}

}  // namespace spscope::gui
