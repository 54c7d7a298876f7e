#include "backend/record/collector_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>

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

}  // namespace

void TextsOfProcesses::add(const std::string& text, const std::string& process) {
  const auto [place, is_new] = places_.try_emplace(text, said_.size());
  if (is_new) said_.push_back({text});
  std::vector<std::string>& processes = said_[place->second].processes;
  if (!process.empty() && std::ranges::find(processes, process) == processes.end()) processes.push_back(process);
}

std::vector<std::string> TextsOfProcesses::lines() const {
  constexpr std::size_t kMostNamed = 2;
  std::vector<std::string> lines;
  for (const Said& said : said_)
    lines.push_back(said.processes.empty() ? said.text
                    : said.processes.size() <= kMostNamed
                        ? fmt::format("{}: {}", fmt::join(said.processes, ", "), said.text)
                        : fmt::format("{} processes: {}", said.processes.size(), said.text));
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
                          : fmt::format("rank{} {}: {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "), note));
    texts.push_back(line_of(sum));
  }
  return texts;
}

}  // namespace spscope
