/// The commit that was built, as APPSTORE_INBOX_COMMIT named it in the environment of `swift build`; empty without it.
const char *appstore_inbox_commit(void);
