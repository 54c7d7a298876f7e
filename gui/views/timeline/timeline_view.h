// Timeline: a band of rows for each strategy, each from its own zero on one shared axis, so that makespans compare by
// eye. timeline_draw.cpp paints, timeline_details.cpp says what is selected.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gui/platform/renderer.h"
#include "gui/ui/table_view.h"
#include "gui/views/timeline/band.h"
#include "gui/views/timeline/band_statistics.h"
#include "gui/views/timeline/duration_brush.h"
#include "gui/views/timeline/file_time.h"
#include "gui/views/timeline/ghost_band.h"
#include "gui/views/timeline/pass_matrix.h"
#include "gui/views/timeline/row_filter.h"
#include "gui/views/timeline/time_area.h"
#include "gui/views/view.h"

namespace spscope::gui {

class TimelineView final : public View {
 public:
  void draw(Ui& ui, Session& session) override;
  bool has_table(Session& session) override {
    return !session.chosen().empty() || (session.scope().whole_file && file_.seeks());
  }
  void draw_table(Ui& ui, Session& session) override;
  void draw_details(Ui& ui, Session& session) override;
  bool run(Command command, Ui& ui, Session& session) override;
  Json dump(Session& session) override;
  void forget(int closed_file) override;

 private:
  struct Shown {  // a band on the screen
    Chosen chosen;
    std::shared_ptr<const Band> band;  // nullptr while the first one loads
    bool reads = false;                // that of this layer pass is being read
    bool old = false;                  // for so long that `band`, of another one, is dimmed
    std::string problem;               // why there is none
    std::optional<int> other_repeat;   // the nearest one that has a timeline, where this one has none
    bool ghost = false;                // the schedule of an edit
  };
  // The schedule of the edit of the scope, below the band of its strategy.
  struct ShownGhost {
    Shown shown;
    std::shared_ptr<const GhostBand> answer;  // what `shown` is of; nullptr while the first one loads
    std::vector<TimeEdit> edits;              // what there is to choose from
  };
  struct RowKey {
    StrategyKey strategy;
    int rank = 0;
    bool ghost = false;
    friend auto operator<=>(const RowKey&, const RowKey&) = default;
  };
  static RowKey row_key(const Shown& shown, int rank) { return {shown.chosen.key, rank, shown.ghost}; }
  struct DrawnRow {
    float top = 0, bottom = 0;
    const BandRow* row = nullptr;  // of the band
    std::shared_ptr<const Band> band;
  };

  void take_bands(Session& session);
  void take_ghost(Session& session);
  void draw_next_step(Ui& ui, Session& session);
  // Of what is selected.
  void show_heads(Session& session);
  void toolbar(Ui& ui, Session& session);
  void find_field(Ui& ui, Session& session);
  void paint_minimap(Ui& ui, const Rect& rect);
  void draw_band(Ui& ui, Session& session, Shown& shown);
  // What a band and its ghost have: rows, and where the makespan ends.
  void draw_rows(Ui& ui, Session& session, const Shown& shown, const std::vector<const BandRow*>& rows);
  void draw_ghost(Ui& ui, Session& session, const Shown& stored);
  void draw_ghost_head(Ui& ui, Session& session);
  // Another one, at the cursor, is looked at from the head of its band, or from its own where that is far above.
  void look_at_ghost(Ui& ui, Session& session, float band_top);
  void draw_gain(Ui& ui, float top, float bottom);
  // How long an operation takes and from when: as it was, or in the ghost. REQUIRES: the ghost is there.
  std::string ghost_words(OpId op, bool stored) const;
  Json dump_ghost(const Selection& selection) const;
  static Json dump_ranks(const Band& band);
  bool has_ghost(const Shown& shown) const { return ghost_ && ghost_->shown.chosen.key == shown.chosen.key; }
  // Another rank that was selected, in this view or before it: its row is scrolled to where it is out of sight, with
  // the head of its band where both fit.
  void look_at_selected(Ui& ui, const Session& session, const Shown& shown, float band_top);
  void draw_elsewhere(Ui& ui, Session& session);
  void draw_label_beside_thin_rows(Ui& ui, const BandRow& row) const;
  int visible_spans(const BandRow& row) const;
  void draw_row(Ui& ui, Session& session, const Shown& shown, const BandRow& row, float height);
  void paint_spans(Ui& ui, const Shown& shown, const BandRow& row, const Rect& place, const Selection& selection);
  void paint_pixels(Ui& ui, const Shown& shown, const BandRow& row, const Rect& place);
  // From one moment of a rank to one of another: a message of the selected operation, or from its wait to the rank that
  // came last.
  struct Arrow {
    int from_rank = 0, to_rank = 0;
    std::int64_t from_ns = 0, to_ns = 0;
    bool to_late = false;
  };
  static std::vector<Arrow> arrows(const Shown& shown, const Selection& selection);
  void draw_links(Ui& ui, const Shown& shown, const Selection& selection);
  void draw_path(Ui& ui, const Shown& shown);
  void draw_dimmed(Ui& ui);
  void op_tip(Ui& ui, const Shown& shown, OpId op);
  void op_details(Ui& ui, Session& session, const Shown& shown, OpId op);
  void rank_details(Ui& ui, Session& session, const Shown& shown, int rank);
  void select_op(Session& session, const Shown& shown, OpId op);
  // To the selected range or operation; with `toggles`, to all when it is there already.
  void fit(const Selection& selection, bool toggles);
  void step_event(Session& session, int direction, bool same_name);
  void step_rank(Session& session, int direction);
  const Shown* shown_of(const Selection& selection) const;
  std::vector<const BandRow*> rows_of(const Shown& shown) const;
  // Of all bands that are shown, in the selected range; of one before while that is being computed.
  std::shared_ptr<const std::vector<NamesOfBand>> names_of_bands(Session& session);
  // Once for each answer and each text in the field.
  void list_names(const std::shared_ptr<const std::vector<NamesOfBand>>& bands);
  Table bookmarks_table() const;
  void draw_bookmarks(Ui& ui, Session& session);
  void draw_statistics_of_names(Ui& ui, Session& session);
  void bookmark(Session& session);
  // Unique among open files: "ulysses", of the second file "1:ulysses".
  static std::string name_of(const StrategyKey& key);
  static std::string key_of(const Shown& shown) { return shown.chosen.file->path + " " + shown.chosen.key.id; }
  void draw_durations(Ui& ui, Session& session);
  void draw_groups(Ui& ui, Session& session, bool by_rank);
  void draw_histogram(Ui& ui, Session& session, const Shown& shown, const std::string& name);

  TimeArea time_;
  std::vector<Shown> shown_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<QuerySlot<Band>>> slots_;  // by path and strategy
  MatrixPicture matrix_;
  QuerySlot<std::vector<NamesOfBand>> names_;
  struct ListedNames {
    std::shared_ptr<const std::vector<NamesOfBand>> bands;
    std::string find;
    Table table;
    std::vector<StrategyKey> keys;  // by row
  } listed_;
  QuerySlot<std::map<int, DurationStatistics>> groups_;
  std::map<std::string, Texture> pixels_;
  std::vector<Chosen> elsewhere_;     // that have not run this layer pass
  std::map<RowKey, DrawnRow> drawn_;  // of this frame
  QuerySlot<GhostBand> ghost_slot_;
  std::optional<ShownGhost> ghost_;
  std::optional<WhatIf> ghost_before_;  // in the last frame in which it was there
  std::set<std::pair<StrategyKey, int>> unfolded_, pinned_;
  std::vector<StrategyKey> shown_before_;                 // in the last frame
  std::optional<std::pair<StrategyKey, int>> looked_at_;  // the selected rank that was in sight
  RowChoice rows_;
  FileTime file_{rows_};
  bool path_ = true, fitted_ = false;
  std::string find_;
  bool focus_find_ = false;
  std::optional<int> pointed_;  // the rank whose label the pointer is over
  int tab_ = 0, file_tab_ = 0;
  int spans_drawn_ = 0;
  bool lines_ = false;  // thin rows of the band are pixels, all of them: they would be too many rectangles
  std::optional<std::pair<const Shown*, OpId>> hovered_;
  DurationBrush brush_;
  TableState statistics_, bookmarks_state_, by_rank_, by_ring_step_;
  std::vector<Link> bookmarks_;
};

}  // namespace spscope::gui
