#include "gui/views/report_export.h"

#include <fmt/format.h>
#include <imgui.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "backend/base/number_text.h"
#include "backend/base/result.h"
#include "backend/base/whole_file.h"
#include "backend/config/environment.h"
#include "backend/report/render.h"
#include "gui/session/installed_files.h"
#include "gui/views/timeline/facts.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

struct ExportForm {
  const char *title, *ending;
};
// In the order of Form.
constexpr ExportForm kForms[] = {
    {"HTML", ".html"},          {"Markdown", ".md"},           {"JSON", ".json"},
    {"CSV (a folder)", "-csv"}, {"Picture of a view", ".png"}, {"Range as a store", "-range.db"}};

// Where a document goes if nobody says: beside the run, but not into the folder of the program, whose demo is a run,
// too; else to the current folder, else home, whichever is the user's to write to.
std::filesystem::path folder_beside(const std::string& run) {
  namespace fs = std::filesystem;
  std::error_code fault;
  std::vector<fs::path> folders;
  if (!fs::equivalent(run, demo_path(), fault)) folders.push_back(fs::absolute(run, fault).parent_path());
  folders.push_back(fs::current_path(fault));
  folders.emplace_back(home_folder());
  for (const fs::path& folder : folders)
    if (!folder.empty() && access(folder.c_str(), W_OK) == 0) return folder;
  return folders.front();
}

std::string own_program() {
  std::error_code fault;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", fault);
  return fault ? "spscope-gui" : self.string();
}

// Of the strategy that is selected, else of the first one. Absent without a selected range, and while its pass is read.
std::optional<FileRange> selected_range(Session& session) {
  const std::vector<Chosen> chosen = session.chosen();
  const auto pass = session.pass();
  const auto& time = session.selection().time;
  if (chosen.empty() || !pass || !time) return std::nullopt;
  const auto selected =
      std::ranges::find_if(chosen, [&](const Chosen& c) { return c.key == session.selection().strategy; });
  const Chosen& of = selected != chosen.end() ? *selected : chosen.front();
  const PassData* data = session.pass_data(of).value();
  if (data == nullptr) return std::nullopt;
  const std::int64_t zero = data->repeat.begin_ns;
  return FileRange{of.file->path,
                   {zero + time->begin_ns, zero + time->end_ns},
                   fmt::format("{} to {} of {}, layer {}, denoise step {}", duration(time->begin_ns),
                               duration(time->end_ns), of.label, pass->layer, pass->step)};
}

}  // namespace

std::vector<std::string> picture_command(const std::string& program, const Link& link, const std::string& output,
                                         int width, int height, int scale, bool dark) {
  return {program,
          "--settings",
          "",
          "--screenshot",
          link.view,
          "--size",
          fmt::format("{}x{}", width * scale, height * scale),
          "--scale",
          fmt::format("{}", scale),
          "--theme",
          dark ? "dark" : "light",
          "-o",
          output,
          link_text(link)};
}

std::vector<std::string> range_command(const std::string& program, const FileRange& range, const std::string& output,
                                       bool replace) {
  std::vector<std::string> command = {program,
                                      "export",
                                      range.path,
                                      "--format",
                                      "store",
                                      "--range",
                                      fmt::format("{}ns..{}ns", range.time.begin_ns, range.time.end_ns),
                                      "-o",
                                      output};
  if (replace) command.emplace_back("--force");
  return command;
}

void ReportExport::draw(Ui& ui, Session& session, const ReportInput& input) {
  const Ui::Scope inside = ui.scope("export");
  std::vector<std::string> titles;
  for (const ExportForm& form : kForms) titles.emplace_back(form.title);
  int form = static_cast<int>(form_);
  suggest_path(session, kForms[form].ending);
  if (ui.choice("form", titles, form, ui.px(170))) {
    const std::string before = kForms[static_cast<int>(form_)].ending;
    const bool is_suggested = path_ == suggested_;
    if (path_.ends_with(before)) path_.resize(path_.size() - before.size());
    path_ += kForms[form].ending;
    if (is_suggested) suggested_ = path_;
    form_ = static_cast<Form>(form);
  }
  ui.same_line();
  const auto range = form_ == Form::kRange ? selected_range(session) : std::nullopt;
  ui.field("path", path_,
           {.width = std::clamp(ui.width_left() - ui.px(110), ui.px(160), ui.px(460)),
            .hint = "Where to write it",
            .mono = true});
  ui.same_line();
  std::error_code unknown;
  if (ui.button("write", std::filesystem::exists(path_, unknown) ? "Replace" : "Export",
                {.primary = true, .disabled_why = why_not(input, range)}))
    write(ui, session, input);
  options(ui);
  if (form_ == Form::kRange)
    ui.text(range ? range->words : "No range is selected: drag over the rows of the Timeline with Ctrl, or press R.",
            {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  take_written(ui);
  if (!problem_.empty()) ui.banner("problem", BannerTone::kError, problem_);
  if (!written_.empty()) draw_written(ui, session);
}

// A path that nobody typed follows the file that is looked at.
void ReportExport::suggest_path(const Session& session, const char* ending) {
  if (session.files().empty()) return;
  const std::filesystem::path run = session.files()[static_cast<std::size_t>(session.active_file())]->path;
  const bool is_typed = !path_.empty() && path_ != suggested_;
  if (is_typed || (suggested_for_ == run && !path_.empty())) return;
  suggested_for_ = run;
  path_ = suggested_ = (folder_beside(run.string()) / run.stem()).string() + ending;
}

void ReportExport::draw_written(Ui& ui, Session& session) {
  std::error_code no_file;
  const std::uintmax_t size = std::filesystem::file_size(written_, no_file);  // of a folder there is none
  ui.banner("written", BannerTone::kDone,
            "Wrote " + written_ + (no_file ? "." : ", " + bytes_text(static_cast<double>(size)) + "."));
  const bool is_run = written_.ends_with(".db");
  if (ui.button("open written", "Open",
                {.tooltip = is_run ? "In this window" : "With the desktop's program for such files"})) {
    if (is_run) return session.go_to_file(written_);
    // xdg-open hands the file over and ends; what it starts outlives this window.
    if (const auto fault = failure_of([&] {
          opener_ = std::make_unique<Child>(std::vector<std::string>{"xdg-open", written_});
        }))
      session.notice("No program opens files here (xdg-open): copy the path. " + std::string(fault->what()), true);
  }
  ui.same_line();
  if (ui.button("copy written", "Copy path")) {
    ImGui::SetClipboardText(written_.c_str());
    session.notice("The path is copied.");
  }
  if (opener_) opener_->poll();  // no process is left that nobody waits for
  if (opener_ && opener_->end()) {
    if (opener_->end()->code != 0)
      session.notice("xdg-open found no program for " + written_ + ": copy the path.", true);
    opener_.reset();
  }
}

void ReportExport::options(Ui& ui) {
  if (form_ != Form::kPicture) return;
  std::vector<std::string> views;
  for (const ViewRow& row : view_rows()) views.emplace_back(row.title);
  ui.choice("view", views, view_, ui.px(170), "The view that is drawn, with the scope and selection of now");
  static const std::vector<std::string> kScales = {"1x", "2x"};
  ui.same_line();
  ui.segments("scale", kScales, scale_);
}

std::string ReportExport::why_not(const ReportInput& input, const std::optional<FileRange>& range) {
  if (input.files.empty()) return "no file is open";
  if (writer_.loading()) return "the last one is still being written";
  if (form_ == Form::kHtml && input.reading) return "its timelines and heads are still being read";
  if (form_ == Form::kRange && !range) return "no range is selected on the Timeline";
  if (form_ == Form::kRange && spscope_program().empty())
    return "spscope is neither beside this program nor on the PATH";
  return "";
}

// The result is that of a child that has done it.
ChildResult ReportExport::write_document(const ReportInput& input, Form form, const std::string& path) {
  if (form == Form::kCsv) {
    std::filesystem::create_directories(path);
    std::vector<std::vector<HeadRow>> heads;
    for (const ReportInput::File& file : input.files)
      for (const Comparison& comparison : file.content->comparisons)
        heads.push_back(head_rows(StoreReader(file.path), comparison));
    for (const auto& [name, text] : render_csv(input.comparisons(), heads))
      write_whole_file((std::filesystem::path(path) / name).string(), text);
  } else {
    write_whole_file(path, form == Form::kJson       ? render_json(input.comparisons())
                           : form == Form::kMarkdown ? render_markdown(input.report(false))
                                                     : render_html(input.report(true)));
  }
  return {};
}

void ReportExport::write(Ui& ui, Session& session, const ReportInput& input) {
  problem_ = written_ = "";
  for (const auto& file : session.files()) {
    std::error_code unknown;
    if (path_ == file->path || std::filesystem::equivalent(path_, file->path, unknown)) {
      problem_ = "That is the stored run itself. Choose another name.";
      return;
    }
  }
  if (form_ == Form::kPicture) {
    Link link = session.here();
    link.view = view_rows()[static_cast<std::size_t>(view_)].id;
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    const auto design = [&](float pixels) { return static_cast<int>(std::lround(pixels / ui.theme().scale)); };
    start(session, picture_command(own_program(), link, path_, design(size.x), design(size.y), scale_ + 1,
                                   ui.theme().appearance == Appearance::kDark));
  } else if (form_ == Form::kRange) {
    std::error_code unknown;
    if (const auto range = selected_range(session))
      start(session, range_command(spscope_program(), *range, path_, std::filesystem::exists(path_, unknown)));
  } else {
    writing_ = path_;
    writer_.ask(session.workers(), fmt::format("{}", ++started_),
                [input, form = form_, path = path_](Readers&, const Cancelled&, QueryProgress&) {
                  return write_document(input, form, path);
                });
  }
}

void ReportExport::start(Session& session, std::vector<std::string> command) {
  writing_ = path_;
  writer_.ask(
      session.workers(), fmt::format("{}", ++started_),
      [command = std::move(command)](Readers&, const Cancelled& cancelled, QueryProgress&) {
        return run_child(command, cancelled);
      },
      WorkKind::kChild);
}

void ReportExport::take_written(Ui& ui) {
  draw_loading(ui, "writing", writer_, "Writing " + writing_);
  if (writing_.empty()) return;
  if (const Error* error = writer_.error()) {
    problem_ = error->what();
  } else if (!writer_.current() && !writer_.was_cancelled()) {
    return;
  } else if (const ChildResult* result = writer_.current() ? writer_.value() : nullptr) {
    const bool done = result->end.code == 0;
    (done ? written_ : problem_) = done ? writing_ : last_words(result->errors, 3);
  }
  writing_.clear();
}

}  // namespace spscope::gui
