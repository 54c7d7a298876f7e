// A RankWorld for tests of what needs only some of it: every call that a test does not define is an error of the test.
#pragma once

#include <stdexcept>

#include "backend/execute/rank_world.h"

namespace spscope::testing {

class PartialWorld : public RankWorld {
 public:
  explicit PartialWorld(int rank) : rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return 2; }
  const RankPlace& place(int) const override { unused(); }
  bool oversubscribed() const override { unused(); }
  void barrier() override { unused(); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte>) override { unused(); }
  std::vector<std::int64_t> sum(std::vector<std::int64_t>) override { unused(); }
  std::optional<Error> agree(const std::optional<Error>&) override { unused(); }
  std::string share(const std::string&) override { unused(); }
  void send(int, std::span<const std::byte>) override { unused(); }
  void receive(int, std::span<std::byte>) override { unused(); }
  bool leave_together(double) override { unused(); }
  void measure_clocks() override { unused(); }
  const std::vector<ClockOfRank>& clocks() const override { unused(); }
  [[noreturn]] void abort(const std::string&) override { unused(); }

 private:
  [[noreturn]] static void unused() { throw std::logic_error("this part of a world was not to be used"); }
  const int rank_;
};

}  // namespace spscope::testing
