// SharedLink: a processor-sharing server. A job is the time that it takes alone; each of n active jobs gets 1/n.
//
// It is computed by virtual time: V grows by 1 / n a nanosecond, and a job of s nanoseconds that arrives at V ends at
// V + s, so an arrival or a departure costs one heap operation for any number of jobs. Jobs arrive at whole nanoseconds
// and end at exact times; only reported times are rounded up to a whole nanosecond, so rounding does not accumulate.
#pragma once

#include <cstdint>
#include <vector>

namespace spscope {

// x rounded up to a whole number, except that an excess within rounding error is dropped.
std::int64_t whole_ns(double x);

class SharedLink {
 public:
  // Adds a job. REQUIRES: now never decreases from call to call; service_ns >= 0.
  void add(std::int64_t now_ns, double service_ns, std::int32_t job);
  // Appends the jobs that have ended by now, in the order of their ends.
  void take_ended(std::int64_t now_ns, std::vector<std::int32_t>& jobs);
  bool busy() const { return !jobs_.empty(); }
  // The end of the next job if no other arrives before. REQUIRES: busy(), and take_ended() since the last end.
  std::int64_t next_end_ns() const;

 private:
  struct Job {
    double ends_at;  // in virtual time
    std::int32_t job;
    bool operator<(const Job& other) const {  // for a heap with the first end on top
      return ends_at != other.ends_at ? ends_at > other.ends_at : job > other.job;
    }
  };
  void settle(std::int64_t now_ns);

  std::int64_t busy_since_ns_ = 0;  // the times below count from here, which keeps them small and exact
  double last_ns_ = 0, virtual_ns_ = 0;
  std::vector<Job> jobs_;
  std::vector<std::int32_t> ended_;
};

}  // namespace spscope
