// What is said of a question in SQL that is not answered: what is wrong with it, and what would be answered.
#pragma once

#include <string>

#include "backend/base/error.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// A statement that would do something else than read.
Error only_read(const std::string& sql);
// What SQLite calls wrong with `sql`: an unknown table or column gets the nearest ones. No authorizer may be set.
Error refused_question(Database& db, const std::string& sql, const std::string& message);

}  // namespace spscope
