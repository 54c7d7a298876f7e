#include "backend/execute/reference/faults_of_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "backend/base/listed.h"

namespace spscope {
namespace {

// Every head that is off holds what another one should.
void other_heads(FaultRows& rows) {
  std::map<int, std::vector<std::size_t>> of_head;
  for (const std::size_t row : rows.off()) of_head[rows.head(row)].push_back(row);
  std::map<int, int> holds;
  double left = 0;
  for (const auto& [off_head, of] : of_head) {
    const int h = off_head;  // clang 14 captures no binding
    for (int other = 0; other < rows.attention().heads && !holds.contains(h); ++other) {
      const auto row_of = [&](std::size_t row) {
        return row - static_cast<std::size_t>(h) + static_cast<std::size_t>(other);
      };
      if (other != h &&
          std::ranges::all_of(of, [&](std::size_t row) { return rows.fits(row, rows.right(row_of(row))); })) {
        holds[h] = other;
        for (const std::size_t row : of)
          left = std::max(left, row_error(rows.found(row), rows.right(row_of(row)), rows.compared().least_square));
      }
    }
    if (!holds.contains(h)) return;
  }
  constexpr std::size_t kMostNamed = 4;
  std::string text = "heads are in another order: ";
  std::size_t named = 0;
  for (const auto& [h, other] : holds)
    if (named++ < kMostNamed) text += fmt::format("{}head {} holds head {}", named > 1 ? ", " : "", h, other);
  if (holds.size() > kMostNamed) text += ", ...";
  if (holds.size() == 2 && holds.begin()->second == holds.rbegin()->first &&
      holds.rbegin()->second == holds.begin()->first)
    text = fmt::format("heads {} and {} are swapped", holds.begin()->first, holds.rbegin()->first);
  rows.add({"other_heads", text, left, true});
}

// Every chosen row is the right one of another place.
void other_tokens(FaultRows& rows) {
  double left = 0;
  std::string example;
  for (const std::size_t row : rows.chosen()) {
    std::optional<std::size_t> at;
    for (std::size_t p = 0; p < rows.compared().places.size() && !at; ++p) {
      const std::size_t other =
          p * static_cast<std::size_t>(rows.attention().heads) + static_cast<std::size_t>(rows.head(row));
      if (other != row && !rows.is_zero(rows.right(other)) && rows.fits(row, rows.right(other))) at = other;
    }
    if (!at) return;
    left = std::max(left, row_error(rows.found(row), rows.right(*at), rows.compared().least_square));
    if (example.empty()) example = fmt::format("token {} holds token {}", rows.place(row).token, rows.place(*at).token);
  }
  rows.add({"other_tokens", fmt::format("tokens are in another order: {}", example), left, true});
}

// "the rows of ranks 0 and 2 of 4 are 0: ...": the parts that hold every row that is 0 and none that is not, in the
// first way of cutting that has some. `all_zero`: whether it is so of all rows in [begin, end), also of those that were
// not compared.
std::string ranks_of_zeros(const std::vector<Partition>& ways, const std::set<std::int32_t>& zero,
                           const std::set<std::int32_t>& other, std::string_view what,
                           const std::function<bool(std::int32_t begin, std::int32_t end)>& all_zero) {
  for (const Partition& way : ways) {
    std::set<int> parts, kept;
    for (const std::int32_t at : zero) parts.insert(way.part_of(at));
    for (const std::int32_t at : other) kept.insert(way.part_of(at));
    std::vector<std::string> spans;
    bool whole = true;
    for (const int part : parts) {
      const std::int32_t begin = way.cuts[static_cast<std::size_t>(part)],
                         end = way.cuts[static_cast<std::size_t>(part) + 1];
      whole = whole && !kept.contains(part) && all_zero(begin, end);
      spans.push_back(fmt::format("{} to {}", begin, end - 1));
    }
    if (whole)
      return fmt::format("the rows of rank{} {} of {} are 0: {} {}", parts.size() == 1 ? "" : "s", listed(parts),
                         way.parts(), what, listed(spans));
  }
  return "";
}

}  // namespace

void judge_order(FaultRows& rows) {
  other_heads(rows);
  other_tokens(rows);
}

std::string zero_rows_text(const FaultRows& rows, const LeftZero& left_zero) {
  const auto is_zero = [&](std::size_t row) { return FaultRows::is_zero(rows.found(row)); };
  if (!std::ranges::all_of(rows.off(), is_zero)) return "";
  const RightAttention& attention = rows.attention();
  const auto all_zero = [&](Span tokens, Span heads) {
    for (std::int32_t token = tokens.begin; token < tokens.end; ++token)
      for (std::int32_t head = heads.begin; head < heads.end; ++head)
        if (!left_zero(token, head)) return false;
    return true;
  };
  const Span every_token = {0, attention.tokens}, every_head = {0, attention.heads};
  std::set<std::int32_t> tokens, heads, other_tokens, other_heads;
  for (std::size_t row = 0; row < rows.compared().errors.size(); ++row) {
    if (FaultRows::is_zero(rows.right(row))) continue;
    (is_zero(row) ? tokens : other_tokens).insert(rows.place(row).token);
    (is_zero(row) ? heads : other_heads).insert(rows.head(row));
  }
  if (other_tokens.empty() && all_zero(every_token, every_head)) return "all of its rows are 0";
  const std::span<const std::int32_t> starts = attention.head_rows(0, 0).mask->coarse_starts();
  std::string text = ranks_of_zeros(partitions(attention.tokens, attention.parts, starts), tokens, other_tokens,
                                    "tokens", [&](std::int32_t begin, std::int32_t end) {
                                      return all_zero({begin, end}, every_head);
                                    });
  std::vector<std::int32_t> head_starts(static_cast<std::size_t>(attention.heads) + 1);
  std::iota(head_starts.begin(), head_starts.end(), 0);
  if (text.empty())
    text = ranks_of_zeros(partitions(attention.heads, attention.parts, head_starts), heads, other_heads, "heads",
                          [&](std::int32_t begin, std::int32_t end) {
                            return all_zero(every_token, {begin, end});
                          });
  return text.empty() ? "every row that was compared and is off is 0" : text;
}

}  // namespace spscope
