// ReportExport: the line above a report that writes it to files: the document in each of its formats, its tables, a
// picture of any view, and the selected range of time as a stored run of its own. Documents are made and written by
// workers, pictures and stored runs by children, so that the window goes on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/launch/child.h"
#include "gui/session/session.h"
#include "gui/ui/ui.h"
#include "gui/views/report_input.h"

namespace spscope::gui {

// The range of the selection in the time of its file, which `spscope export --range` takes.
struct FileRange {
  std::string path;
  TimeRange time;
  std::string words;  // "1.20 ms to 1.90 ms of ulysses u8, layer 3, denoise step 0"
};

// A picture of a place as a command: `program` draws `width` x `height` pixels of the design, `scale` times as large.
std::vector<std::string> picture_command(const std::string& program, const Link& link, const std::string& output,
                                         int width, int height, int scale, bool dark);
std::vector<std::string> range_command(const std::string& program, const FileRange& range, const std::string& output,
                                       bool replace);

class ReportExport {
 public:
  void draw(Ui& ui, Session& session, const ReportInput& input);
  // What was written last; "" for nothing.
  const std::string& written() const { return written_; }

 private:
  enum class Form { kHtml, kMarkdown, kJson, kCsv, kPicture, kRange };

  void suggest_path(const Session& session, const char* ending);
  void options(Ui& ui);
  void take_written(Ui& ui);
  void draw_written(Ui& ui, Session& session);
  void write(Ui& ui, Session& session, const ReportInput& input);
  static ChildResult write_document(const ReportInput& input, Form form, const std::string& path);
  void start(Session& session, std::vector<std::string> command);
  std::string why_not(const ReportInput& input, const std::optional<FileRange>& range);

  Form form_ = Form::kHtml;
  int view_ = 1, scale_ = 0;  // of a picture: the row of its view, and 0 for 1x
  std::string path_, problem_, written_, writing_;
  std::string suggested_, suggested_for_;  // a path, and the run that it is for
  QuerySlot<ChildResult> writer_;
  std::unique_ptr<Child> opener_;  // that shows the file that was written
  int started_ = 0;
};

}  // namespace spscope::gui
