#include "backend/store/shard_process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "backend/store/observed_run.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {
namespace {

// A claim is a line of four numbers.
std::string text_of(const std::vector<RankClaim>& claims) {
  std::string text;
  for (const RankClaim& claim : claims)
    text += fmt::format("{} {} {} {}\n", static_cast<std::uint32_t>(claim.source), claim.rank, claim.num_ranks,
                        claim.communicator);
  return text;
}

std::vector<RankClaim> claims_of(const std::string& text) {
  std::vector<RankClaim> claims;
  std::istringstream words(text);
  std::uint32_t source = 0;
  for (RankClaim claim; words >> source >> claim.rank >> claim.num_ranks >> claim.communicator;) {
    claim.source = static_cast<RankSource>(source);
    if (is_possible(claim)) claims.push_back(claim);
  }
  return claims;
}

template <typename Number>
std::vector<Number> numbers_in(const std::string& text) {
  std::vector<Number> numbers;
  std::istringstream words(text);
  for (Number number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

template <typename Number>
Number number_in(const std::string& text) {
  const std::vector<Number> numbers = numbers_in<Number>(text);
  return numbers.empty() ? 0 : numbers.front();
}

}  // namespace

void write_shard_process(Database& db, const ShardProcess& of) {
  const ProcessLife& process = of.process;
  Statement insert(db, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)");
  insert.run("process", process.name);
  insert.run("process_host", of.host);
  insert.run("process_boot_id", of.boot_id);
  insert.run("process_pid", std::to_string(process.pid));
  insert.run("process_ancestors", fmt::format("{}", fmt::join(process.ancestors, " ")));
  insert.run("process_begin_ns", std::to_string(process.begin_ns));
  if (process.end_ns) insert.run("process_end_ns", std::to_string(*process.end_ns));
  insert.run("process_ranks", text_of(process.claims));
  if (!of.windows.empty()) insert.run("process_windows", stored_windows(of.windows));
}

void read_process_fact(std::optional<ShardProcess>& of, std::string_view key, const std::string& value) {
  if (!key.starts_with("process")) return;
  if (!of) of.emplace();
  ProcessLife& process = of->process;
  if (key == "process") process.name = value;
  if (key == "process_host") of->host = value;
  if (key == "process_boot_id") of->boot_id = value;
  if (key == "process_pid") process.pid = number_in<int>(value);
  if (key == "process_ancestors") process.ancestors = numbers_in<int>(value);
  if (key == "process_begin_ns") process.begin_ns = number_in<std::int64_t>(value);
  if (key == "process_end_ns") process.end_ns = number_in<std::int64_t>(value);
  if (key == "process_ranks") process.claims = claims_of(value);
  if (key == "process_windows") of->windows = windows_in(value);
}

}  // namespace spscope
