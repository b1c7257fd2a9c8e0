tests_ovstest_SOURCES += tests/test-mbuf-return.c
TESTSUITE_AT += tests/mbuf-recycle.at
