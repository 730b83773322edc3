int sqlite_stub_version(void);
