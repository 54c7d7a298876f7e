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

struct FileFindings {
  std::vector<Finding> list;
  bool of_file = false;             // and not of a machine or a folder
  std::string unchecked = {};       // why pages have not been compared with checksums; "": they have
  std::int64_t bad_pages = 0;       // that differ from their checksums
  bool bad_page_checksums = false;  // these are damaged themselves
  std::int64_t bad_chunks = 0;      // that cannot be decoded
  std::int64_t bad_rows = 0;        // layer passes without a readable plan or timeline, masks of another hash
};

// Reads every part of the file once: its pages with their checksums, events with theirs, plans, timelines, clocks,
// incidents. Masks with a recipe are made again and their hash compared. Damage of these is
// counted. Throws Error when the file cannot be opened, or another part of a file with sound pages cannot be read.
FileFindings check_file(const std::string& path);

}  // namespace spscope
