// Processes that could not even ask attach: their calls of connect() waited behind those of others until they went on
// by themselves. Each leaves a line, with its number and its name, in a file of the collection.
#pragma once

#include <string>
#include <vector>

#include "backend/record/collecting_note.h"

namespace spscope {

// Makes the file, with room on the disk for some of them, and returns its path, for the environment of programs. Where
// it cannot be made, nobody writes to it.
std::string make_missed_file(const CollectingNote& note);

// "python (process 4711)" of each, in the order in which they gave up; at most some ten thousand.
std::vector<std::string> missed_processes(const CollectingNote& note);

}  // namespace spscope
