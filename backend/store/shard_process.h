// What the shard of a process that spscope attach watches says of that process: keys of meta, which begin with
// "process". They are there from the process's first moment on, so that recover decides its rank, and knows its
// windows, as attach does, which sees all processes end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/record/collect_windows.h"
#include "backend/record/process_ranks.h"

namespace spscope {

class Database;

struct ShardProcess {
  ProcessLife process;  // without `device`, which its tracks say
  std::string host, boot_id;
  std::vector<CollectWindow> windows = {};  // in which its events were wanted, on the raw clock; none: always
};

// In place of what the shard said.
void write_shard_process(Database& db, const ShardProcess& process);
// Takes a row of meta, of any key. What makes no sense says nothing.
void read_process_fact(std::optional<ShardProcess>& process, std::string_view key, const std::string& value);

}  // namespace spscope
