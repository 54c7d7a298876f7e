// FileTime: the timeline of whole files, from strips of pyramids: a band for each open file, with its layer passes
// along the top and its rows below, whatever their number and that of their events. Events themselves are read once a
// bucket of the finest shift is wide enough to see them. file_time_draw.cpp paints (file_time_counters.cpp counters),
// file_time_details.cpp tells, this class asks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/ui/table_view.h"
#include "gui/views/timeline/file_data.h"
#include "gui/views/timeline/row_filter.h"
#include "gui/views/timeline/strip_chunks.h"
#include "gui/views/timeline/time_area.h"

namespace spscope::gui {

class FileTime {
 public:
  explicit FileTime(RowChoice& rows) : rows_(rows) {}

  // Events by name, and those of a name by what they are of.
  enum class Tab { kNames, kRanks, kPasses, kLayers, kSteps, kRingSteps };

  void draw(Ui& ui, Session& session);
  void draw_table(Ui& ui, Session& session, Tab tab);
  void draw_details(Ui& ui, Session& session);
  bool run(Command command, Session& session);
  Json dump(Session& session);
  // Whether a name is sought, of which the table tells.
  bool seeks() const { return !find_.empty(); }
  TimeAxis& axis() { return time_.axis; }
  const TimeAxis& axis() const { return time_.axis; }

 private:
  struct Band {  // of a file
    int file = 0;
    const OpenFile* open = nullptr;
    QuerySlot<FileTimes> times_slot;
    QuerySlot<FileEvents> events_slot;
    std::shared_ptr<const FileTimes> times;    // nullptr while they load
    std::shared_ptr<const FileEvents> events;  // of what is shown; nullptr where strips are drawn
    StripFile strips;
    // Places in times->rows, in the order of the screen; that of a counter twice, as it is twice as high.
    std::vector<int> rows;
    std::vector<StripRow> row_strips;                                          // their strips
    std::set<std::size_t> unfolded;                                            // headings whose counters are shown
    std::map<std::size_t, std::unique_ptr<QuerySlot<FileCounters>>> counters;  // of those
    std::vector<StripPiece> pieces;
    int shift = 0;
    StripPicture picture, overview;
    float top = 0, row_height = 0;  // of the rows on the screen
  };
  struct Place {  // of an event
    const Band* band = nullptr;
    int event = -1;
  };

  void take_bands(Session& session);
  void take_rows(const Session& session, Band& band) const;
  void ask_counters(Session& session, Band& band);
  void ask_events(Session& session, Band& band);
  // What the rank whose row is at a height of the screen did; nullptr where there is no row, or no events are drawn.
  static const std::vector<TimeSpan>* spans_at(const Band& band, float y);
  void toolbar(Ui& ui, Session& session);
  void find_field(Ui& ui, Session& session);
  // Room for the names of rows, where there are few enough of them to look at each.
  float gutter(const Ui& ui) const;
  // Whether each row of the band shall be high enough for its name.
  static bool has_names(const Band& band);
  // How long it all took: the program that was observed, and its events.
  static std::string extent_words(const Band& band);
  void draw_band(Ui& ui, Session& session, Band& band, float room);
  void draw_head(Ui& ui, Session& session, Band& band);
  void draw_strategies(Ui& ui, const Band& band);
  void draw_passes(Ui& ui, Session& session, const Band& band);
  void draw_overview(Ui& ui, Session& session, const Rect& rect);
  void draw_rows(Ui& ui, Session& session, Band& band, float room);
  void draw_labels(Ui& ui, Session& session, Band& band, const Rect& gutter);
  void draw_events(Ui& ui, Session& session, const Band& band, const Rect& place, int first, int last);
  void draw_event_pixels(Ui& ui, Band& band, const Rect& place, int first, int last);
  void draw_dimmed(Ui& ui, const Band& band) const;
  // What stands in the gutter before a row.
  void draw_label(Ui& ui, const Band& band, const FileRow& of, const Rect& row, bool selected) const;
  // Counters and headings among the rows at places [first, last) of the screen.
  void draw_told(Ui& ui, Band& band, const Rect& place, int first, int last);
  void draw_plot(Ui& ui, const Band& band, const FileRow& row, const CounterSeries& series, const Rect& rect,
                 std::size_t most) const;
  void counter_tip(Ui& ui, const Band& band, const FileRow& row, double ns) const;
  static const CounterSeries* series_of(const Band& band, const FileRow& row);
  void draw_event(Ui& ui, const Band& band, const Selection& selection, const TimeSpan& span, const Rect& rect) const;
  void take_hover(Ui& ui, Session& session, Band& band, const Rect& place);
  void event_tip(Ui& ui, const Place& place) const;
  void hidden_tip(Ui& ui, const Band& band, const std::vector<OpId>& hidden) const;
  void event_details(Ui& ui, Session& session, const Place& place);
  void rank_details(Ui& ui, const Band& band, int rank) const;
  // A click on the name of a row: a rank is selected, counters are unfolded or folded.
  void take_row(Session& session, Band& band, std::size_t row);
  void select_rank(Session& session, const Band& band, int rank);
  void select_event(Session& session, const Place& place);
  void step_event(Session& session, int direction, bool same_name);
  void step_rank(Session& session, int direction);
  // The band of the selected strategy, else the first that is there.
  Band* band_of(const Selection& selection);
  // The selected event, as far as its events are in memory.
  Place selected(Session& session);
  // The layer pass of the scope that the file holds; nullptr when it does not.
  const PassMark* pass_of_scope(Session& session, const Band& band) const;
  // Of the selected name in the selected time, with the groups of a tab.
  const NameStatistics* statistics(Session& session);
  void draw_groups(Ui& ui, const NameStatistics& found);
  void show_pass(Session& session, const Band& band, const PassMark& pass) const;
  static std::string pass_words(const PassMark& pass);
  Json counter_json(const Band& band, const FileRow& row) const;
  static Json piece_json(const Band& band, const StripPiece& piece);
  static double shown_ns(const Band& band, std::int64_t run_clock_ns);

  RowChoice& rows_;
  TimeArea time_;
  StripChunks chunks_;
  std::map<std::pair<std::string, int>, std::unique_ptr<Band>> bands_;  // by path and generation
  std::vector<Band*> shown_;                                            // in the order of files
  std::optional<Place> hovered_;
  std::optional<int> pointed_;            // the rank whose label the pointer is over
  std::optional<RowEvent> picked_;        // the event that was clicked
  std::set<std::pair<int, int>> pinned_;  // file, rank
  bool fitted_ = false, focus_find_ = false;
  int drawn_spans_ = 0;
  std::string find_;
  QuerySlot<std::vector<NameCount>> names_;
  QuerySlot<NameStatistics> statistics_;
  TableState names_state_, by_rank_state_, by_pass_state_, by_group_state_;
  Tab tab_ = Tab::kNames;  // whose table was drawn last
};

// "0 to 350 W": what a plot of it reaches over.
std::string counter_range_text(const FileRow& row, const CounterSeries& series);

// Layer pass, or whole files: a choice of all timelines.
void draw_time_mode(Ui& ui, Session& session);

}  // namespace spscope::gui
