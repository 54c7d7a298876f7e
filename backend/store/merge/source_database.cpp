#include "backend/store/merge/source_database.h"

#include <algorithm>

#include "backend/base/process.h"

namespace spscope {
namespace {

std::size_t most_open() {
  constexpr std::int64_t kEach = 3, kOfOthers = 12, kLeast = 2, kMost = 256;  // a file, its log, the index of the log
  return static_cast<std::size_t>(std::clamp((descriptors_left() - kOfOthers) / kEach, kLeast, kMost));
}

}  // namespace

OpenSources::OpenSources() : most_(most_open()) {}

SourceDatabase::SourceDatabase(Database db, std::function<Database()> open, std::shared_ptr<OpenSources> all)
    : db_(std::move(db)), open_again_(std::move(open)), all_(std::move(all)) {
  all_->open_.push_front(this);
  place_ = all_->open_.begin();
  get();
}

SourceDatabase::~SourceDatabase() {
  if (all_ != nullptr && db_) all_->open_.erase(place_);
}

Database& SourceDatabase::get() {
  if (all_ == nullptr) return *db_;
  if (!db_) {
    db_.emplace(open_again_());
    all_->open_.push_front(this);
    place_ = all_->open_.begin();
  }
  all_->open_.splice(all_->open_.begin(), all_->open_, place_);
  while (all_->open_.size() > all_->most_) all_->open_.back()->close();
  return *db_;
}

Statement& SourceDatabase::chunk_data() {
  Database& db = get();
  if (!chunk_data_) chunk_data_.emplace(db, "SELECT data FROM main.chunk WHERE chunk_id = ?");
  return *chunk_data_;
}

void SourceDatabase::close() {
  all_->open_.erase(place_);
  chunk_data_.reset();
  db_.reset();
}

}  // namespace spscope
