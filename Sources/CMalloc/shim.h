#ifndef CMALLOC_SHIM_H
#define CMALLOC_SHIM_H

// glibc's allocator settings, which its Swift module leaves out.

#include <malloc.h>

#endif
