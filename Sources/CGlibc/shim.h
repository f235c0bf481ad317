#ifndef CGLIBC_SHIM_H
#define CGLIBC_SHIM_H

// What glibc's Swift module leaves out: settings of the allocator, and the names of threads.

#include <malloc.h>
#include <sys/prctl.h>

/* The name that `top -H` and debuggers show for the calling thread; prctl is variadic, which Swift cannot call. */
static inline void cglibc_name_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}

#endif
