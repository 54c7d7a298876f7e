// Report: the document of `spscope report`, section by section, and its export.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <map>
#include <set>

#include "backend/report/render.h"
#include "backend/report/section.h"
#include "gui/views/document_view.h"
#include "gui/views/report_export.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

class ReportView final : public View {
 public:
  void draw(Ui& ui, Session& session) override {
    export_.draw(ui, session, input_of(session));
    ui.space(4);
    draw_sections(ui, session);
    ui.rule();
    ui.space(6);
    for (std::size_t f = 0; f < session.files().size(); ++f) {
      const FileContent* content = session.files()[f]->content();
      if (content == nullptr || !session.in_scope(static_cast<int>(f))) continue;
      const Ui::Scope inside = ui.scope(fmt::format("file {}", f));
      draw_report(ui, session, static_cast<int>(f));
    }
  }

  bool has_details(const Session&) override { return false; }

  Json dump(Session& session) override {
    Json json = Json::object();
    json["sections"] = Json::array();
    for (const auto& [name, title] : sections(session))
      if (!hidden_.contains(name)) json["sections"].push_back(name);
    json["report"] = Json::array();
    for (std::size_t f = 0; f < session.files().size(); ++f)
      if (const FileContent* content = session.files()[f]->content();
          content != nullptr && session.in_scope(static_cast<int>(f)))
        if (const auto parsed = Json::parse(render_json(content->comparisons))) json["report"].push_back(*parsed);
    json["written"] = export_.written();
    return json;
  }

 private:
  // Names and titles of those that the files can have: of strategies the same in all, of programs that were observed
  // those that there are.
  std::vector<std::pair<std::string, std::string>> sections(Session& session) {
    std::vector<std::pair<std::string, std::string>> found;
    bool has_strategies = session.files().empty();
    std::vector<const Report*> observed;
    for (std::size_t f = 0; f < session.files().size(); ++f) {
      const OpenFile& file = *session.files()[f];
      if (file.content() == nullptr || !session.in_scope(static_cast<int>(f))) continue;
      has_strategies |= !file.content()->comparisons.empty();
      if (!file.content()->observed.empty()) observed.push_back(document_of(session, file));
    }
    if (has_strategies)
      for (const SectionRow& row : report_sections()) found.emplace_back(row.name, row.title);
    for (const Report* report : observed) {
      if (report == nullptr) continue;
      for (const Part& part : report->parts)
        for (const Section& section : part.sections)
          if (std::ranges::find(found, section.id, &std::pair<std::string, std::string>::first) == found.end())
            found.emplace_back(section.id, section.title);
    }
    return found;
  }

  void draw_sections(Ui& ui, Session& session) {
    const std::vector<std::pair<std::string, std::string>> all = sections(session);
    if (all.empty()) return;
    const Ui::Scope inside = ui.scope("sections");
    ui.text("Sections", {.ink = Token::kMuted, .max_width = ui.px(70), .beside = true});
    for (const auto& [name, title] : all) {
      ui.same_line();
      if (ui.width_left() < ui.text_width(title) + ui.px(40)) ImGui::NewLine();
      bool on = !hidden_.contains(name);
      if (!ui.checkbox(name, title, on)) continue;
      if (on) {
        hidden_.erase(name);
      } else {
        hidden_.insert(name);
      }
    }
  }

  // What is exported, with the pictures of all files that are there.
  ReportInput input_of(Session& session) {
    ReportInput input;
    input.hidden = hidden_;
    for (std::size_t f = 0; f < session.files().size(); ++f) {
      const OpenFile& file = *session.files()[f];
      const auto content = file.slot->share();
      if (!content || !session.in_scope(static_cast<int>(f))) continue;
      QuerySlot<Illustrated>& slot = illustrated(session, file, content);
      input.reading |= slot.loading();
      const auto document = slot.current() ? slot.share() : nullptr;
      input.files.push_back({file.path, content,
                             document ? std::shared_ptr<const PassPictures>(document, &document->pictures) : nullptr});
    }
    return input;
  }

  // The pictures of the slowest layer passes of a file, and the document with them.
  struct Illustrated {
    PassPictures pictures;
    Report report;
  };
  QuerySlot<Illustrated>& illustrated(Session& session, const OpenFile& file,
                                      const std::shared_ptr<const FileContent>& content) {
    QuerySlot<Illustrated>& slot = documents_[file.path].illustrated;
    slot.ask(
        session.workers(), key_of(file),
        [path = file.path, generation = file.generation, content](Readers& readers, const Cancelled&, QueryProgress&) {
          const StoreReader& reader = readers.of(path, generation);
          Illustrated made;
          for (const Comparison& c : content->comparisons) made.pictures.push_back(slowest_pass_picture(reader, c));
          made.report = make_report(content->comparisons, made.pictures, content->observed);
          return made;
        });
    return slot;
  }
  static std::string key_of(const OpenFile& file) { return fmt::format("{} {}", file.path, file.generation); }

  // The document of a file: the text at first, with pictures as soon as they are there. nullptr: not yet.
  const Report* document_of(Session& session, const OpenFile& file) {
    const auto content = file.slot->share();
    QuerySlot<Illustrated>& whole = illustrated(session, file, content);
    if (whole.current()) return &whole.value()->report;
    QuerySlot<Report>& text = documents_[file.path].text;
    text.ask(session.workers(), key_of(file), [content](Readers&, const Cancelled&, QueryProgress&) {
      return make_report(content->comparisons, {}, content->observed);
    });
    return text.value();
  }

  void draw_report(Ui& ui, Session& session, int file) {
    int number = 0;
    Document& document = documents_[session.files()[static_cast<std::size_t>(file)]->path];
    const Report* report = document_of(session, *session.files()[static_cast<std::size_t>(file)]);
    draw_loading(ui, "reading", document.illustrated, "Reading its timelines and heads");
    if (const Error* error = document.illustrated.error()) draw_error(ui, "pictures", *error);
    if (report != nullptr) {
      for (const Part& part : report->parts) {
        const Ui::Scope inside = ui.scope(fmt::format("part {}", number++));
        ui.text(part.title, {.face = Face::kTitle});
        ui.text(part.subtitle, {.ink = Token::kMuted, .wrap = true});
        for (const Sentence& warning : part.warnings)
          ui.banner("warning " + warning.text, BannerTone::kWarning, warning.text);
        for (const Section& section : part.sections) {
          if (hidden_.contains(section.id)) continue;
          const Ui::Scope of_section = ui.scope(section.id);
          ui.space(8);
          ui.text(section.title, {.face = Face::kTitle});
          int block_number = 0;
          for (const Block& block : section.blocks) {
            if (const auto subject = blocks_.draw(ui, fmt::format("block {}", block_number++), block))
              follow(session, file, *subject);
            ui.space(2);
          }
        }
      }
      ui.space(8);
      ui.text(report->definitions.title, {.face = Face::kTitle});
      for (const Block& block : report->definitions.blocks) blocks_.draw(ui, "definitions", block);
    }
  }

  struct Document {
    QuerySlot<Report> text;
    QuerySlot<Illustrated> illustrated;
  };
  std::map<std::string, Document> documents_;
  std::set<std::string> hidden_;
  ReportExport export_;
  DocumentView blocks_;
};

}  // namespace

std::unique_ptr<View> make_report_view() { return std::make_unique<ReportView>(); }

}  // namespace spscope::gui
