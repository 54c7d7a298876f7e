// Known ways in which attention over several ranks goes wrong. Each is computed in double precision from the same q, k,
// v and mask, and a fault is named only where it gives the rows that a program left.
//
// Most faults are about parts of the keys, one for each rank of a ring: attended alone, left out, or merged without
// their log-sum-exp. A row is therefore computed once for each stretch of keys between two cuts of any of these
// partitions, and each fault folds those stretches in its own way.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/base/span_of_axis.h"
#include "backend/execute/reference/attention_rows.h"

namespace spscope {

// A token of one attended sequence.
struct RowPlace {
  std::int32_t sequence = 0, token = 0;
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

// The right attention, and how its sequences are divided. `head_rows`: of a sequence and a head.
struct RightAttention {
  std::function<HeadRows(std::int32_t sequence, int head)> head_rows;
  int heads = 1, head_dim = 1;
  std::int32_t tokens = 0;      // of a sequence
  Span text = {0, 0};           // of its tokens
  std::vector<int> parts = {};  // numbers of parts of the keys to look for
};

// What a program left at all heads of some places, beside what is right. Row p * heads + h is head h at place p.
struct ComparedRows {
  std::vector<RowPlace> places;
  std::vector<double> found = {}, right = {};    // [rows, head_dim]
  std::vector<double> errors = {}, limits = {};  // of each row; an infinite limit: not judged
  double least_square = 0;                       // row_error() divides by no less
  bool off(std::size_t row) const { return !(errors[row] <= limits[row]); }
};

// Sum of squared differences over the sum of squares of `right`, or over `least_square` where that is larger. Infinite
// where a number is not finite, or where `right` is 0 and `found` is not.
double row_error(std::span<const double> found, std::span<const double> right, double least_square);

// Whether a program left 0 at a token and head of every sequence, compared or not.
using LeftZero = std::function<bool(std::int32_t token, std::int32_t head)>;

struct KnownFault {
  std::string id;    // "local_keys"
  std::string text;  // a sentence without its full stop
  double left = 0;   // the largest error of a row of the program against the fault
  bool fits = false;
};

// The faults that give the rows that are off, best first; where none does, the one that leaves least if that is less
// than a tenth of the error, with `fits` false. Of many rows some are looked at, but for rows of 0: what is said of a
// rank holds for all of its rows.
std::vector<KnownFault> known_faults(const RightAttention& attention, const ComparedRows& rows,
                                     const LeftZero& left_zero);

}  // namespace spscope
