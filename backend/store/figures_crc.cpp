#include "backend/store/figures_crc.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string_view>

#include "backend/base/bytes.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

namespace {

// What the checksum is of, table by table, in this order. It is part of the file format.
constexpr std::string_view kFigures[] = {
    "SELECT run_id, strategy_id, layer, denoise_step, mesh, plan_id, compute_source, network_source, timing, "
    "planning_ns, density, tiles, tiles_redundant, moved_fraction, parameter_bytes, bound_ns, makespan_low_ns, "
    "makespan_high_ns, planned_imbalance_ratio, decided, verdict, max_error, error_metric FROM main.run WHERE run_id = "
    "?",
    "SELECT rank, tiles, flops, bytes_sent_intra_node, bytes_sent_inter_node, bytes_received, messages, "
    "memory_peak_bytes, memory_bound_bytes, counted FROM main.rank_usage WHERE run_id = ? ORDER BY rank",
    "SELECT src, dst, tensor, messages, bytes FROM main.traffic WHERE run_id = ? ORDER BY src, dst, tensor",
    "SELECT repeat, makespan_ns, lead_ns FROM main.repeat WHERE run_id = ? ORDER BY repeat",
};

void put(std::vector<std::uint8_t>& bytes, char type, std::uint64_t word) {
  bytes.push_back(static_cast<std::uint8_t>(type));
  const auto eight = std::bit_cast<std::array<std::uint8_t, 8>>(word);
  bytes.insert(bytes.end(), eight.begin(), eight.end());
}

// The type of a value, which damage can change too, and its bytes.
void put_value(std::vector<std::uint8_t>& bytes, sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
      return put(bytes, 'i', static_cast<std::uint64_t>(sqlite3_column_int64(row, column)));
    case SQLITE_FLOAT:
      return put(bytes, 'r', std::bit_cast<std::uint64_t>(sqlite3_column_double(row, column)));
    case SQLITE_NULL:
      return put(bytes, 'n', 0);
    default: {
      const auto* const begin = static_cast<const std::uint8_t*>(sqlite3_column_blob(row, column));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
      put(bytes, 't', size);
      if (size > 0) bytes.insert(bytes.end(), begin, begin + size);
    }
  }
}

}  // namespace

std::uint32_t figures_crc32c(Database& db, RunId run) {
  std::vector<std::uint8_t> bytes;
  for (const std::string_view sql : kFigures) {
    Statement rows(db, sql);
    std::uint64_t count = 0;
    for (rows.bind_all(run); rows.step(); ++count)
      for (int column = 0; column < rows.num_columns(); ++column) put_value(bytes, rows.handle(), column);
    put(bytes, 'e', count);
  }
  return crc32c(bytes);
}

void store_figures_crc(Database& db, RunId run) {
  Statement(db, "UPDATE run SET figures_crc32c = CASE WHEN finished THEN ?2 END WHERE run_id = ?1")
      .run(run, figures_crc32c(db, run));
}

std::string run_name(Database& db, RunId run) {
  Statement row(db,
                "SELECT id, layer, denoise_step FROM main.run JOIN main.strategy USING (strategy_id) WHERE run_id = ?");
  if (!row.bind_all(run).step()) return fmt::format("run {}", static_cast<std::int64_t>(run));
  return fmt::format("{}, layer {}, denoise step {}", row.text(0), row.integer(1), row.integer(2));
}

std::vector<UnmatchedRun> unmatched_figures(Database& db, bool required) {
  std::vector<UnmatchedRun> unmatched;
  Statement runs(db, "SELECT run_id, finished, figures_crc32c FROM main.run ORDER BY run_id");
  while (runs.step()) {
    const RunId run{runs.integer(0)};
    const bool has_checksum = !runs.is_null(2);
    if (!runs.flag(1)) {
      if (has_checksum) unmatched.push_back({run, "it has a checksum of figures and is marked as not finished"});
    } else if (!has_checksum) {
      if (required) unmatched.push_back({run, "the checksum of its figures is missing"});
    } else if (runs.integer(2) != std::int64_t{figures_crc32c(db, run)}) {
      unmatched.push_back({run, "its figures are not those that were written: their checksum differs"});
    }
  }
  return unmatched;
}

}  // namespace spscope
