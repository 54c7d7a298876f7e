// The answer to a question in SQL as a table.
#pragma once

#include "backend/report/document.h"
#include "backend/store/store_reader.h"

namespace spscope {

// kWhole: every value as the store gives it. kShort: for people: of a long text the beginning, of a real 15 digits.
enum class ValueTexts { kWhole, kShort };

// Columns without any text stand right. Cells of numbers have the number, too, by which they sort.
Table query_table(const QueryResult& result, ValueTexts texts);

}  // namespace spscope
