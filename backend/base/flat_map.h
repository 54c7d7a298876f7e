// A hash map from 64-bit keys to small values for hot memo tables: open addressing with linear probing, load factor at
// most 1/2, no erase, one allocation. Takes half the time of std::unordered_map for the plan of a 1,024-rank layer,
// where most of the work is such look-ups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace spscope {

template <typename Value>
class FlatMap {
 public:
  // nullptr when the key is absent. The pointer is valid until the next insert.
  const Value* find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = start(key);; i = (i + 1) & mask()) {
      if (!slots_[i].used) return nullptr;
      if (slots_[i].key == key) return &slots_[i].value;
    }
  }
  Value* find(std::uint64_t key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

  // The value of the key, made from `value` when it is new.
  Value& insert(std::uint64_t key, Value value) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    std::size_t i = start(key);
    while (slots_[i].used && slots_[i].key != key) i = (i + 1) & mask();
    if (!slots_[i].used) slots_[i] = {key, std::move(value), true}, ++size_;
    return slots_[i].value;
  }
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value = {};
    bool used = false;
  };
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t start(std::uint64_t key) const {
    key ^= key >> 32;
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 20) & mask();
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    size_ = 0;
    for (Slot& slot : old)
      if (slot.used) insert(slot.key, std::move(slot.value));
  }
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

// Mixes a value into a running 64-bit hash (order matters).
constexpr std::uint64_t hash_mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t z = (hash ^ value) + 0x9e3779b97f4a7c15u + (hash << 6);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace spscope
