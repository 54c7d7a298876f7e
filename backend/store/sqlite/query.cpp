#include "backend/store/sqlite/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/base/number_text.h"
#include "backend/store/sqlite/query_refused.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

namespace {

using SteadyClock = std::chrono::steady_clock;

// They load code, or give and take addresses of this process.
bool is_refused_function(const char* name) {
  constexpr std::string_view kRefused[] = {"load_extension", "fts3_tokenizer"};
  return name != nullptr && std::ranges::find(kRefused, name) != std::end(kRefused);
}

// Called by SQLite for everything that a statement would do, while it is compiled.
int authorize(void*, int action, const char*, const char* name, const char*, const char*) noexcept {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
    case SQLITE_READ:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return is_refused_function(name) ? SQLITE_DENY : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

// When a question ends, whether it has its answer or not.
struct Stop {
  SteadyClock::time_point deadline;
  const CancelToken& token;
};

int stops(void* stop) noexcept {
  const auto* when = static_cast<const Stop*>(stop);
  return when->token.is_cancelled() || SteadyClock::now() >= when->deadline;
}

// The limits of a question, for as long as this lives.
class Guard {
 public:
  Guard(Database& db, const QueryLimits& limits)
      : db_(db),
        token_(db.cancel_token()),
        stop_{SteadyClock::now() + std::chrono::milliseconds(limits.max_ms), token_},
        usual_length_(sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, limits.max_value_bytes)) {
    sqlite3_set_authorizer(db_.handle(), authorize, nullptr);
    sqlite3_progress_handler(db_.handle(), kInstructionsPerLook, stops, &stop_);
  }
  ~Guard() {
    db_.cancel_by(token_);
    sqlite3_set_authorizer(db_.handle(), nullptr, nullptr);
    sqlite3_limit(db_.handle(), SQLITE_LIMIT_LENGTH, usual_length_);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Database& db_;
  const CancelToken token_;
  Stop stop_;
  int usual_length_;
};

using StatementHandle = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

[[noreturn]] void refuse(Database& db, const std::string& sql, int code, const QueryLimits& limits) {
  const int primary = code & 0xff;
  if (primary == SQLITE_NOMEM) db.fail(code);
  if (primary == SQLITE_INTERRUPT) db.cancel_token().require_going();
  if (primary == SQLITE_INTERRUPT)
    throw Error(ErrorCode::kStoreQuery, fmt::format("the question took longer than {} ms", limits.max_ms),
                "ask for less at once: a window of time, one run, one rank");
  if (primary == SQLITE_TOOBIG)
    throw Error(ErrorCode::kStoreQuery, fmt::format("a value has more than {} bytes", limits.max_value_bytes),
                "ask for part of it: substr(value, first, bytes)");
  if (primary == SQLITE_AUTH) throw only_read(sql);
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_IOERR) db.fail(code);
  const std::string message = sqlite3_errmsg(db.handle());
  sqlite3_set_authorizer(db.handle(), nullptr, nullptr);  // what follows asks for the columns of tables
  throw refused_question(db, sql, message);
}

StatementHandle compile(Database& db, const std::string& sql, const QueryLimits& limits) {
  StatementHandle statement(nullptr, &sqlite3_finalize);
  const char* rest = sql.c_str();
  const char* const end = rest + sql.size();
  while (rest < end && *rest != '\0') {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v2(db.handle(), rest, static_cast<int>(end - rest), &raw, &rest);
    if (code != SQLITE_OK) refuse(db, sql, code, limits);
    if (raw == nullptr) continue;  // a comment or a bare semicolon
    StatementHandle next(raw, &sqlite3_finalize);
    if (statement != nullptr)
      throw Error(ErrorCode::kStoreQuery, "there is more than one statement", "ask one question at a time");
    statement = std::move(next);
  }
  if (statement == nullptr)
    throw Error(ErrorCode::kStoreQuery, "there is no statement",
                "ask with SELECT, for example SELECT name, label FROM strategy");
  if (!sqlite3_stmt_readonly(statement.get()) || sqlite3_column_count(statement.get()) == 0) throw only_read(sql);
  return statement;
}

std::string hex_literal(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "x'";
  text.reserve(2 * bytes.size() + 3);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text + "'";
}

ValueKind kind_of(sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
      return ValueKind::kNull;
    case SQLITE_INTEGER:
      return ValueKind::kInteger;
    case SQLITE_FLOAT:
      return ValueKind::kReal;
    default:
      return ValueKind::kText;
  }
}

std::optional<std::string> value_text(sqlite3_stmt* row, int column) {
  const auto bytes = [&] { return static_cast<std::size_t>(sqlite3_column_bytes(row, column)); };
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
      return std::nullopt;
    case SQLITE_FLOAT:
      return real_text(sqlite3_column_double(row, column));
    case SQLITE_BLOB: {
      const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(row, column));
      return hex_literal({data, bytes()});
    }
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
      return std::string(text, bytes());
    }
  }
}

// Without making a text of a number.
std::int64_t size_of(sqlite3_stmt* row, int column) {
  const int type = sqlite3_column_type(row, column);
  return type == SQLITE_TEXT || type == SQLITE_BLOB ? sqlite3_column_bytes(row, column) : 8;
}

}  // namespace

QueryResult run_query(Database& db, const std::string& sql, const QueryLimits& limits) {
  db.cancel_token().require_going();
  const Guard guard(db, limits);
  const StatementHandle statement = compile(db, sql, limits);
  QueryResult result;
  const int columns = sqlite3_column_count(statement.get());
  for (int i = 0; i < columns; ++i) result.columns.emplace_back(sqlite3_column_name(statement.get(), i));
  std::int64_t bytes = 0;
  for (;;) {
    const int code = sqlite3_step(statement.get());
    if (code == SQLITE_DONE) return result;
    if (code != SQLITE_ROW) refuse(db, sql, code, limits);
    for (int i = 0; i < columns; ++i) bytes += size_of(statement.get(), i);
    if (static_cast<std::int64_t>(result.rows.size()) == limits.max_rows || bytes > limits.max_bytes) {
      result.truncated = true;
      return result;
    }
    std::vector<ValueKind>& kinds = result.kinds.emplace_back();
    std::vector<std::optional<std::string>>& row = result.rows.emplace_back();
    for (int i = 0; i < columns; ++i) {
      kinds.push_back(kind_of(statement.get(), i));
      row.push_back(value_text(statement.get(), i));
    }
  }
}

}  // namespace spscope
