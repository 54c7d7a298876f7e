// Document: the content of a report, independent of its format.
//
// Sections (section_<name>.cpp) make blocks of text, tables and charts; cells carry a value and a hint of its kind.
// Renderers (render_*.cpp) turn any document into terminal text, Markdown or HTML without knowledge of metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backend/analysis/sentence.h"
#include "backend/report/head_grid.h"

namespace spscope {

enum class Hint {
  kText,
  kDuration,  // nanoseconds
  kBytes,     // that are sent, in MB
  kMemory,    // bytes that memory holds, in MiB
  kCount,
  kRatio,    // 1.355
  kSpeedup,  // 1.30x
  kPercent,  // of a fraction: 0.05 is 5.0 %
  kVerdict,  // text: passed, failed or skipped; number: the largest error
};

struct Cell {
  Hint hint = Hint::kText;
  std::optional<double> number;  // absent: unknown, shown as a dash
  std::string text;
  std::optional<double> spread;  // in the unit of `number`
};

Cell text_cell(std::string text);
Cell duration_cell(std::optional<std::int64_t> ns, std::optional<std::int64_t> spread_ns = {});
// Any other hint with a number.
Cell cell(Hint hint, std::optional<double> number, std::optional<double> spread = {});
Cell verdict_cell(std::string verdict, std::optional<double> max_error);

struct Column {
  std::string heading;
  std::string metric = {};  // id of its definition in metrics(); "": none
  bool left = false;        // alignment
  int dispensable = 0;      // where room is short, columns of the highest number go first, together; 0: never dropped
};
// Aligned left.
Column text_column(std::string heading, std::string metric = {});
// Aligned right.
Column number_column(std::string heading, std::string metric, int dispensable);

struct Row {
  std::vector<Cell> cells;  // one a column; missing ones at the end are empty
  bool best = false;        // emphasised: Table::best_is
  bool aside = false;       // not one of the compared items: a bound, a sum
  Subject of = {};
};

struct Table {
  // A sentence below a table, where none of the columns that it speaks of was dropped.
  struct Note {
    std::string text;
    std::vector<std::string> headings;
  };
  std::string caption;  // may be empty
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<Note> notes = {};
  std::string best_is = "fastest";  // what Row::best says of a row
};
// The columns for which there is room, by index: the most dispensable ones go until the rest fits.
std::vector<std::size_t> columns_with_room(const Table& table,
                                           const std::function<bool(std::span<const std::size_t>)>& fits);
// "barrier, sent/rank": the headings of the columns that are not among these; "" when all are.
std::string hidden_headings(const Table& table, std::span<const std::size_t> kept);

enum class Tone { kPlain, kNote, kWarning, kConclusion, kReason };
struct Paragraph {
  std::string text;
  Tone tone = Tone::kPlain;
  std::vector<Mention> mentions = {};  // what bytes of `text` name
};
Paragraph paragraph(Sentence sentence, Tone tone);

// The provenance of values: measured ones look different from modelled ones wherever they are shown.
struct Badges {
  struct Badge {
    std::string text, title;
    bool modelled = false;
  };
  std::vector<Badge> list;
};

// Durations divided into parts, stacked. Rows: one bar a strategy. Columns: one bar a rank.
struct StackedBars {
  struct Part {
    std::string name, metric;
    bool modelled = false;
  };
  struct Bar {
    std::string label;
    std::vector<double> parts_ns;
    Subject of = {};
    double total_ns() const { return std::accumulate(parts_ns.begin(), parts_ns.end(), 0.0); }
  };
  std::string caption;
  bool by_rank = false;
  std::vector<Part> parts;
  std::vector<Bar> bars;
  double scale_ns = 0;  // full length of the axis; 0: the longest bar
  std::optional<double> mark_ns = {};
  std::string mark_label = {};
  double axis_ns() const;  // length of the axis that holds every bar and the mark; 0: nothing takes time
};

// From one duration to another, by what is added and taken away in between: from + all deltas = to.
struct Waterfall {
  struct Step : StackedBars::Part {
    double delta_ns = 0;   // below 0: less
    std::size_t part = 0;  // its colour: as the parts of StackedBars
  };
  std::string caption;
  StackedBars::Bar from, to;  // one part each
  std::vector<Step> steps;
  double scale_ns = 0;                 // full length of the axis; 0: the longest bar
  double axis_ns() const;              // length of the axis that holds both durations and every step; at least 1
  bool shows(const Step& step) const;  // whether it is a hundredth of the largest step, and more than nothing
};

// What each rank did when: a band a strategy, each from its own zero on one axis. Spans below 0 are beside the layer
// pass before.
struct TimelineBands {
  struct Span {
    double begin_ns = 0, end_ns = 0;
    std::size_t part = 0;
  };
  struct Row {
    std::string label;
    std::vector<Span> spans;  // in order of time, disjoint
    Subject of = {};
  };
  struct Band {
    std::string label;
    double length_ns = 0;
    std::vector<Row> rows;
    Subject of = {};
  };
  std::string caption;
  std::vector<StackedBars::Part> parts;
  std::vector<Band> bands;
  // Of the axis that holds all spans and lengths: begin_ns <= 0 < end_ns.
  Span axis() const;
};

struct Facts {
  std::string caption;
  std::vector<std::pair<std::string, std::string>> rows;
};

// Preformatted text, collapsed where the format can do that.
struct Listing {
  std::string caption, text;
};

struct Definition {
  std::string id, title, unit, meaning, not_for;
};
struct Definitions {
  std::vector<Definition> list;
};

using Block = std::variant<Paragraph, Badges, Table, StackedBars, Waterfall, TimelineBands, HeadGrid, Facts, Listing,
                           Definitions>;

struct Section {
  std::string id, title;
  std::vector<Block> blocks;
};

// One workload of a report.
struct Part {
  std::string title, subtitle;
  std::vector<Sentence> warnings = {};  // shown before any number
  std::vector<Section> sections = {};
};

struct Report {
  std::string title, subtitle;
  std::vector<Part> parts;
  Section definitions;
  std::string footer;
};

}  // namespace spscope
