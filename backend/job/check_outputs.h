// Holds outputs of attention that any program left in files against the attention in double precision of the q, k, v
// and mask beside them: which rows are off, by how much, and which known fault gives them (`spscope check`).
//
// A folder has q.npy, k.npy and v.npy, as `run --dump` writes them (schemas/dump.md), o-NAME.npy for each program, and,
// where attention is sparse, mask.npy with its borders. layer.json may be missing. Arrays are [heads, tokens, head_dim]
// or [tokens, heads, head_dim], with a batch in front or not; k and v may have fewer heads than q.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backend/base/memory_limit.h"
#include "backend/execute/reference/known_faults.h"

namespace spscope {

// How outputs were stored or computed, which decides how far a row may be off.
enum class OutputType { kFp32, kFp16, kBf16 };
std::string_view output_type_name(OutputType type);
// The largest row_error() of a row whose scores are small and whose values do not cancel.
double output_tolerance(OutputType type);

struct CheckRequest {
  std::string folder;           // of a layer, or of several below it
  std::string dtype = "auto";   // a name, or auto: by the numbers of the output
  int text_tokens = -1;         // -1: by layer.json, or none
  bool text_first = false;      // they come before the video
  int block = 0;                // of a mask without borders
  std::vector<int> parts = {};  // of the keys, that faults are looked for with; empty: 2 to 8, and 16
  bool all_rows = false;        // and not a sample
  std::int64_t max_bytes = kDefaultMaxMemoryBytes;
};

struct CheckedOutput {
  std::string name;  // "ring" of o-ring.npy
  OutputType type = OutputType::kFp32;
  std::int64_t rows = 0, rows_off = 0, rows_unjudged = 0;  // unjudged: their scores are too large for fp32
  double max_error = 0;                                    // of any row that was judged, as `verify` of a run has it
  double largest_error = 0, allowed = 0;                   // of the row that is most times over its limit
  RowPlace worst;
  int worst_head = 0;
  std::vector<std::int64_t> heads_off = {}, tokens_off = {};  // ascending; tokens of any sequence
  std::vector<KnownFault> faults;                             // known_faults()
  bool passes_as_fp16 = false, passes_as_bf16 = false;        // where it is off as what it is
};

struct CheckedAttention {
  std::string folder, suffix;  // "_temporal", "-pass-1"; "" of the first attention
  int heads = 1, kv_heads = 1, head_dim = 1;
  std::int32_t sequences = 1, tokens = 0;
  std::int64_t places = 0;                         // tokens of all sequences that were compared, at every head
  std::vector<std::int64_t> tokens_compared = {};  // of the sequences, ascending
  double density = 1;
  std::vector<CheckedOutput> outputs = {};
  bool passed() const;
};

// Every attention below the folder. Throws Error(kActivations) when there is none, when an array is missing or does not
// fit the others, and what array_file.h and mask_import.h throw of files.
std::vector<CheckedAttention> check_outputs(const CheckRequest& request);

}  // namespace spscope
