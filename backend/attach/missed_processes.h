// Processes that could not even ask attach, as where their calls of connect() waited behind those of others until they
// went on by themselves. Each leaves a line, with its number, its errno and its name, in a file of the collection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/record/collecting_note.h"
#include "backend/record/rank_records.h"

namespace spscope {

// Makes the file, with room on the disk for some of them, and returns what the environment of programs calls it
// (kMissedVariable). Where it cannot be made, nobody writes to it.
std::string make_missed_file(const CollectingNote& note);

// Calls `take` for each in the order in which they gave up, with its name, "python (process 4711)", and why it was
// missed. Reads the first 64 MiB of the file, which are some millions of processes, in pieces.
void for_each_missed(const CollectingNote& note,
                     const std::function<void(const std::string& process, const std::string& why)>& take);

// Of processes that were not collected, what the file says: an incident for each of at most kMostReasons reasons, which
// names the first process and counts the others.
class NotCollected {
 public:
  static constexpr std::size_t kMostReasons = 32;
  void add(const std::string& process, const std::string& why);
  std::vector<IncidentRecord> incidents() const;

 private:
  struct Reason {
    std::string why, first;
    std::int64_t others = 0;
  };
  std::vector<Reason> reasons_;
  std::int64_t of_other_reasons_ = 0;
};

// Of those that for_each_missed() gives, as attach stores them: for recover, when attach could not.
std::vector<IncidentRecord> incidents_of_missed(const CollectingNote& note);
// Once the head has these: recover adds nothing to them, and a process that asks later leaves no line.
void remove_missed_file(const CollectingNote& note);

}  // namespace spscope
