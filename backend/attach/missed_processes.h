// Processes that could not even ask attach, as where their calls of connect() waited behind those of others until they
// went on by themselves. Each leaves a line, with its number, its errno and its name, in a file of the collection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/record/collecting_note.h"

namespace spscope {

// Makes the file, with room on the disk for some of them, and returns what the environment of programs calls it
// (kMissedVariable). Where it cannot be made, nobody writes to it.
std::string make_missed_file(const CollectingNote& note);

struct MissedProcess {
  std::string name;  // "python (process 4711)"
  std::string why;
};
struct MissedProcesses {
  std::vector<MissedProcess> first;  // in the order in which they gave up
  std::int64_t number = 0;           // of all in the first 64 MiB of the file, which are some millions
};

// Reads the file in pieces, and keeps `most` of them.
MissedProcesses missed_processes(const CollectingNote& note, std::size_t most);

}  // namespace spscope
