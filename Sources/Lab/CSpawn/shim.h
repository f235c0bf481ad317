#ifndef CSPAWN_SHIM_H
#define CSPAWN_SHIM_H

// glibc has it since 2.34; its Swift module leaves it out. The actions are a posix_spawn_file_actions_t.
int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);

#endif
