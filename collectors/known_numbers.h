// number_in: the number of a name or of a detail, for which a collector asks its sink once.
#pragma once

namespace spscope {

// `table` holds numbers by key; ask() gives that of a new one. 0, for which the sink has no room, is not kept: the
// table stops growing where the sink does, and the sink counts each event that it has no number for.
template <typename Table, typename Ask>
typename Table::mapped_type number_in(Table& table, const typename Table::key_type& key, const Ask& ask) {
  if (const auto known = table.find(key); known != table.end()) return known->second;
  const typename Table::mapped_type number = ask();
  if (number != 0) table.emplace(key, number);
  return number;
}

}  // namespace spscope
