// The schema explains itself, in the file too, and the numbers in it have names.
#include <map>
#include <regex>
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

bool is_comment(const std::string& line) {
  return std::string_view(line).substr(std::min(line.find_first_not_of(' '), line.size())).starts_with("-- ");
}

// Whether a line that holds the column as a word ends with a comment, or follows one.
bool has_comment(std::string_view sql, const std::string& column) {
  const std::regex word("\\b" + column + "\\b");
  const std::vector<std::string> lines = lines_of(sql);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string code = lines[i].substr(0, lines[i].find("--"));
    if (!std::regex_search(code, word)) continue;
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
  std::map<std::string_view, std::string> names;  // of a kind, in the order of their numbers, which follow each other
  for (const EnumName& row : enum_names())
    names[row.kind] += (names[row.kind].empty() ? std::to_string(row.value) + ":" : ",") + std::string(row.name);
  for (const auto& [kind, stored] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"workload.dtype", "0:bf16,fp32"},
           {"strategy.mode", "0:execute,project,simulate,observed"},
           {"strategy_parameter.kind", "0:bool,integer,real,text"},
           {"strategy_group.kind", "0:ulysses,ring"},
           {"plan_op.kind", "0:local,attend,merge,finish,copy,exchange,pull,push,reduce,barrier"},
           {"run.compute_source", "0:measured,modelled"},
           {"run.network_source", "0:measured,modelled"},
           {"run.timing", "0:clean,oversubscribed"},
           {"run.verdict", "0:skipped,passed,failed"},
           {"mask_place.axis", "1:outer,inner"},
           {"event.category",
            "0:other,attend,local,rearrange,transfer,barrier,late_peer,kernel,copy,memset,synchronize,api,overhead,"
            "annotation"},
           {"chunk.record_kind", "0:span,collective,counter,work"},
           {"chunk.codec", "1:planes"},
           {"incident.kind", "0:failed,hung,stopped,killed,lost,interrupted"},
           {"collector.outcome", "0:complete,cut off,not started"}})
    EXPECT_EQ(names[kind].substr(0, stored.size()), stored) << kind;
}

}  // namespace
}  // namespace spscope
