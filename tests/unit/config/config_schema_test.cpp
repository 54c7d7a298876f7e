// The committed JSON schema is the one the table of keys makes, and it describes the defaults.
#include "backend/config/config_schema.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/base/whole_file.h"
#include "backend/config/text_file.h"

namespace spscope {
namespace {

const std::string kCommitted = std::string(SPSCOPE_SOURCE_DIR) + "/schemas/run_config.schema.json";

TEST(ConfigSchema, CommittedFileIsUpToDate) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) write_whole_file(kCommitted, config_json_schema());
  auto committed = read_text_file(kCommitted, 1 << 20);
  ASSERT_TRUE(committed.has_value()) << "run with UPDATE_GOLDEN=1 to write it";
  EXPECT_EQ(*committed, config_json_schema()) << "run with UPDATE_GOLDEN=1 and review the difference";
}

}  // namespace
}  // namespace spscope
