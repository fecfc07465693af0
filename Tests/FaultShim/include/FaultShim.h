#ifndef GODWIT_FAULT_SHIM_H
#define GODWIT_FAULT_SHIM_H

#include <stdint.h>

// Stands between the code under test and libc's calls that change a file system, or that read it.
//
// The symbols of an executable win over those of the libraries it loads, so the definitions of this file serve all of
// the process: SQLite, Foundation and Godwit's own code. A thread that has not armed itself goes straight through.

enum fault_kind {
  FAULT_CREATE,
  FAULT_MAKE_FOLDER,
  FAULT_WRITE,
  FAULT_TRUNCATE,
  FAULT_ALLOCATE,
  FAULT_SYNC,
  // The whole file system of the descriptor.
  FAULT_SYNC_ALL,
  FAULT_RENAME,
  FAULT_LINK,
  FAULT_UNLINK,
  FAULT_REMOVE_FOLDER,
  // Looks; all others are changes.
  FAULT_OPEN,
  FAULT_READ,
  FAULT_STATUS,
};

// One call. `descriptor` is -1 where the call has a path.
struct fault_call {
  int kind;
  int descriptor;
  const char *path;
  const char *second_path;
  int64_t length;
};

// What happens to a call: `failure` is an errno, or 0 to let it through. A write may be cut to `allowed` bytes (-1: it
// is not cut). A call that is not `real` succeeds without being made.
struct fault_verdict {
  int failure;
  int64_t allowed;
  int real;
};

typedef struct fault_verdict (*fault_before)(void *context, const struct fault_call *call);
// `result` is what the real call returned. Not called when `before` let it fail.
typedef void (*fault_after)(void *context, const struct fault_call *call, int64_t result);

// Changes of this thread go through the hooks from here on, or looks. Within a hook they do not.
void fault_arm(fault_before before, fault_after after, void *context, int looks);
void fault_disarm(void);

// From here on this thread cannot read folders whose path ends with `ending`: after `after` more entries, readdir fails
// with `failure`. NULL ends this. The text is not copied.
void fault_unreadable(const char *ending, int after, int failure);

// Whether code of this executable gets no further threads on this thread (EAGAIN), as under `ulimit -u`.
void fault_refuse_threads(int refuses);

#endif
