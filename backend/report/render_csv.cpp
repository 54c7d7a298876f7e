// CSV: a file a table, for spreadsheets and scripts (RFC 4180: CRLF, quotes doubled).
#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <sstream>
#include <variant>

#include "backend/base/csv_table.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

// A value of a row: unknown ones are empty.
struct Value {
  Value(const std::string& t) : text(t.empty() ? "" : csv_field(t)) {}
  Value(std::integral auto number) : text(fmt::format("{}", number)) {}
  Value(double number) : text(fmt::format("{}", number)) {}
  template <typename T>
  Value(const std::optional<T>& known) : text(known ? Value(*known).text : "") {}

  std::string text;
};

using FigureValues = std::map<std::string_view, Value>;

class CsvText {
 public:
  explicit CsvText(std::string columns) : text_(columns + "\r\n"), columns_(std::move(columns)) {}
  // Columns that are no figure have `others`, in order.
  void add(std::initializer_list<Value> others, const FigureValues& figures = {}) {
    std::istringstream columns(columns_);
    const Value* other = others.begin();
    const char* separator = "";
    for (std::string column; std::getline(columns, column, ','); separator = ",") {
      const auto figure = figures.find(column);
      text_ += separator + (figure != figures.end() ? figure->second : *other++).text;
    }
    text_ += "\r\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_, columns_;
};

// The columns, and those of figures that come last.
std::string and_last(std::string columns) {
  for_each_figure([&](const FigureRow& figure, auto) {
    if (figure.is_last()) columns.append(",").append(figure.name);
  });
  return columns;
}

FigureValues values_of(const RunFigures& figures) {
  FigureValues values;
  for_each_figure([&](const FigureRow& figure, auto of) { values.emplace(figure.name, of(figures)); });
  return values;
}

FigureValues values_of_rank(const StrategyResult& s, std::size_t rank) {
  FigureValues values;
  for_each_rank_figure([&](const FigureRow& list, auto of) {
    values.emplace(list.name, rank < of(s).size() ? std::optional(of(s)[rank]) : std::nullopt);
  });
  return values;
}

std::string strategies_table(std::span<const Comparison> comparisons) {
  CsvText csv(
      and_last("file,workload,strategy,label,mode,legal,reason,makespan_ns,makespan_spread_ns,makespan_low_ns,"
               "makespan_high_ns,bound_ns,speedup,end_to_end_ns,imbalance_ratio,barrier_imbalance_ratio,"
               "coupled_imbalance_ratio,tiles,tiles_redundant,moved_fraction,messages,verify,max_error"));
  for (std::size_t w = 0; w < comparisons.size(); ++w)
    for (const StrategyResult& s : comparisons[w].strategies)
      csv.add({comparisons[w].file, w, s.id, s.label, std::string(choice_name(s.mode)), int{s.legal()}, s.reason(),
               s.verify, s.max_error},
              values_of(s));
  return csv.take();
}

std::string passes_table(std::span<const Comparison> comparisons) {
  CsvText csv(
      and_last("workload,strategy,denoise_step,layer,makespan_ns,density,tiles,imbalance_ratio,barrier_imbalance_ratio,"
               "coupled_imbalance_ratio,planned_imbalance_ratio,slowest_rank,slowest_excess,verify,max_error"));
  for (std::size_t w = 0; w < comparisons.size(); ++w)
    for (const StrategyResult& s : comparisons[w].strategies)
      for (const LayerResult& l : s.by_layer)
        csv.add({w, s.id, l.denoise_step, l.layer, l.slowest_rank, l.slowest_excess, l.verify, l.max_error},
                values_of(l));
  return csv.take();
}

std::string ranks_table(std::span<const Comparison> comparisons) {
  CsvText csv(
      "workload,strategy,rank,compute_ns,wait_late_peer_ns,wire_ns,other_ns,exposed_comm_ns,waited_for_ns,tiles,"
      "bytes_sent,bytes_sent_intra_node,bytes_sent_inter_node,bytes_received,memory_peak_bytes");
  for (std::size_t w = 0; w < comparisons.size(); ++w)
    for (const StrategyResult& s : comparisons[w].strategies) {
      const std::size_t ranks = std::max(s.times.compute_ns.size(), s.bytes_sent.size());
      for (std::size_t r = 0; r < ranks; ++r) csv.add({w, s.id, r}, values_of_rank(s, r));
    }
  return csv.take();
}

std::string terms_table(std::span<const Comparison> comparisons) {
  CsvText csv("workload,strategy,term,mean_over_ranks_ns");
  for (std::size_t w = 0; w < comparisons.size(); ++w)
    for (const StrategyResult& s : comparisons[w].strategies)
      for (std::size_t i = 0; s.terms && i < s.terms->ns.size(); ++i)
        csv.add({w, s.id, std::string(time_term_rows()[i].key), s.terms->ns[i]});
  return csv.take();
}

std::string waits_table(std::span<const Comparison> comparisons) {
  CsvText csv("workload,strategy,rank,late_rank,collective,ring_step,wait_ns");
  for (std::size_t w = 0; w < comparisons.size(); ++w)
    for (const StrategyResult& s : comparisons[w].strategies)
      for (const RankWait& wait : s.rank_waits)
        csv.add({w, s.id, wait.rank, wait.late_rank, wait.collective, wait.ring_step, wait.wait_ns});
  return csv.take();
}

std::string heads_table(std::span<const std::vector<HeadRow>> heads) {
  CsvText csv("workload,strategy,denoise_step,layer,axis,head,density,rank");
  for (std::size_t w = 0; w < heads.size(); ++w)
    for (const HeadRow& h : heads[w])
      csv.add({w, h.strategy, h.denoise_step, h.layer, std::string(h.axis == AttendedAxis::kOuter ? "outer" : "inner"),
               h.head, h.density, h.rank});
  return csv.take();
}

}  // namespace

std::map<std::string, std::string> render_csv(std::span<const Comparison> comparisons,
                                              std::span<const std::vector<HeadRow>> heads) {
  return {{"strategies.csv", strategies_table(comparisons)}, {"layer_passes.csv", passes_table(comparisons)},
          {"ranks.csv", ranks_table(comparisons)},           {"terms.csv", terms_table(comparisons)},
          {"waits.csv", waits_table(comparisons)},           {"heads.csv", heads_table(heads)}};
}

}  // namespace spscope
