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
    export_.draw(ui, session, [&] { return whole_report(session); });
    ui.space(4);
    draw_sections(ui);
    ui.rule();
    ui.space(6);
    for (std::size_t f = 0; f < session.files().size(); ++f) {
      const FileContent* content = session.files()[f]->content();
      if (content == nullptr || !session.in_scope(static_cast<int>(f))) continue;
      const Ui::Scope inside = ui.scope(fmt::format("file {}", f));
      draw_report(ui, session, static_cast<int>(f));
    }
  }

  Json dump(Session& session) override {
    Json json = Json::object();
    json["sections"] = Json::array();
    for (const SectionRow& row : report_sections())
      if (!hidden_.contains(std::string(row.name))) json["sections"].push_back(row.name);
    json["report"] = Json::array();
    for (const auto& file : session.files())
      if (const FileContent* content = file->content())
        if (const auto parsed = Json::parse(render_json(content->comparisons))) json["report"].push_back(*parsed);
    json["written"] = export_.written();
    return json;
  }

 private:
  void draw_sections(Ui& ui) {
    const Ui::Scope inside = ui.scope("sections");
    ui.text("Sections", {.ink = Token::kMuted, .max_width = ui.px(70), .beside = true});
    for (const SectionRow& row : report_sections()) {
      ui.same_line();
      const std::string title(row.title);
      if (ui.width_left() < ui.text_width(title) + ui.px(40)) ImGui::NewLine();
      bool on = !hidden_.contains(std::string(row.name));
      if (!ui.checkbox(row.name, title, on)) continue;
      if (on) {
        hidden_.erase(std::string(row.name));
      } else {
        hidden_.insert(std::string(row.name));
      }
    }
  }

  Report whole_report(Session& session) {
    if (session.files().size() == 1) return document_of(session, 0);
    std::vector<Comparison> all;
    for (const auto& file : session.files())
      if (const FileContent* content = file->content())
        all.insert(all.end(), content->comparisons.begin(), content->comparisons.end());
    return make_report(all);
  }

  // The document of a file, with the pictures of its slowest layer passes as soon as they are there.
  const Report& document_of(Session& session, int f) {
    const OpenFile& file = *session.files()[static_cast<std::size_t>(f)];
    Document& document = documents_[file.path];
    const auto key = fmt::format("{} {}", file.path, file.generation);
    document.pictures.ask(
        session.workers(), key,
        [path = file.path, generation = file.generation](Readers& readers, const Cancelled&, QueryProgress&) {
          StoreReader& reader = readers.of(path, generation);
          std::vector<std::optional<PassPicture>> pictures;
          for (const Comparison& c : compare_store(reader)) pictures.push_back(slowest_pass_picture(reader, c));
          return pictures;
        });
    const auto* pictures = document.pictures.value();
    const std::string made = key + (pictures != nullptr ? " with pictures" : "");
    if (document.made_of != made) {
      document.made_of = made;
      using Pictures = std::vector<std::optional<PassPicture>>;
      document.report = make_report(file.content()->comparisons, pictures != nullptr ? *pictures : Pictures{});
    }
    return document.report;
  }

  void draw_report(Ui& ui, Session& session, int file) {
    int number = 0;
    {
      const Report& report = document_of(session, file);
      for (const Part& part : report.parts) {
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
      if (!hidden_.contains(report.definitions.id)) {
        ui.space(8);
        ui.text(report.definitions.title, {.face = Face::kTitle});
        for (const Block& block : report.definitions.blocks) blocks_.draw(ui, "definitions", block);
      }
    }
  }

  struct Document {
    QuerySlot<std::vector<std::optional<PassPicture>>> pictures;
    std::string made_of;
    Report report;
  };
  std::map<std::string, Document> documents_;
  std::set<std::string> hidden_;
  ReportExport export_;
  DocumentView blocks_;
};

}  // namespace

std::unique_ptr<View> make_report_view() { return std::make_unique<ReportView>(); }

}  // namespace spscope::gui
