// Rows of the table of published peaks of memory (bench/measured/memory.csv; its README has the columns), and what the
// program counts for each of them.
#pragma once

#include <string>
#include <vector>

#include "backend/base/result.h"
#include "backend/fit/row_config.h"
#include "backend/schedule/memory_need.h"

namespace spscope {

// A run with its peak on the fullest GPU, or one that ran out of memory.
struct MemoryRow {
  TimingRow run;                                    // what ran, without a time
  int experts = 0, batch = 1;                       // experts on the GPU; 0: all of the model
  std::string weights, weight_dtype, text_encoder;  // values of the keys of [run]
  bool by_allocator = false;  // the peak is what tensors took; otherwise what the device had to give, or it is not said
  bool ran_out = false;
  double gib = 0;  // of a peak; where it ran out, what the GPU has
};

// The rows of a file, those left out too; the error names every cell that cannot be used.
Result<std::vector<MemoryRow>> read_memory_rows(const std::string& path);

// What the program says of the row, in GiB. `counted` leaves out what is reserved for driver and libraries, which no
// allocator counts; `most` adds what is not counted, and with it where the peak may hold it.
struct CountedMemory {
  MemoryNeed need;
  double counted = 0, most = 0;
};
// Throws Error when the row has no run. REQUIRES: it is not left out.
CountedMemory counted_memory(const MemoryRow& row);

// Whether a peak lies between both, or a run that did not fit is not called one that fits without a warning.
bool as_counted(const MemoryRow& row, const CountedMemory& memory);

// The section of docs/accuracy.md, heading included.
std::string memory_section(const std::vector<MemoryRow>& rows);

}  // namespace spscope
