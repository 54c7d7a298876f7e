#include "backend/plan/set_table.h"

#include <algorithm>

#include "backend/base/check.h"

namespace spscope {
namespace {

std::uint64_t pair_key(SetId a, SetId b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
}

}  // namespace

SetTable::SetTable() { rows_.push_back({0, 0, 0, kEmptySet}); }

SetId SetTable::intern(std::span<const Span> spans) {
  if (spans.empty()) return kEmptySet;
  std::uint64_t hash = spans.size();
  for (const Span& s : spans)
    hash = hash_mix(hash, static_cast<std::uint64_t>(static_cast<std::uint32_t>(s.begin)) << 32 |
                              static_cast<std::uint32_t>(s.end));
  const SetId* head = by_hash_.find(hash);
  for (SetId id = head ? *head : kEmptySet; id != kEmptySet; id = rows_[static_cast<std::size_t>(id)].next)
    if (std::ranges::equal(this->spans(id), spans)) return id;
  const SetId id{static_cast<std::int32_t>(rows_.size())};
  rows_.push_back({static_cast<std::int32_t>(pool_.size()), static_cast<std::int32_t>(spans.size()), total_size(spans),
                   head ? *head : kEmptySet});
  pool_.insert(pool_.end(), spans.begin(), spans.end());
  by_hash_.insert(hash, id) = id;
  return id;
}

SetId SetTable::of(std::vector<Span> spans) {
  std::erase_if(spans, [](const Span& s) { return s.size() <= 0; });
  std::ranges::sort(spans, {}, &Span::begin);
  std::size_t n = 0;
  for (const Span& s : spans) {
    if (n > 0 && s.begin <= spans[n - 1].end)
      spans[n - 1].end = std::max(spans[n - 1].end, s.end);
    else
      spans[n++] = s;
  }
  spans.resize(n);
  return intern(spans);
}

SetId SetTable::span(std::int32_t begin, std::int32_t end) {
  const Span s{begin, end};
  return s.size() > 0 ? intern({&s, 1}) : kEmptySet;
}

SetId SetTable::indices(std::span<const std::int32_t> indices) {
  std::vector<Span> spans;
  for (std::int32_t i : indices) spans.push_back({i, i + 1});
  return of(std::move(spans));
}

SetId SetTable::both(SetId a, SetId b) {
  if (a == b) return a;
  if (a == kEmptySet || b == kEmptySet) return kEmptySet;
  if (b < a) std::swap(a, b);
  if (const SetId* known = both_.find(pair_key(a, b))) return *known;
  const auto x = spans(a), y = spans(b);
  std::vector<Span> out = std::move(scratch_);
  out.clear();
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    const Span s{std::max(x[i].begin, y[j].begin), std::min(x[i].end, y[j].end)};
    if (s.size() > 0) out.push_back(s);
    x[i].end < y[j].end ? ++i : ++j;
  }
  const SetId result = intern(out);
  scratch_ = std::move(out);
  return both_.insert(pair_key(a, b), result);
}

SetId SetTable::minus(SetId a, SetId b) {
  if (a == b || a == kEmptySet) return kEmptySet;
  if (b == kEmptySet) return a;
  if (const SetId* known = minus_.find(pair_key(a, b))) return *known;
  const auto x = spans(a), y = spans(b);
  std::vector<Span> out;
  std::size_t j = 0;
  for (Span s : x) {
    while (j < y.size() && y[j].end <= s.begin) ++j;
    for (std::size_t k = j; k < y.size() && y[k].begin < s.end; ++k) {
      if (s.begin < y[k].begin) out.push_back({s.begin, y[k].begin});
      s.begin = std::max(s.begin, y[k].end);
    }
    if (s.begin < s.end) out.push_back(s);
  }
  return minus_.insert(pair_key(a, b), intern(out));
}

SetId SetTable::unite(std::span<const SetId> ids) {
  std::vector<SetId> operands(ids.begin(), ids.end());
  std::ranges::sort(operands);
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  if (!operands.empty() && operands.front() == kEmptySet) operands.erase(operands.begin());
  if (operands.empty()) return kEmptySet;
  if (operands.size() == 1) return operands.front();
  std::uint64_t hash = operands.size();
  for (SetId id : operands) hash = hash_mix(hash, static_cast<std::uint64_t>(id));
  // The memo holds the position of the operand list, so that two lists with one hash can be distinguished.
  if (const SetId* at = unite_.find(hash)) {
    const SetId* list = unite_lists_.data() + static_cast<std::size_t>(*at);
    const std::size_t n = static_cast<std::size_t>(list[0]);
    if (n == operands.size() && std::equal(operands.begin(), operands.end(), list + 1)) return list[n + 1];
  }
  std::vector<Span> all;
  for (SetId id : operands) {
    const auto s = spans(id);
    all.insert(all.end(), s.begin(), s.end());
  }
  const SetId result = of(std::move(all));
  unite_.insert(hash, {}) = SetId{static_cast<std::int32_t>(unite_lists_.size())};
  unite_lists_.push_back(SetId{static_cast<std::int32_t>(operands.size())});
  unite_lists_.insert(unite_lists_.end(), operands.begin(), operands.end());
  unite_lists_.push_back(result);
  return result;
}

SetId SetTable::slice(SetId id, std::int64_t from, std::int64_t to) {
  SPSCOPE_CHECK(0 <= from && from <= to && to <= size(id));
  std::vector<Span> out;
  std::int64_t position = 0;
  for (const Span& s : spans(id)) {
    const std::int64_t a = std::max(from, position), e = std::min(to, position + s.size());
    if (a < e)
      out.push_back(
          {static_cast<std::int32_t>(s.begin + a - position), static_cast<std::int32_t>(s.begin + e - position)});
    position += s.size();
  }
  return intern(out);
}

std::vector<SetId> SetTable::even(SetId id, int parts) {
  std::vector<SetId> out;
  const std::int64_t m = size(id);
  for (int j = 0; j < parts; ++j) out.push_back(slice(id, m * j / parts, m * (j + 1) / parts));
  return out;
}

std::vector<std::int32_t> members(const SetTable& sets, SetId set) {
  std::vector<std::int32_t> out;
  for (const Span& span : sets.spans(set))
    for (std::int32_t i = span.begin; i < span.end; ++i) out.push_back(i);
  return out;
}

}  // namespace spscope
