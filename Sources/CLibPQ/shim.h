#ifndef CLIBPQ_SHIM_H
#define CLIBPQ_SHIM_H

#include <libpq-fe.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Fields of an error or notice: libpq's own names are macros of character literals, which Swift does not see. */
static const int clibpq_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int clibpq_sqlstate = PG_DIAG_SQLSTATE;
static const int clibpq_message_primary = PG_DIAG_MESSAGE_PRIMARY;
static const int clibpq_message_detail = PG_DIAG_MESSAGE_DETAIL;
static const int clibpq_message_hint = PG_DIAG_MESSAGE_HINT;
static const int clibpq_statement_position = PG_DIAG_STATEMENT_POSITION;
static const int clibpq_constraint_name = PG_DIAG_CONSTRAINT_NAME;
static const int clibpq_source_function = PG_DIAG_SOURCE_FUNCTION;

/* Glibc's module leaves out <sys/eventfd.h>; a connection's thread waits on one beside its socket. */
static inline int clibpq_eventfd_create(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static inline int clibpq_eventfd_signal(int descriptor) {
    uint64_t one = 1;
    return write(descriptor, &one, sizeof one) == (ssize_t)sizeof one ? 0 : -1;
}

static inline void clibpq_eventfd_drain(int descriptor) {
    uint64_t count;
    ssize_t ignored = read(descriptor, &count, sizeof count);
    (void)ignored;
}

#endif
