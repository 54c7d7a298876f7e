// A sweep: one run for each combination of values of some config keys, each over several seeds, in one tidy table: a
// row for each cell and strategy, a column for each key.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/report/svg.h"
#include "backend/study/seeds.h"

namespace spscope {

// "mask.density=0.1,0.2,0.4": a key and its values. Values that hold commas themselves are divided by semicolons.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};
// Throws Error(kUsage) with all problems: no "=", no value, a key or a value twice, a key that says where files go.
// What other keys and values mean is up to load_job().
std::vector<SweepAxis> sweep_axes(std::span<const std::string> texts);

// One combination: a value for each axis, and the job that has them.
struct SweepCell {
  std::vector<std::string> values;
  Job job;
  int seeds = 1;
  // config_hash of its config, and "-" input_hash where it reads files; with seeds and the program's version it names
  // the cell in the table.
  std::string hash;
};
// The last axis changes fastest. Throws Error with the problems of the first cell that has some.
std::vector<SweepCell> sweep_cells(const JobFlags& flags, std::span<const SweepAxis> axes, int seeds,
                                   std::int64_t max_memory_bytes);

// The rows of cells that are done, as they stand in the table: by cell, in the order of cells.
class SweepTable {
 public:
  SweepTable(std::span<const SweepAxis> axes, std::string tool_version);

  // Reads what an earlier sweep of the same axes wrote to `path`, and keeps the rows of `cells`; nothing when there is
  // no such file. A cell that has lost a row is not kept. Throws Error(kUsage): the file is another table, or has a
  // figure that no sweep writes.
  void resume(const std::string& path, std::span<const SweepCell> cells);
  bool has(const SweepCell& cell) const { return rows_.contains(key_of(cell)); }
  void add(const SweepCell& cell, const SeededRuns& runs);
  // RFC 4180, with a line of headings.
  std::string csv(std::span<const SweepCell> cells) const;
  // Time of a layer over the values of the first axis that has several, a figure for each combination of the others,
  // which says the model, the cluster and the scope. By file name.
  std::map<std::string, std::string> figures(std::span<const SweepAxis> axes, std::span<const SweepCell> cells) const;

 private:
  std::string key_of(const SweepCell& cell) const;
  std::string header() const;

  std::vector<std::string> keys_;
  std::string tool_version_;
  std::map<std::string, std::vector<std::vector<std::string>>> rows_;  // fields as text, by key_of()
};

}  // namespace spscope
