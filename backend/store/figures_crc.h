// The checksum that a finished run carries of its own figures (run.figures_crc32c): of its row of `run` and its rows of
// rank_usage, traffic and repeat. Shards have no checksums of pages, so that a merge knows by it that the figures of a
// killed run are those that were written. What a merge rewrites is left out: begin, end and timeline of a repeat.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/record/events.h"

namespace spscope {

class Database;

// CRC-32C of the rows that a file holds of a run; docs/file-format.md has the bytes. Throws Error when SQLite cannot
// read them.
std::uint32_t figures_crc32c(Database& db, RunId run);
// Stores it of a finished run, and NULL of any other.
void store_figures_crc(Database& db, RunId run);

// "usp-2, layer 3, denoise step 1"; "run 7" when its strategy has no row.
std::string run_name(Database& db, RunId run);

struct UnmatchedRun {
  RunId run = {};
  std::string what;  // "its figures are not those that were written: ..."
};
// Runs with other figures than their checksum is of, and those that have one although they are not finished, by key.
// A finished run without a checksum counts as one where every finished run has it (`required`): in shards.
std::vector<UnmatchedRun> unmatched_figures(Database& db, bool required);

}  // namespace spscope
