#include "CBuild.h"

#ifndef APPSTORE_INBOX_COMMIT
#define APPSTORE_INBOX_COMMIT ""
#endif

const char *appstore_inbox_commit(void) { return APPSTORE_INBOX_COMMIT; }
