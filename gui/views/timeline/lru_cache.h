// LruCache: answers by their keys, up to so many bytes; those used longest ago go first. Of the thread that draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace spscope::gui {

template <typename Key, typename Value>
class LruCache {
 public:
  explicit LruCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // nullptr when it is not there. Counts as a use.
  std::shared_ptr<const Value> find(const Key& key) {
    const auto found = kept_.find(key);
    if (found == kept_.end()) return nullptr;
    touch(found);
    return found->second.value;
  }
  bool holds(const Key& key) const { return kept_.contains(key); }
  // A value larger than all that may be kept is kept alone.
  void put(const Key& key, std::shared_ptr<const Value> value, std::size_t bytes) {
    erase(key);
    const auto placed = kept_.emplace(key, Kept{std::move(value), bytes, 0}).first;
    bytes_ += bytes;
    touch(placed);
    while (bytes_ > most_bytes_ && kept_.size() > 1) erase(Key(by_use_.begin()->second));
  }
  void erase(const Key& key) {
    const auto found = kept_.find(key);
    if (found == kept_.end()) return;
    by_use_.erase(found->second.used);
    bytes_ -= found->second.bytes;
    kept_.erase(found);
  }
  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    std::shared_ptr<const Value> value;
    std::size_t bytes = 0;
    std::uint64_t used = 0;
  };
  using Map = std::map<Key, Kept>;
  void touch(typename Map::iterator kept) {
    by_use_.erase(kept->second.used);
    kept->second.used = ++uses_;
    by_use_.emplace(uses_, kept->first);
  }

  std::size_t most_bytes_, bytes_ = 0;
  std::uint64_t uses_ = 0;
  Map kept_;
  std::map<std::uint64_t, Key> by_use_;
};

}  // namespace spscope::gui
