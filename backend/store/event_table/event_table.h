// Events as tables of SQL: temp.event, a row an event, temp.event_stats, sums over events by run, rank, kind of track,
// name and category, and temp.counter, a row a sample of a counter, with the views of schemas/views on top.
//
//   SELECT * FROM event WHERE run_id = 1 AND begin_ns < 2000 AND end_ns > 1000
//   SELECT name, count, total_ns FROM event_stats(1000, 2000) WHERE rank = 3
//
// Events are stored in chunks (chunk_codec.h). The table reads only the chunks that bounds on its columns leave, and
// unpacks only the columns that the question uses. `event_stats` adds up whole chunks without making rows: asking
// GROUP BY of `event` for the same takes a hundred times as long. All are made anew on each connection and never
// stored, so that any SQLite can open the file; and because they lie in the temp schema, no table of the file can take
// their place.
#pragma once

#include <string>

#include "backend/store/sqlite/sqlite_api.h"

namespace spscope {

// Makes the tables and views on a connection to a store. Returns a code of SQLite and, unless it is SQLITE_OK, says
// why.
int create_event_tables(sqlite3* db, std::string& error);

// What SQLite calls for the tables.
extern const sqlite3_module kEventModule;
extern const sqlite3_module kEventStatsModule;
extern const sqlite3_module kCounterModule;

}  // namespace spscope
