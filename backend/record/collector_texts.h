// What collectors took, and what they did not collect, for people.
#pragma once

#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/record/rank_records.h"

namespace spscope {

// What is said of processes; what is said of several is one line.
class TextsOfProcesses {
 public:
  // `process`: "" when the text is of none. Whether the text is new.
  bool add(const std::string& text, const std::string& process);

  struct Said {
    std::string text;
    bool of_none_first = false;
    std::vector<std::string> processes = {};  // without "", each once, in the order in which they were added
  };
  const std::vector<Said>& said() const { return said_; }
  // "python train.py (process 7): TEXT", of more than two "8 processes: TEXT". In the order of the first of each text.
  std::vector<std::string> lines() const;
  // The same of what was said of other processes after the first.
  std::vector<std::string> lines_of_later() const;

 private:
  std::vector<Said> said_;
  std::unordered_map<std::string, std::size_t> places_;        // in it, by text
  std::vector<std::unordered_set<std::string>> processes_of_;  // those of each
};

// A collector in all processes that it was in.
struct CollectorSum {
  std::string name;
  CollectorCost cost = {};
  int processes = 0;
  int cut_off = 0, not_started = 0;  // of these
  std::set<std::string> why_not_started = {};
  void add(const CollectorRecord& record);
};
// By their names.
std::vector<CollectorSum> sums_of(std::span<const CollectorRecord> records);

// Of all of them together, whatever their names.
CollectorSum sum_of(std::span<const CollectorRecord> records);

// "12,000", "at least 900" where one was cut off.
std::string records_text(const CollectorSum& sum);
// "none", "4", "at least 4", "unknown".
std::string lost_text(const CollectorSum& sum);
// Whether its losses are known, at least as a lower bound.
bool knows_lost(const CollectorSum& sum);
// "12000 records, none lost; 31.2 ms of its own threads, 24.0 MiB", "at least 900 records, losses unknown; ...",
// "did not collect: there is no library"
std::string text_of(const CollectorSum& sum);
std::string text_of(const CollectorRecord& record);
// "cupti, 2 processes: 12000 records, ..."
std::string line_of(const CollectorSum& sum);
// "python train.py (process 7)", "process of rank 3", "" for the host.
std::string process_text(const CollectorRecord& record);
// Lines of CollectorRecord::notes.
std::vector<std::string> notes_of(const CollectorRecord& record);

// Of all processes of a run: of each collector what it took in all of them together, as "cupti, 2 processes: 12000
// records, ...", and its notes, with the ranks where not all have the same. Without those that were not started.
std::vector<std::string> collector_texts(std::span<const CollectorRecord> records);

}  // namespace spscope
