#ifndef HERALD_CSQLITE_H
#define HERALD_CSQLITE_H

#include <sqlite3.h>

#endif
