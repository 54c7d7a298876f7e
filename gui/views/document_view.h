// Blocks of a report's document (backend/report/document.h) drawn in the window: the same sentences, tables and charts
// as in the page and on the command line.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "backend/report/document.h"
#include "gui/platform/renderer.h"
#include "gui/session/session.h"
#include "gui/ui/table_view.h"
#include "gui/ui/ui.h"

namespace spscope::gui {

class DocumentView {
 public:
  // What was clicked in it: a strategy, a rank, a layer pass.
  std::optional<Subject> draw(Ui& ui, std::string_view name, const Block& block);

 private:
  std::map<std::string, TableState> tables_;
  std::map<std::string, Texture> heads_;
};

// Goes on from a subject: selects what it names, and where it names a rank or a layer pass shows the timeline there; of
// what a strategy lost, where it was slowest.
void follow(Session& session, int file, const Subject& subject);

// Words, of which those that name something are underlined and can be clicked.
std::optional<Subject> draw_sentence(Ui& ui, std::string_view name, std::string_view text,
                                     const std::vector<Mention>& mentions, const TextStyle& style);

// Colour of the part of a makespan by its place: compute, late peer, wire, other; and behind them those of what devices
// did (timeline/time_part.h).
Token part_token(std::size_t part);
Token on_part_token(std::size_t part);
// Of its outline, which stands out from the surface where the fill does not.
Token part_edge_token(std::size_t part);

// A rectangle of time as it is drawn everywhere: modelled ones hatched, late peer as a hollow dotted box, what is
// queued as a hollow one.
void draw_time(Ui& ui, const Rect& rect, std::size_t part, bool modelled);
void draw_legend(Ui& ui, const StackedBars& chart);
// One part of it, beside the one before where there is room.
void draw_legend_part(Ui& ui, std::size_t part, const std::string& label, bool modelled, bool first);
// Bars of parts, a row each. What was clicked; what the pointer is over is in a tooltip. `beside`: by bar, the sentence
// that stands beside it, below it where there is no room; empty, or nullptr for none.
std::optional<Subject> draw_bars(Ui& ui, std::string_view name, const StackedBars& chart,
                                 std::span<const Paragraph* const> beside = {});

}  // namespace spscope::gui
