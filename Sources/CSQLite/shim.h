#include <sqlite3.h>

/* Swift cannot call functions with a variable number of arguments. */
static inline int godwit_sqlite3_without_statistics(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static inline int godwit_sqlite3_switch(sqlite3 *connection, int option, int value) {
  return sqlite3_db_config(connection, option, value, (int *)0);
}
