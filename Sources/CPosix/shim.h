// What differs between the C libraries of Linux and Darwin, and calls that Swift's own modules for them leave out. It is
// in C, because code under `#if` in Swift that is never compiled decays.
#ifndef GODWIT_POSIX_H
#define GODWIT_POSIX_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#include <copyfile.h>
#include <crt_externs.h>
#include <libproc.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <sys/clonefile.h>
#else
// Declared for _GNU_SOURCE alone.
int syncfs(int descriptor);
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int sync_file_range(int descriptor, int64_t offset, int64_t length, unsigned int flags);
extern char **environ;
#endif

// MARK: Files

// Makes the bytes and the length of a file durable. Darwin's `fsync` leaves them in the cache of the drive.
static inline int godwit_sync(int descriptor) {
#ifdef __APPLE__
  if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
  // A file system that does not know the call.
#endif
  return fsync(descriptor);
}

// As `godwit_sync`, without times and mode where the system can leave them out.
static inline int godwit_sync_data(int descriptor) {
#ifdef __APPLE__
  return godwit_sync(descriptor);
#else
  return fdatasync(descriptor);
#endif
}

// Makes all files and names of a file system durable. -1 with ENOTSUP where no call does that.
static inline int godwit_sync_file_system(int descriptor) {
#ifdef __APPLE__
  (void)descriptor;
  errno = ENOTSUP;
  return -1;
#else
  return syncfs(descriptor);
#endif
}

// The type of the file system of a file, as `statfs` tells it (EXT4_SUPER_MAGIC and so on); -1 where it tells none.
static inline int64_t godwit_file_system_type(int descriptor) {
#ifdef __APPLE__
  (void)descriptor;
  return -1;
#else
  // The first word of `struct statfs`, whose header would hide `struct stat` from those that import the C library alone.
  long words[64] = {0};
  return syscall(SYS_fstatfs, descriptor, words) == 0 ? (int64_t)(uint32_t)words[0] : -1;
#endif
}

// Begins to write the changed bytes of a file to its disk, without waiting for them.
static inline void godwit_begin_writing(int descriptor) {
#ifndef __APPLE__
  sync_file_range(descriptor, 0, 0, 2);  // SYNC_FILE_RANGE_WRITE
#endif
}

// When the bytes of a file were changed.
static inline struct timespec godwit_modified(struct stat info) {
#ifdef __APPLE__
  return info.st_mtimespec;
#else
  return info.st_mtim;
#endif
}

// When a file was made, which nothing changes. 1; 0 where the file system does not know; -1 with the error in `errno`.
static inline int godwit_made(const char *_Nonnull path, int follows, int64_t *_Nonnull seconds, int64_t *_Nonnull rest) {
#ifdef __APPLE__
  struct stat info;
  if ((follows ? stat(path, &info) : lstat(path, &info)) != 0) return -1;
  *seconds = info.st_birthtimespec.tv_sec;
  *rest = info.st_birthtimespec.tv_nsec;
  return 1;
#elif defined(SYS_statx)
  // `struct statx` is declared for _GNU_SOURCE alone.
  struct {
    uint32_t mask, block;
    uint64_t attributes;
    uint32_t links, owner, group;
    uint16_t mode, gap;
    uint64_t inode, size, blocks, attributes_mask;
    int64_t accessed[2], made_seconds;
    uint32_t made_nanoseconds, made_gap;
    uint64_t more[40];
  } info = {0};
  const uint32_t birth = 0x800;  // STATX_BTIME
  if (syscall(SYS_statx, AT_FDCWD, path, follows ? 0 : AT_SYMLINK_NOFOLLOW, birth, &info) != 0)
    return errno == ENOSYS || errno == EPERM ? 0 : -1;
  if (!(info.mask & birth)) return 0;
  *seconds = info.made_seconds;
  *rest = info.made_nanoseconds;
  return 1;
#else
  return 0;
#endif
}

// The command of `fcntl` that locks a range for an open file description.
static inline int godwit_open_file_lock(void) {
#ifdef __APPLE__
  return 90;  // F_OFD_SETLK
#else
  return 37;  // F_OFD_SETLK
#endif
}

// Lets an empty file share the blocks of another (FICLONE). 0, or -1 where the file system cannot.
static inline int godwit_share_blocks(int input, int output) {
#ifdef __APPLE__
  errno = ENOTSUP;
  return -1;
#else
  return ioctl(output, 0x40049409, input);
#endif
}

// Makes a file that shares the blocks of another, and opens it for writing. -1 where the file system cannot, and
// always on Linux, where `godwit_share_blocks` does it.
static inline int godwit_open_clone(int input, const char *_Nonnull path) {
#ifdef __APPLE__
  if (fclonefileat(input, AT_FDCWD, path, 0) != 0) return -1;
  int output = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (output < 0) unlink(path);
  return output;
#else
  (void)input;
  (void)path;
  errno = ENOTSUP;
  return -1;
#endif
}

// MARK: Extended attributes

// The error number of an attribute that a file does not have.
static inline int godwit_no_attribute(void) {
#ifdef __APPLE__
  return ENOATTR;
#else
  return ENODATA;
#endif
}

static inline ssize_t godwit_list_attributes(const char *_Nonnull path, char *_Nullable names, size_t size) {
#ifdef __APPLE__
  return listxattr(path, names, size, 0);
#else
  return listxattr(path, names, size);
#endif
}

static inline ssize_t godwit_get_attribute(
    const char *_Nonnull path, const char *_Nonnull name, void *_Nullable value, size_t size) {
#ifdef __APPLE__
  return getxattr(path, name, value, size, 0, 0);
#else
  return getxattr(path, name, value, size);
#endif
}

static inline int godwit_set_attribute(
    const char *_Nonnull path, const char *_Nonnull name, const void *_Nonnull value, size_t size) {
#ifdef __APPLE__
  return setxattr(path, name, value, size, 0, 0);
#else
  return setxattr(path, name, value, size, 0);
#endif
}

static inline int godwit_remove_attribute(const char *_Nonnull path, const char *_Nonnull name) {
#ifdef __APPLE__
  return removexattr(path, name, 0);
#else
  return removexattr(path, name);
#endif
}

// Gives a file the access control list of another, where that is no extended attribute.
static inline int godwit_copy_access_list(const char *_Nonnull from, const char *_Nonnull to) {
#ifdef __APPLE__
  return copyfile(from, to, NULL, COPYFILE_ACL);
#else
  (void)from;
  (void)to;
  return 0;
#endif
}

// MARK: The process

static inline char *_Nullable *_Nonnull godwit_environment(void) {
#ifdef __APPLE__
  return *_NSGetEnviron();
#else
  return environ;
#endif
}

// The path of the executable that is running. On Linux it leads there even if the file was renamed or replaced.
static inline int godwit_executable_path(char *_Nonnull path, uint32_t size) {
#ifdef __APPLE__
  return _NSGetExecutablePath(path, &size);
#else
  static const char link[] = "/proc/self/exe";
  if (size < sizeof link) return -1;
  memcpy(path, link, sizeof link);
  return 0;
#endif
}

// Bytes resident now, or the most so far; -1 where `/proc/self/status` says it.
static inline int64_t godwit_resident_bytes(int peak) {
#ifdef __APPLE__
  if (peak) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss : 0;
  }
  struct proc_taskinfo info;
  int size = proc_pidinfo(getpid(), PROC_PIDTASKINFO, 0, &info, sizeof info);
  return size == (int)sizeof info ? (int64_t)info.pti_resident_size : 0;
#else
  char text[16384];
  int file = open(peak ? "/proc/self/status" : "/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return -1;
  text[length] = 0;
  if (peak) {
    const char *line = strstr(text, "\nVmHWM:");
    return line ? (int64_t)strtoll(line + 7, NULL, 10) * 1024 : -1;
  }
  // The second number, in pages.
  char *end;
  (void)strtoll(text, &end, 10);
  long long pages = strtoll(end, NULL, 10);
  return pages > 0 ? (int64_t)pages * sysconf(_SC_PAGESIZE) : -1;
#endif
}

// How many files this process may have open, after the soft limit was raised to `wanted` or as far as the hard one lets
// it; -1 where the system does not tell. A limit that is higher stays.
static inline int64_t godwit_raise_open_files(int64_t wanted) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  rlim_t most = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > (rlim_t)wanted ? (rlim_t)wanted : limit.rlim_max;
#ifdef __APPLE__
  // Darwin refuses more than this, whatever the hard limit says.
  if (most > OPEN_MAX) most = OPEN_MAX;
#endif
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < most) {
    struct rlimit raised = limit;
    raised.rlim_cur = most;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > (rlim_t)INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

// Starts a process, in which no signal is blocked and those of `defaults` end it.
//
// `input`: its standard input; -1 for an empty one.
// `folder`: its working folder; NULL for that of this process. `error_path`: a file for its standard error, which is
// emptied; NULL for `output`. `variables`: NULL for those of this process. Returns 0 or an error number.
static inline int godwit_spawn(
    pid_t *_Nonnull process, const char *_Nonnull path, char *_Nullable const *_Nonnull words,
    char *_Nullable const *_Nullable variables, const char *_Nullable folder, int input, int output,
    const char *_Nullable error_path, sigset_t defaults) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  int code = posix_spawn_file_actions_init(&actions);
  if (code != 0) return code;
  code = posix_spawnattr_init(&attributes);
  if (code != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return code;
  }
  sigemptyset(&none);
  if (input >= 0) {
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (error_path) {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  } else {
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  }
  if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  code = posix_spawn(process, path, &actions, &attributes, words, variables ? variables : godwit_environment());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

// Waits for a signal of a mask that all threads block. `milliseconds`: at most so long; -1 for ever. -1 with EAGAIN
// when none came.
static inline int godwit_next_signal(sigset_t mask, int milliseconds) {
#ifdef __APPLE__
  // Darwin has no `sigtimedwait`.
  for (int waited = 0; milliseconds < 0 || waited < milliseconds; waited += 20) {
    sigset_t pending;
    int number = 0;
    if (milliseconds < 0) {
      if (sigwait(&mask, &number) == 0) return number;
    } else if (sigpending(&pending) == 0 && (pending & mask) != 0) {
      if (sigwait(&mask, &number) == 0) return number;
    } else {
      usleep(20000);
    }
  }
  errno = EAGAIN;
  return -1;
#else
  struct timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  return milliseconds < 0 ? sigwaitinfo(&mask, NULL) : sigtimedwait(&mask, NULL, &wait);
#endif
}

// Runs a function on a new thread that nobody joins. 0, or an error number when the system makes none.
static inline int godwit_start_thread(
    size_t stack, void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nullable context) {
  pthread_attr_t attributes;
  pthread_t thread;
  int code = pthread_attr_init(&attributes);
  if (code != 0) return code;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack);
  code = pthread_create(&thread, &attributes, body, context);
  pthread_attr_destroy(&attributes);
  return code;
}

#endif
