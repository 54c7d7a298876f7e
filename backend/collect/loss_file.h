// LossFile: what a full disk lost, in a file of the collection that takes its room before the disk is full.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/record/collecting_note.h"
#include "backend/record/rank_records.h"

namespace spscope {

// Events that are in no shard and in no ledger of one.
struct Losses {
  std::int64_t events = 0;
  std::vector<IncidentRecord> incidents = {};  // which processes they are of
};

class LossFile {
 public:
  // Makes the file. Without room for it, later losses are not written.
  explicit LossFile(const CollectingNote& note);
  ~LossFile();
  LossFile(const LossFile&) = delete;
  LossFile& operator=(const LossFile&) = delete;

  // Once. Of incidents beyond the room of the file, only how many there are.
  void write(const Losses& losses) const;

 private:
  int file_;
};

// None where the file is not there or not whole.
Losses read_losses(const CollectingNote& note);

}  // namespace spscope
