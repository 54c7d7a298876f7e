// SourceDatabase: the database of a shard that a merge reads. A shard takes three descriptors and some memory, and
// there may be thousands of them, so that it is closed while others are read and opened again when it is wanted.
//
// A merge lists the chunks of a shard when it opens it first, and later asks for them by their ids. Chunks are added
// and never changed, so a shard that is opened again has them all, also one that somebody still writes to. In a shard
// that was replaced or damaged meanwhile, a chunk is missing or fails its checksum.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "backend/store/sqlite/sqlite.h"

namespace spscope {

class SourceDatabase;

// Those of a merge that are open, the last used first. For one thread at a time.
class OpenSources {
 public:
  // As many as this process may still open, with some descriptors left for the output; at least 2 and at most 256.
  OpenSources();

 private:
  friend SourceDatabase;
  const std::size_t most_;
  std::list<SourceDatabase*> open_;
};

class SourceDatabase {
 public:
  // One that stays open.
  explicit SourceDatabase(Database db) : db_(std::move(db)) {}
  // One that may be closed, and opened again by `open`, while it is one of `all`.
  SourceDatabase(Database db, std::function<Database()> open, std::shared_ptr<OpenSources> all);
  ~SourceDatabase();
  SourceDatabase(const SourceDatabase&) = delete;
  SourceDatabase& operator=(const SourceDatabase&) = delete;

  // Valid until another one is asked for: no statement outlives that. Throws Error: it cannot be opened again.
  Database& get();
  // Gives the bytes of one chunk, by its chunk_id. As valid as get().
  Statement& chunk_data();

 private:
  void close();

  std::optional<Database> db_;
  std::optional<Statement> chunk_data_;
  std::function<Database()> open_again_;
  std::shared_ptr<OpenSources> all_;
  std::list<SourceDatabase*>::iterator place_;  // in `all_`, while it is open
};

}  // namespace spscope
