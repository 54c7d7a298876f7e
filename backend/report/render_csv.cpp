// CSV: a file a table, for spreadsheets and scripts (RFC 4180: CRLF, quotes doubled).
#include <fmt/format.h>

#include <initializer_list>
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

class CsvText {
 public:
  explicit CsvText(std::string_view headings) : text_(std::string(headings) + "\r\n") {}
  void add(std::initializer_list<Value> values) {
    const char* separator = "";
    for (const Value& value : values) text_ += separator + value.text, separator = ",";
    text_ += "\r\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

template <typename T>
std::optional<T> at(const std::vector<T>& by_rank, std::size_t rank) {
  return rank < by_rank.size() ? std::optional(by_rank[rank]) : std::nullopt;
}

std::string strategies_table(std::span<const Comparison> comparisons) {
  CsvText csv(
      "file,workload,strategy,label,mode,legal,reason,makespan_ns,makespan_spread_ns,makespan_low_ns,makespan_high_ns,"
      "bound_ns,speedup,end_to_end_ns,imbalance_ratio,barrier_imbalance_ratio,coupled_imbalance_ratio,tiles,"
      "tiles_redundant,moved_fraction,messages,verify,max_error");
  for (std::size_t w = 0; w < comparisons.size(); ++w)
    for (const StrategyResult& s : comparisons[w].strategies)
      csv.add({comparisons[w].file,
               w,
               s.id,
               s.label,
               std::string(choice_name(s.mode)),
               int{s.legal()},
               s.reason(),
               s.makespan_ns,
               s.makespan_spread_ns,
               s.makespan_low_ns,
               s.makespan_high_ns,
               s.bound_ns,
               s.speedup,
               s.end_to_end_ns,
               s.imbalance_ratio,
               s.barrier_imbalance_ratio,
               s.coupled_imbalance_ratio,
               s.tiles,
               s.tiles_redundant,
               s.moved_fraction,
               s.messages,
               s.verify,
               s.max_error});
  return csv.take();
}

std::string passes_table(std::span<const Comparison> comparisons) {
  CsvText csv(
      "workload,strategy,denoise_step,layer,makespan_ns,density,tiles,imbalance_ratio,barrier_imbalance_ratio,"
      "coupled_imbalance_ratio,planned_imbalance_ratio,slowest_rank,slowest_excess,verify,max_error");
  for (std::size_t w = 0; w < comparisons.size(); ++w)
    for (const StrategyResult& s : comparisons[w].strategies)
      for (const LayerResult& l : s.by_layer)
        csv.add({w, s.id, l.denoise_step, l.layer, l.makespan_ns, l.density, l.tiles, l.imbalance_ratio,
                 l.barrier_imbalance_ratio, l.coupled_imbalance_ratio, l.planned_imbalance_ratio, l.slowest_rank,
                 l.slowest_excess, l.verify, l.max_error});
  return csv.take();
}

std::string ranks_table(std::span<const Comparison> comparisons) {
  CsvText csv(
      "workload,strategy,rank,compute_ns,wait_late_peer_ns,wire_ns,other_ns,exposed_comm_ns,waited_for_ns,tiles,"
      "bytes_sent,bytes_sent_intra_node,bytes_sent_inter_node,bytes_received,memory_peak_bytes");
  for (std::size_t w = 0; w < comparisons.size(); ++w)
    for (const StrategyResult& s : comparisons[w].strategies) {
      const std::size_t ranks = std::max(s.times.compute_ns.size(), s.bytes_sent.size());
      for (std::size_t r = 0; r < ranks; ++r)
        csv.add({w, s.id, r, at(s.times.compute_ns, r), at(s.times.wait_late_peer_ns, r), at(s.times.wire_ns, r),
                 at(s.times.other_ns, r), at(s.times.exposed_comm_ns, r), at(s.waited_for_ns, r),
                 at(s.tiles_by_rank, r), at(s.bytes_sent, r), at(s.bytes_sent_intra_node, r),
                 at(s.bytes_sent_inter_node, r), at(s.bytes_received, r), at(s.memory_peak_bytes, r)});
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
