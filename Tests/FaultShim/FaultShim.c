#define _GNU_SOURCE
#include "FaultShim.h"

#ifdef __linux__

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static _Thread_local struct {
  fault_before before;
  fault_after after;
  void *context;
  int looks;
  int inside;
} layer;

void fault_arm(fault_before before, fault_after after, void *context, int looks) {
  layer.looks = looks;
  layer.before = before;
  layer.after = after;
  layer.context = context;
  layer.inside = 0;
}

void fault_disarm(void) {
  layer.before = NULL;
  layer.after = NULL;
}

static struct fault_verdict ask(const struct fault_call *call) {
  struct fault_verdict verdict = {0, -1, 1};
  if (!layer.before || layer.inside || layer.looks != (call->kind >= FAULT_OPEN)) return verdict;
  layer.inside = 1;
  verdict = layer.before(layer.context, call);
  layer.inside = 0;
  return verdict;
}

static int64_t told(const struct fault_call *call, int64_t result) {
  if (!layer.after || layer.inside || layer.looks) return result;
  int code = errno;
  layer.inside = 1;
  layer.after(layer.context, call, result);
  layer.inside = 0;
  errno = code;
  return result;
}

// The next definition of a symbol after this executable's own.
#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define CALL(kind, descriptor, path, second, length) \
  struct fault_call call = {kind, descriptor, path, second, length}; \
  struct fault_verdict verdict = ask(&call); \
  if (verdict.failure) { errno = verdict.failure; return -1; }

// MARK: Opening

static int makes(const char *path, int flags) {
  struct stat info;
  if (!layer.before || layer.inside || !(flags & O_CREAT)) return 0;
  int code = errno;
  int missing = lstat(path, &info) != 0;
  errno = code;
  return missing;
}

static int cuts(const char *path, int flags) {
  struct stat info;
  if (!layer.before || layer.inside || !(flags & O_TRUNC)) return 0;
  int code = errno;
  int filled = stat(path, &info) == 0 && info.st_size > 0;
  errno = code;
  return filled;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
      va_list rest; \
      va_start(rest, flags); \
      mode = va_arg(rest, mode_t); \
      va_end(rest); \
    } \
    if (makes(path, flags)) { \
      CALL(FAULT_CREATE, -1, path, NULL, 0) \
      return (int)told(&call, real(path, flags, mode)); \
    } \
    if (cuts(path, flags)) { \
      CALL(FAULT_TRUNCATE, -1, path, NULL, 0) \
      return (int)told(&call, real(path, flags, mode)); \
    } \
    CALL(FAULT_OPEN, -1, path, NULL, 0) \
    return real(path, flags, mode); \
  }

OPEN(open)
OPEN(open64)

// MARK: Looking

ssize_t read(int descriptor, void *bytes, size_t count) {
  REAL(read);
  CALL(FAULT_READ, descriptor, NULL, NULL, (int64_t)count)
  return real(descriptor, bytes, count);
}

#define PREAD(name, offset_type) \
  ssize_t name(int descriptor, void *bytes, size_t count, offset_type offset) { \
    REAL(name); \
    CALL(FAULT_READ, descriptor, NULL, NULL, (int64_t)count) \
    return real(descriptor, bytes, count, offset); \
  }

PREAD(pread, off_t)
PREAD(pread64, off64_t)

// SQLite takes a file whose status it cannot read for one that does not exist, which nobody else can help.
static int asks_sqlite(void *caller) {
  Dl_info info;
  return !layer.before || layer.inside || !layer.looks
    || (dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "sqlite"));
}

#define STATUS(name, type) \
  int name(const char *path, struct type *info) { \
    REAL(name); \
    if (!asks_sqlite(__builtin_return_address(0))) { \
      CALL(FAULT_STATUS, -1, path, NULL, 0) \
    } \
    return real(path, info); \
  }

STATUS(stat, stat)
STATUS(stat64, stat64)
STATUS(lstat, stat)
STATUS(lstat64, stat64)

DIR *opendir(const char *path) {
  REAL(opendir);
  struct fault_call call = {FAULT_OPEN, -1, path, NULL, 0};
  struct fault_verdict verdict = ask(&call);
  if (verdict.failure) {
    errno = verdict.failure;
    return NULL;
  }
  return real(path);
}

// MARK: Reading folders

static _Thread_local struct {
  const char *ending;
  int after;
  int failure;
} unreadable;

void fault_unreadable(const char *ending, int after, int failure) {
  unreadable.ending = ending;
  unreadable.after = after;
  unreadable.failure = failure;
}

// Whether the next entry of a folder cannot be read: errno tells it from the end.
static int fails(DIR *folder) {
  char link[64], path[4096];
  if (!unreadable.ending || layer.inside) return 0;
  int code = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd(folder));
  ssize_t length = readlink(link, path, sizeof path);
  errno = code;
  size_t wanted = strlen(unreadable.ending);
  if (length < (ssize_t)wanted || memcmp(path + length - wanted, unreadable.ending, wanted) != 0) return 0;
  if (unreadable.after > 0) {
    unreadable.after--;
    return 0;
  }
  errno = unreadable.failure;
  return 1;
}

struct dirent *readdir(DIR *folder) {
  REAL(readdir);
  return fails(folder) ? NULL : real(folder);
}

struct dirent64 *readdir64(DIR *folder) {
  REAL(readdir64);
  return fails(folder) ? NULL : real(folder);
}

// MARK: Bytes

ssize_t write(int descriptor, const void *bytes, size_t count) {
  REAL(write);
  CALL(FAULT_WRITE, descriptor, NULL, NULL, (int64_t)count)
  if (verdict.allowed >= 0 && (size_t)verdict.allowed < count) count = (size_t)verdict.allowed;
  return (ssize_t)told(&call, real(descriptor, bytes, count));
}

#define PWRITE(name, offset_type) \
  ssize_t name(int descriptor, const void *bytes, size_t count, offset_type offset) { \
    REAL(name); \
    CALL(FAULT_WRITE, descriptor, NULL, NULL, (int64_t)count) \
    if (verdict.allowed >= 0 && (size_t)verdict.allowed < count) count = (size_t)verdict.allowed; \
    return (ssize_t)told(&call, real(descriptor, bytes, count, offset)); \
  }

PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int descriptor, const struct iovec *pieces, int count) {
  REAL(writev);
  CALL(FAULT_WRITE, descriptor, NULL, NULL, -1)
  return (ssize_t)told(&call, real(descriptor, pieces, count));
}

#define SENDFILE(name, offset_type) \
  ssize_t name(int to, int from, offset_type *offset, size_t count) { \
    REAL(name); \
    CALL(FAULT_WRITE, to, NULL, NULL, (int64_t)count) \
    return (ssize_t)told(&call, real(to, from, offset, count)); \
  }

SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t count, unsigned flags) {
  REAL(copy_file_range);
  CALL(FAULT_WRITE, to, NULL, NULL, (int64_t)count)
  return (ssize_t)told(&call, real(from, from_offset, to, to_offset, count, flags));
}

#define TRUNCATE(name, offset_type) \
  int name(int descriptor, offset_type length) { \
    REAL(name); \
    CALL(FAULT_TRUNCATE, descriptor, NULL, NULL, (int64_t)length) \
    return (int)told(&call, real(descriptor, length)); \
  }

TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define ALLOCATE(name, offset_type) \
  int name(int descriptor, int mode, offset_type offset, offset_type length) { \
    REAL(name); \
    CALL(FAULT_ALLOCATE, descriptor, NULL, NULL, (int64_t)length) \
    return (int)told(&call, real(descriptor, mode, offset, length)); \
  }

ALLOCATE(fallocate, off_t)
ALLOCATE(fallocate64, off64_t)

// MARK: Durability

#define SYNC(name, kind) \
  int name(int descriptor) { \
    REAL(name); \
    CALL(kind, descriptor, NULL, NULL, 0) \
    return (int)told(&call, verdict.real ? real(descriptor) : 0); \
  }

SYNC(fsync, FAULT_SYNC)
SYNC(fdatasync, FAULT_SYNC)
SYNC(syncfs, FAULT_SYNC_ALL)

// MARK: Names

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  CALL(FAULT_MAKE_FOLDER, -1, path, NULL, 0)
  return (int)told(&call, real(path, mode));
}

int rename(const char *from, const char *to) {
  REAL(rename);
  CALL(FAULT_RENAME, -1, from, to, 0)
  return (int)told(&call, real(from, to));
}

int link(const char *from, const char *to) {
  REAL(link);
  CALL(FAULT_LINK, -1, from, to, 0)
  return (int)told(&call, real(from, to));
}

int unlink(const char *path) {
  REAL(unlink);
  CALL(FAULT_UNLINK, -1, path, NULL, 0)
  return (int)told(&call, real(path));
}

int rmdir(const char *path) {
  REAL(rmdir);
  CALL(FAULT_REMOVE_FOLDER, -1, path, NULL, 0)
  return (int)told(&call, real(path));
}

// MARK: Threads

static _Thread_local int refuses_threads;

void fault_refuse_threads(int refuses) { refuses_threads = refuses; }

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  REAL(pthread_create);
  // Dispatch would wait until it gets one: only calls of this executable's own code are refused.
  Dl_info caller, own;
  if (refuses_threads && dladdr(__builtin_return_address(0), &caller) && dladdr((void *)&fault_refuse_threads, &own)
      && caller.dli_fbase == own.dli_fbase)
    return EAGAIN;
  return real(thread, attributes, body, argument);
}

#else

void fault_refuse_threads(int refuses) {}
void fault_arm(fault_before before, fault_after after, void *context, int looks) {}
void fault_disarm(void) {}
void fault_unreadable(const char *ending, int after, int failure) {}

#endif
