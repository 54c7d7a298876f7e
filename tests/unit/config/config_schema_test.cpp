// The committed JSON schema is the one the table of keys makes, and it describes the defaults.
#include "backend/config/config_schema.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backend/base/whole_file.h"
#include "backend/config/config_fields.h"
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

TEST(ConfigSchema, NamesEveryKeyAndItsChoices) {
  const auto schema = nlohmann::json::parse(config_json_schema());
  std::size_t keys = 0;
  for (const FieldRow& row : config_fields()) {
    const auto& field = schema["properties"][std::string(row.section)]["properties"][std::string(row.key)];
    ASSERT_TRUE(field.is_object()) << row.name;
    EXPECT_TRUE(field.contains("default")) << row.name;
    if (field_type(row) == "choice") {
      EXPECT_EQ(field["enum"].size(), field_choices(row).size()) << row.name;
    }
    ++keys;
  }
  std::size_t properties = 0;
  for (const auto& section : schema["properties"])
    if (section.contains("properties")) properties += section["properties"].size();
  EXPECT_EQ(properties, keys);
  EXPECT_EQ(schema["properties"]["run"]["properties"]["dtype"]["enum"], (nlohmann::json{"bf16", "fp32"}));
}

}  // namespace
}  // namespace spscope
