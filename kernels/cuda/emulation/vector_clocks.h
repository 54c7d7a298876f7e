// Vector clocks: which accesses of the threads of a block are ordered by barriers between them.
//
// Each thread counts its own time, which advances when others may learn of what it did before. An access
// (thread, time) happened before what thread b does now when b has learned of that time, over any chain of barriers
// (Lamport 1978; as race detectors use it: Flanagan and Freund, FastTrack, PLDI 2009).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spscope::kernels::cuda {

inline constexpr std::uint16_t kNobody = 0xffff;

struct Access {
  std::uint32_t time = 0;
  std::uint16_t thread = kNobody;
};

class VectorClocks {
 public:
  void reset(int threads) {
    threads_ = static_cast<std::size_t>(threads);
    known_.assign(threads_ * threads_, 0);
    for (std::size_t t = 0; t < threads_; ++t) known_[t * threads_ + t] = 1;
  }

  std::uint32_t now(int thread) const { return known(thread)[static_cast<std::size_t>(thread)]; }
  bool ordered(const Access& before, int thread) const {
    return before.thread == thread || before.time <= known(thread)[before.thread];
  }

  // All of these threads meet: each knows what each did, and goes on.
  void meet(std::span<const int> threads) {
    if (threads.empty()) return;
    met_.assign(threads_, 0);
    for (const int t : threads) learn_into(met_, t);
    for (const int t : threads) {
      std::copy(met_.begin(), met_.end(), known_.begin() + static_cast<std::ptrdiff_t>(row(t)));
      advance(t);
    }
  }

 private:
  std::size_t row(int thread) const { return static_cast<std::size_t>(thread) * threads_; }
  const std::uint32_t* known(int thread) const { return known_.data() + row(thread); }
  void advance(int thread) { ++known_[row(thread) + static_cast<std::size_t>(thread)]; }
  void learn_into(std::vector<std::uint32_t>& clock, int thread) const {
    const std::uint32_t* const of = known(thread);
    for (std::size_t i = 0; i < threads_; ++i) clock[i] = std::max(clock[i], of[i]);
  }

  std::size_t threads_ = 0;
  std::vector<std::uint32_t> known_;  // [thread][of thread]
  std::vector<std::uint32_t> met_;
};

}  // namespace spscope::kernels::cuda
