// Calls of the C library that Swift's own modules for it leave out.
#include <spawn.h>
#include <sys/types.h>
#include <sys/xattr.h>

// Declared for _GNU_SOURCE alone.
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
