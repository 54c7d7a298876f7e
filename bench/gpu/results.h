// The results of a GPU machine in a folder: results.json, from which a later call goes on, and results.md.
#pragma once

#include <string>

#include "backend/base/json.h"
#include "bench/gpu/check.h"

namespace spscope::gpu_check {

// A results.json. Throws Error when `path` holds none.
Json read_results(const std::string& path);

class Results {
 public:
  // Reads what OUT holds already, unless that was without a GPU and here is one. Throws Error when that is no result of
  // gpu-check, or one of another GPU, driver, version or size.
  Results(const std::string& out, const Machine& machine, bool tiny);

  bool has_passed(const Check& check) const;
  // `result` as json_of() makes it. Written at once, so that nothing is lost when a later check is killed.
  void add(const Check& check, Json result, double seconds);

  struct Count {
    int passed = 0, failed = 0, skipped = 0, not_run = 0;
  };
  Count count() const;

 private:
  void write() const;
  std::string markdown() const;

  std::string out_;
  Json machine_;
  std::map<std::string, Json> by_name_;  // of all checks
};

}  // namespace spscope::gpu_check
