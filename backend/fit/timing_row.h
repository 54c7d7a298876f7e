// Rows of a table of published or own times of diffusion transformers: bench/measured/README.md has the columns.
#pragma once

#include <string>
#include <vector>

#include "backend/fit/table_row.h"

namespace spscope {

// What a time is of: one denoise step; all of them; a whole generation with what is outside of the layers.
enum class TimingScope { kStep, kDenoise, kEndToEnd };

// One time with the run that took it. The model's shape is that of a preset, or the columns replace it.
struct TimingRow {
  std::string id, source, gpu, interconnect, model, software, other_parallel, left_out;
  std::string implementation, kernel;              // names of profile layers; "": the default
  int gpus = 1, width = 0, height = 0;             // pixels of the output
  int frames = 0, steps = 0, guidance_passes = 0;  // frames of a video; 0: those of the model's preset
  int ulysses = 1, ring = 1, cfg_parallel = 1;
  TimingScope scope = TimingScope::kEndToEnd;
  double seconds = 0;
  SourcePlace place;

  bool nvlink() const { return interconnect.empty() || interconnect == "-" || interconnect.starts_with("NVLink"); }
};

// What ran, without its time, of the columns that tables of times and of memory share.
TimingRow run_of(const TableRow& cells);
// The rows of the table, or every cell that cannot be used with what to do about it.
Result<std::vector<TimingRow>> timing_rows(const CsvTable& table);
// The same of a file.
Result<std::vector<TimingRow>> read_timing_rows(const std::string& path);

}  // namespace spscope
