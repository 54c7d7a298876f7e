#include "backend/record/collector_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>

#include "backend/base/listed.h"
#include "backend/base/number_text.h"

namespace spscope {
namespace {

std::string least(const CollectorSum& sum, const std::string& count) {
  return (sum.cut_off > 0 ? "at least " : "") + count;
}

std::string records_and_losses(const CollectorSum& sum) {
  const CollectorCost& cost = sum.cost;
  const std::string lost = cost.dropped > 0  ? least(sum, std::to_string(cost.dropped)) + " lost"
                           : knows_lost(sum) ? "none lost"
                                             : "losses unknown";
  return fmt::format("{} record{}, {}", least(sum, std::to_string(cost.records)), cost.records == 1 ? "" : "s", lost);
}

// Of those that were started.
std::string cost_text(const CollectorSum& sum) {
  const CollectorCost& cost = sum.cost;
  if (cost == CollectorCost() && sum.cut_off == 0) return "nothing to collect";
  std::string text = records_and_losses(sum);
  if (cost.thread_ns > 0 || cost.memory_bytes > 0)
    text += fmt::format("; {} of its own threads, {:.1f} MiB", duration_text(static_cast<double>(cost.thread_ns)),
                        static_cast<double>(cost.memory_bytes) / (1 << 20));
  return text;
}

std::string line_of_text(const std::string& text, std::span<const std::string> processes) {
  constexpr std::size_t kMostNamed = 2;
  if (processes.empty()) return text;
  return processes.size() <= kMostNamed ? fmt::format("{}: {}", listed(processes), text)
                                        : fmt::format("{} processes: {}", processes.size(), text);
}

}  // namespace

bool TextsOfProcesses::add(const std::string& text, const std::string& process) {
  const auto [place, is_new] = places_.try_emplace(text, said_.size());
  if (is_new) {
    said_.push_back({text, process.empty()});
    processes_of_.emplace_back();
  }
  if (!process.empty() && processes_of_[place->second].insert(process).second)
    said_[place->second].processes.push_back(process);
  return is_new;
}

std::vector<std::string> TextsOfProcesses::lines() const {
  std::vector<std::string> lines;
  for (const Said& said : said_) lines.push_back(line_of_text(said.text, said.processes));
  return lines;
}

std::vector<std::string> TextsOfProcesses::lines_of_later() const {
  std::vector<std::string> lines;
  for (const Said& said : said_) {
    const std::size_t said_at_once = said.of_none_first || said.processes.empty() ? 0 : 1;
    const std::span<const std::string> later = std::span(said.processes).subspan(said_at_once);
    if (!later.empty()) lines.push_back(line_of_text(said.text, later));
  }
  return lines;
}

void CollectorSum::add(const CollectorRecord& record) {
  cost += record.cost;
  ++processes;
  cut_off += record.outcome == CollectorOutcome::kCutOff;
  if (record.outcome != CollectorOutcome::kNotStarted) return;
  ++not_started;
  std::string why = record.notes.substr(0, record.notes.find('\n'));
  if (const std::string prefix = record.name + ": "; why.starts_with(prefix)) why.erase(0, prefix.size());
  if (!why.empty()) why_not_started.insert(std::move(why));
}

std::vector<CollectorSum> sums_of(std::span<const CollectorRecord> records) {
  std::map<std::string, CollectorSum> by_name;
  for (const CollectorRecord& record : records)
    by_name.try_emplace(record.name, CollectorSum{record.name}).first->second.add(record);
  std::vector<CollectorSum> sums;
  for (auto& [name, sum] : by_name) sums.push_back(std::move(sum));
  return sums;
}

bool knows_lost(const CollectorSum& sum) { return sum.cut_off == 0 || sum.cost.dropped > 0; }

std::string records_text(const CollectorSum& sum) {
  return least(sum, count_text(static_cast<double>(sum.cost.records)));
}

std::string lost_text(const CollectorSum& sum) {
  if (!knows_lost(sum)) return "unknown";
  return sum.cost.dropped == 0 ? "none" : least(sum, count_text(static_cast<double>(sum.cost.dropped)));
}

CollectorSum sum_of(std::span<const CollectorRecord> records) {
  CollectorSum sum;
  for (const CollectorRecord& record : records) sum.add(record);
  return sum;
}

std::string text_of(const CollectorSum& sum) {
  if (sum.not_started == 0) return cost_text(sum);
  std::string text = sum.not_started == sum.processes
                         ? "did not collect"
                         : fmt::format("{}; did not collect in {} of them", cost_text(sum), sum.not_started);
  const std::size_t reasons = sum.why_not_started.size();
  if (reasons > 1) return fmt::format("{} for {} reasons; spscope doctor FILE names them", text, reasons);
  return reasons == 0 ? text : fmt::format("{}: {}", text, *sum.why_not_started.begin());
}

std::string text_of(const CollectorRecord& record) {
  CollectorSum sum{record.name};
  sum.add(record);
  return text_of(sum);
}

std::string line_of(const CollectorSum& sum) {
  return fmt::format("{}{}: {}", sum.name, sum.processes == 1 ? "" : fmt::format(", {} processes", sum.processes),
                     text_of(sum));
}

std::string process_text(const CollectorRecord& record) {
  if (!record.process.empty()) return record.process;
  return record.first_rank == kNoRank ? "" : fmt::format("process of rank {}", record.first_rank);
}

std::vector<std::string> notes_of(const CollectorRecord& record) {
  std::vector<std::string> notes;
  std::istringstream lines(record.notes);
  for (std::string note; std::getline(lines, note);) notes.push_back(note);
  return notes;
}

std::vector<std::string> collector_texts(std::span<const CollectorRecord> records) {
  std::vector<std::string> texts;
  for (const CollectorSum& sum : sums_of(records)) {
    if (sum.not_started == sum.processes) continue;
    std::map<std::string, std::vector<int>> ranks_of_notes;
    for (const CollectorRecord& record : records) {
      if (record.name != sum.name || record.outcome == CollectorOutcome::kNotStarted) continue;
      for (const std::string& note : notes_of(record)) ranks_of_notes[note].push_back(record.first_rank);
    }
    for (const auto& [note, ranks] : ranks_of_notes)
      texts.push_back(std::ssize(ranks) == sum.processes
                          ? note
                          : fmt::format("rank{} {}: {}", ranks.size() == 1 ? "" : "s", listed(ranks), note));
    texts.push_back(line_of(sum));
  }
  return texts;
}

}  // namespace spscope
