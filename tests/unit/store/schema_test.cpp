// The schema explains itself, in the file too, and the numbers in it have names.
#include <cctype>
#include <set>

#include "backend/store/embedded_schema.h"
#include "backend/store/enum_names.h"
#include "backend/store/open_store.h"
#include "backend/store/sqlite/sqlite.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char c : text) c == '\n' ? lines.push_back("") : lines.back().push_back(c);
  return lines;
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first);
}

bool is_comment(const std::string& line) { return trimmed(line).rfind("-- ", 0) == 0; }

bool is_word_at(const std::string& line, std::size_t at, const std::string& word) {
  const auto part_of_word = [&](std::size_t i) { return i < line.size() && (std::isalnum(line[i]) || line[i] == '_'); };
  return !(at > 0 && part_of_word(at - 1)) && !part_of_word(at + word.size());
}

// Whether a line that holds the column as a word ends with a comment, or follows one.
bool has_comment(std::string_view sql, const std::string& column) {
  const std::vector<std::string> lines = lines_of(sql);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string code = lines[i].substr(0, lines[i].find("--"));
    std::size_t at = code.find(column);
    while (at != std::string::npos && !is_word_at(code, at, column)) at = code.find(column, at + 1);
    if (at == std::string::npos) continue;
    if (lines[i].size() > code.size() + 3 || (i > 0 && is_comment(lines[i - 1]))) return true;
  }
  return false;
}

class Schema : public ::testing::Test {
 protected:
  Schema() {
    db_.execute(std::string(embedded_schema()));
    add_event_tables(db_);
  }
  std::vector<std::string> columns(const std::string& table) {
    Statement rows(db_, "SELECT name FROM pragma_table_info(?) ORDER BY cid");
    rows.bind_all(table);
    std::vector<std::string> names;
    while (rows.step()) names.push_back(rows.text(0));
    return names;
  }
  Database db_ = Database::in_memory();
};

TEST_F(Schema, EveryColumnOfEveryTableHasAComment) {
  Statement tables(db_, "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  int num_tables = 0;
  for (; tables.step(); ++num_tables)
    for (const std::string& column : columns(tables.text(0)))
      EXPECT_TRUE(has_comment(tables.text(1), column)) << tables.text(0) << "." << column;
  EXPECT_GT(num_tables, 20);
}

TEST_F(Schema, EveryTableHasACommentInItsFile) {
  Statement tables(db_, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  const std::vector<std::string> lines = lines_of(embedded_schema());
  while (tables.step()) {
    const auto found = std::find(lines.begin(), lines.end(), "CREATE TABLE " + tables.text(0) + " (");
    ASSERT_TRUE(found != lines.end() && found != lines.begin()) << tables.text(0);
    EXPECT_TRUE(is_comment(found[-1])) << tables.text(0);
  }
}

TEST_F(Schema, EveryViewIsAQuestionWithCommentedColumns) {
  for (const SqlText& view : embedded_views()) {
    const std::string text(view.text);
    EXPECT_NE(lines_of(text).front().find('?'), std::string::npos) << view.name << " does not ask";
    EXPECT_NE(text.find("CREATE TEMP VIEW " + std::string(view.name) + " AS"), std::string::npos) << view.name;
    for (const std::string& column : columns(std::string(view.name)))
      EXPECT_TRUE(has_comment(text, column)) << view.name << "." << column;
  }
}

TEST_F(Schema, EveryNamedNumberBelongsToAColumn) {
  std::set<std::pair<std::string, int>> seen;
  for (const EnumName& row : enum_names()) {
    EXPECT_TRUE(seen.insert({std::string(row.kind), row.value}).second) << row.kind << " " << row.value << " twice";
    EXPECT_FALSE(row.name.empty());
    const std::string kind(row.kind);
    if (kind == "event.category") continue;  // bits 0-7 of the flags of events
    const std::string table = kind.substr(0, kind.find('.')), column = kind.substr(kind.find('.') + 1);
    const std::vector<std::string> names = columns(table);
    EXPECT_NE(std::find(names.begin(), names.end(), column), names.end()) << kind;
  }
}

// A released file keeps its numbers for ever: what was once stored as 3 is 3.
TEST(EnumNames, StoredNumbersStay) {
  std::string text;
  for (const EnumName& row : enum_names())
    text += std::string(row.kind) + " " + std::to_string(row.value) + " " + std::string(row.name) + "\n";
  EXPECT_EQ(text.rfind("workload.dtype 0 bf16\nworkload.dtype 1 fp32\n", 0), 0u);
  for (const char* row : {"strategy.mode 0 execute",
                          "strategy.mode 1 project",
                          "strategy.mode 2 simulate",
                          "strategy.mode 3 observed",
                          "plan_op.kind 0 local",
                          "plan_op.kind 1 attend",
                          "plan_op.kind 2 merge",
                          "plan_op.kind 3 finish",
                          "plan_op.kind 4 copy",
                          "plan_op.kind 5 exchange",
                          "plan_op.kind 6 pull",
                          "plan_op.kind 7 push",
                          "plan_op.kind 8 reduce",
                          "plan_op.kind 9 barrier",
                          "run.compute_source 0 measured",
                          "run.compute_source 1 modelled",
                          "run.network_source 0 measured",
                          "run.network_source 1 modelled",
                          "run.timing 0 clean",
                          "run.timing 1 oversubscribed",
                          "run.verdict 0 skipped",
                          "run.verdict 1 passed",
                          "run.verdict 2 failed",
                          "mask_place.axis 1 outer",
                          "mask_place.axis 2 inner",
                          "event.category 0 other",
                          "event.category 1 attend",
                          "event.category 2 local",
                          "event.category 3 rearrange",
                          "event.category 4 transfer",
                          "event.category 5 barrier",
                          "event.category 6 late_peer",
                          "event.category 7 kernel",
                          "event.category 8 copy",
                          "event.category 9 memset",
                          "event.category 10 synchronize",
                          "event.category 11 api",
                          "event.category 12 overhead",
                          "event.category 13 annotation",
                          "strategy_parameter.kind 0 bool",
                          "strategy_parameter.kind 1 integer",
                          "strategy_parameter.kind 2 real",
                          "strategy_parameter.kind 3 text",
                          "strategy_group.kind 0 ulysses",
                          "strategy_group.kind 1 ring"})
    EXPECT_NE(text.find(std::string(row) + "\n"), std::string::npos) << row;
  for (const char* row :
       {"chunk.record_kind 0 span", "chunk.record_kind 1 collective", "chunk.record_kind 2 counter",
        "chunk.record_kind 3 work", "chunk.codec 1 planes", "incident.kind 0 failed", "incident.kind 1 hung",
        "incident.kind 2 stopped", "incident.kind 3 killed", "incident.kind 4 lost", "incident.kind 5 interrupted",
        "collector.outcome 0 complete", "collector.outcome 1 cut off", "collector.outcome 2 not started"})
    EXPECT_NE(text.find(std::string(row) + "\n"), std::string::npos) << row;
}

}  // namespace
}  // namespace spscope
