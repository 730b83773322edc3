#include "CSQLite.h"

int sqlite_stub_version(void) { return 3; }
