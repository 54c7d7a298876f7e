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
  bool of_file = false;                       // and not of a machine or a folder
  std::string unchecked = {};                 // why pages have not been compared with checksums; "": they have
  std::int64_t bad_pages = 0;                 // that differ from their checksums
  bool bad_page_checksums = false;            // these are damaged themselves
  std::int64_t bad_chunks = 0, bad_rows = 0;  // damaged; bad_rows: packed rows of other tables than `chunk`
  std::int64_t disagreements = 0;             // figures that the file holds twice and that differ
};

// Reads every part of the file once: its pages with their checksums, events with theirs, packed rows, plans, timelines,
// clocks, incidents. Masks with a recipe are made again and their hash compared, and so are figures that are stored
// twice. Damage of pages, chunks and packed rows is counted, as are figures that disagree; throws Error at any other
// damage.
FileFindings check_file(const std::string& path);

}  // namespace spscope
