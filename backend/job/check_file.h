// check_file(): reads a stored run to its end and reports what is in it, what is missing, and what is damaged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spscope {

struct Finding {
  std::string name, value;
  bool ok = true;  // false: needs attention
};

struct CheckedFile {
  std::vector<Finding> list;
  std::int64_t bad_chunks = 0, bad_rows = 0;  // damaged; bad_rows: packed rows of other tables than `chunk`
};

// Reads every part of the file once: events with their checksums, packed rows, plans, timelines, clocks, incidents.
// Masks with a recipe are made again and their hash compared. Damage of chunks and packed rows is counted; throws Error
// at any other damage.
CheckedFile check_file(const std::string& path);

}  // namespace spscope
