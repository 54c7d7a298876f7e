// SQL: one read-only question to an open file, as `spscope sql` asks it; rows with a run, a rank or a time lead to the
// timeline.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>

#include "backend/analysis/comparison.h"
#include "backend/base/number_text.h"
#include "backend/report/query_table.h"
#include "gui/imgui_compat.h"
#include "gui/session/stored_questions.h"
#include "gui/views/kept_table.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

struct Answer {
  std::string path;  // of the file that was asked
  std::shared_ptr<const Table> table;
  bool truncated = false;
  double seconds = 0;
};

// The place that a cell names; nothing when it is no such number.
std::optional<int> place_in(const Cell& cell) {
  if (!cell.number || !(*cell.number >= 0 && *cell.number <= std::numeric_limits<int>::max())) return std::nullopt;
  return static_cast<int>(*cell.number);
}

// Views that answer most questions come first, what other tools have by their names comes last.
enum class SchemaPart { kViews, kTables, kNsight };
SchemaPart part_of(const TableText& table) {
  const bool is_capital = !table.name.empty() && table.name.front() >= 'A' && table.name.front() <= 'Z';
  return is_capital ? SchemaPart::kNsight : table.in_file ? SchemaPart::kTables : SchemaPart::kViews;
}
std::ptrdiff_t first_ones(const TableText& table) {
  static constexpr std::string_view kFirst[] = {"strategy_summary", "run_makespan", "rank_load", "rank_wait", "event"};
  return std::ranges::find(kFirst, table.name) - std::begin(kFirst);
}

class SqlView final : public View {
 public:
  void draw(Ui& ui, Session& session) override {
    const OpenFile& file = *session.files()[static_cast<std::size_t>(file_index(session))];
    schema_.ask(session.workers(), file.path + std::to_string(file.generation),
                [path = file.path, generation = file.generation](Readers& readers, const Cancelled&, QueryProgress&) {
                  return readers.of(path, generation).schema();
                });
    if (session.files().size() > 1) {
      std::vector<std::string> names;
      for (const auto& f : session.files()) names.push_back(f->name);
      if (ui.choice("file", names, file_, ui.px(240), "The file that is asked") && session.scope().file)
        session.look_at(file_);
    }
    draw_questions(ui);
    ui.field("question", text_, {.hint = "One question in SQL", .mono = true, .lines = 7});
    const bool asked =
        ui.button("ask", "Ask", {.primary = true, .disabled_why = text_.empty() ? "the question is empty" : ""});
    if (asked || (ImGui::GetIO().KeyCtrl && key_pressed(Key::kEnter) && !text_.empty())) ask(session, file);
    if (answer_.loading()) {
      ui.same_line();
      if (ui.button("cancel", "Cancel")) answer_.cancel();
      ui.same_line();
      ui.text(fmt::format("asked {:.0f} s ago", answer_.loading_s()), {.ink = Token::kMuted, .beside = true});
    }
    ui.same_line();
    ui.text("Ctrl+Enter asks. One question that only reads; the file is not changed.",
            {.face = Face::kSmall, .ink = Token::kMuted, .beside = true});
    if (const Error* error = answer_.error()) draw_error(ui, "error", *error);
    if (const Answer* answer = answer_.value()) {
      if (kept_ == nullptr || kept_->table != answer->table) {
        kept_ = std::make_unique<KeptTable>(answer->table, session.workers());
        state_ = {};
      }
      const std::size_t rows = kept_->table->rows.size();
      ui.text(fmt::format("{} row{} of {} in {:.2f} s{}", count_text(static_cast<double>(rows)), rows == 1 ? "" : "s",
                          std::filesystem::path(answer->path).filename().string(), answer->seconds,
                          answer->truncated ? ". The answer is larger than what is shown." : ""),
              {.face = Face::kSmall, .ink = Token::kMuted});
      const ImVec2 from = ImGui::GetCursorScreenPos();
      const TableHit hit =
          kept_->draw(ui, "answer", state_, {.row_tooltip = leads_somewhere() ? "Double click: its timeline" : ""});
      if (is_slow(answer_)) ui.dim({from.x, from.y, from.x + ui.width_left(), ImGui::GetCursorScreenPos().y});
      if (hit.activated) follow(session, *hit.activated);
      go_to_place(session);
    }
  }

  void draw_details(Ui& ui, Session&) override {
    const std::vector<TableText>* tables = schema_.value();
    if (tables == nullptr) return;
    draw_tables(ui, *tables, SchemaPart::kViews, "Views to begin with");
    draw_tables(ui, *tables, SchemaPart::kTables, "Tables of the file");
    ui.text("As in files of Nsight Systems", {.face = Face::kBold, .ink = Token::kMuted});
    if (ui.link("nsight", nsight_ ? "Hide" : "Show")) nsight_ = !nsight_;
    if (nsight_) draw_tables(ui, *tables, SchemaPart::kNsight, "");
  }

  void draw_tables(Ui& ui, std::vector<TableText> tables, SchemaPart part, std::string_view title) {
    std::erase_if(tables, [&](const TableText& table) { return part_of(table) != part; });
    std::ranges::stable_sort(tables, {}, first_ones);
    if (!title.empty()) ui.text(title, {.face = Face::kBold, .ink = Token::kMuted});
    for (const TableText& table : tables) {
      if (ui.link(table.name, table.name)) open_ = open_ == table.name ? "" : table.name;
      if (open_ != table.name) continue;
      std::size_t begin = 0;
      while (begin < table.text.size()) {
        const std::size_t end = std::min(table.text.find('\n', begin), table.text.size());
        ui.text(table.text.substr(begin, end - begin), {.face = Face::kMono, .ink = Token::kMuted, .wrap = true});
        begin = end + 1;
      }
    }
  }

  void forget(int closed_file) override {
    if (file_ > closed_file) --file_;
  }

  Json dump(Session& session) override {
    Json json = Json::object();
    json["question"] = text_;
    if (!session.files().empty()) json["file"] = session.files()[static_cast<std::size_t>(file_index(session))]->name;
    if (const Error* error = answer_.error()) json["error"] = error->what();
    if (const Answer* answer = answer_.value()) {
      json["columns"] = Json::array();
      for (const Column& column : answer->table->columns) json["columns"].push_back(column.heading);
      json["rows"] = static_cast<std::int64_t>(answer->table->rows.size());
    }
    return json;
  }

 private:
  // The file that is looked at; of all files the one that was chosen here.
  int file_index(const Session& session) {
    file_ = session.scope().file.value_or(std::clamp(file_, 0, static_cast<int>(session.files().size()) - 1));
    return file_;
  }

  void draw_questions(Ui& ui) {
    std::vector<std::string> titles = {"Questions to start from"};
    for (const StoredQuestion& q : stored_questions()) titles.emplace_back(q.title);
    int chosen = 0;
    if (ui.choice("questions", titles, chosen, std::min(ui.px(420), ui.width_left() - ui.px(200))) && chosen > 0)
      text_ = stored_questions()[static_cast<std::size_t>(chosen - 1)].sql;
    if (history_.empty()) return;
    ui.same_line();
    std::vector<std::string> asked = {"History"};
    for (const std::string& question : history_) asked.push_back(question);
    int again = 0;
    if (ui.choice("history", asked, again, ui.px(180)) && again > 0)
      text_ = history_[static_cast<std::size_t>(again - 1)];
  }

  void ask(Session& session, const OpenFile& file) {
    std::erase(history_, text_);
    history_.insert(history_.begin(), text_);
    if (history_.size() > 50) history_.resize(50);
    answer_.ask(session.workers(), fmt::format("{} {}", ++asked_, text_),
                [path = file.path, generation = file.generation, text = text_](Readers& readers, const Cancelled&,
                                                                               QueryProgress&) {
                  const std::int64_t began = now_ns();
                  Answer answer;
                  const QueryResult result = readers.of(path, generation).query(text);
                  answer.table = std::make_shared<const Table>(query_table(result, ValueTexts::kWhole));
                  answer.truncated = result.truncated;
                  answer.seconds = static_cast<double>(now_ns() - began) * 1e-9;
                  answer.path = path;
                  return answer;
                });
  }

  int column(std::string_view name) const {
    const auto found = std::ranges::find(kept_->table->columns, name, &Column::heading);
    return found == kept_->table->columns.end() ? -1 : static_cast<int>(found - kept_->table->columns.begin());
  }
  bool leads_somewhere() const {
    return column("rank") >= 0 || column("strategy_id") >= 0 || column("layer") >= 0 || column("run_id") >= 0;
  }

  void follow(Session& session, int row) {
    const auto asked = std::ranges::find(session.files(), answer_.value()->path, [](const auto& f) { return f->path; });
    if (asked == session.files().end()) return;  // it was closed
    const OpenFile& file = **asked;
    const auto number = [&](std::string_view name) -> std::optional<int> {
      const int c = column(name);
      if (c < 0) return std::nullopt;
      return place_in(kept_->table->rows[static_cast<std::size_t>(row)].cells[static_cast<std::size_t>(c)]);
    };
    Link link = session.here();
    link.view = "timeline";
    link.selection = {};
    link.selection.rank = number("rank");
    link.selection.op = number("op_id");
    if (const auto layer = number("layer")) link.scope.layer = layer;
    if (const auto step = number("denoise_step")) link.scope.step = step;
    const auto strategy = number("strategy_id");
    for (const Chosen& c : session.all_strategies())
      if (c.file == &file && strategy == static_cast<int>(c.strategy->strategy_id)) link.selection.strategy = c.key;
    if (const auto run = number("run_id"); run && !strategy) {
      ask_place(session, file, *run, std::move(link));
    } else {
      session.go(link);
    }
  }

  // The layer pass and strategy of a run; asked for, since the file has to be read.
  struct RunPlace {
    std::string strategy;
    LayerPass pass;
  };
  void ask_place(Session& session, const OpenFile& file, int run, Link link) {
    wanted_ = std::move(link);
    wanted_file_ = file.path;
    place_.forget();
    place_.ask(session.workers(), fmt::format("{} {} {}", file.path, file.generation, run),
               [path = file.path, generation = file.generation, run](Readers& readers, const Cancelled&,
                                                                     QueryProgress&) -> std::optional<RunPlace> {
                 const StoreReader& reader = readers.of(path, generation);
                 for (const StrategyRecord& s : reader.strategies())
                   for (const RunRecord& r : reader.runs(s.strategy_id))
                     if (static_cast<int>(r.run_id) == run) return RunPlace{s.id, {r.layer, r.denoise_step}};
                 return std::nullopt;
               });
  }
  void go_to_place(Session& session) {
    if (!wanted_ || !place_.current()) return;
    Link link = *std::exchange(wanted_, std::nullopt);
    if (const std::optional<RunPlace>& place = *place_.value()) {
      link.scope.layer = place->pass.layer;
      link.scope.step = place->pass.step;
      for (const Chosen& c : session.all_strategies())
        if (c.file->path == wanted_file_ && c.key.id == place->strategy) link.selection.strategy = c.key;
    }
    session.go(link);
  }

  int file_ = 0, asked_ = 0;
  bool nsight_ = false;
  std::string text_, open_;
  std::vector<std::string> history_;
  QuerySlot<std::vector<TableText>> schema_;
  QuerySlot<Answer> answer_;
  QuerySlot<std::optional<RunPlace>> place_;
  std::optional<Link> wanted_;  // where a row leads, but for the place of its run
  std::string wanted_file_;
  std::unique_ptr<KeptTable> kept_;  // the answer that is shown
  TableState state_;
};

}  // namespace

std::unique_ptr<View> make_sql_view() { return std::make_unique<SqlView>(); }

}  // namespace spscope::gui
