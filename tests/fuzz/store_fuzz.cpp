// A finished file in which another program changed bytes.
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/read_store.h"
#include "tests/fuzz/sample_plans.h"

namespace spscope::fuzz {

// Small pages make small files, which are tried more often.
std::vector<std::string> seeds() {
  const TemporaryFolder folder;
  testing::write_sample(folder / "sample.db", {}, ring_plan(3));
  testing::tamper(folder / "sample.db", "PRAGMA page_size = 512; VACUUM");
  return {testing::read_file(folder / "sample.db")};
}

void read(std::string_view input) { read_store(as_file(input, "input.db"), choice_of(input)); }

}  // namespace spscope::fuzz
