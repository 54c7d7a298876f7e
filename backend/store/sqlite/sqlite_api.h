// SQLite's C interface for files that are a part of the program and of the loadable extension. The program links the
// functions; the extension reaches them through the table that the program which loads it hands over.
#pragma once

#ifdef SPSCOPE_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif
