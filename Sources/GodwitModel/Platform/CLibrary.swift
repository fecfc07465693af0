package import CPosix

// The only file of the package that names a C library. All others import this module.
#if canImport(Darwin)
  @_exported public import Darwin
#elseif canImport(Musl)
  @_exported public import Musl
#else
  @_exported public import Glibc
#endif

/// Calls of the C library that Linux and Darwin make in different ways, and calls that a type of this project hides.
///
/// The differences are in `CPosix/shim.h`, so that all of Swift's code is the same on both.
package enum CLibrary {
  /// The error number of the last call of this thread.
  package static var errno: Int32 { lastError }

  /// Opens a file. A signal that arrives meanwhile changes nothing.
  package static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 { openFile(path, flags, mode) }

  package static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    readBytes(descriptor, buffer, count)
  }

  package static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    writeBytes(descriptor, bytes, count)
  }

  /// Makes the bytes and the length of a file durable. 0, or -1 as `fsync`.
  @discardableResult package static func sync(_ descriptor: Int32) -> Int32 { godwit_sync(descriptor) }

  /// As `sync`, without times and mode where the system can leave them out.
  package static func syncData(_ descriptor: Int32) -> Int32 { godwit_sync_data(descriptor) }

  /// Makes all files and names of the file system of a file durable. 0, or -1 as `syncfs`; always -1 outside Linux.
  package static func syncFileSystem(of descriptor: Int32) -> Int32 { godwit_sync_file_system(descriptor) }

  /// The type of the file system of a file, as Linux numbers them; -1 where it is not known.
  package static func fileSystemType(of descriptor: Int32) -> Int64 { godwit_file_system_type(descriptor) }

  /// Begins to write the changed bytes of a file to its disk, without waiting for them. Does nothing outside Linux.
  package static func beginWriting(_ descriptor: Int32) { godwit_begin_writing(descriptor) }

  /// When the bytes of a file were changed.
  package static func modificationTime(_ info: stat) -> timespec { godwit_modified(info) }

  /// The command of `fcntl` that locks a range for an open file description.
  package static var openFileLock: Int32 { godwit_open_file_lock() }

  // MARK: Copies that share blocks

  /// Lets an empty file share the blocks of another. 0, or -1 where the file system cannot.
  package static func shareBlocks(of input: Int32, with output: Int32) -> Int32 { godwit_share_blocks(input, output) }

  /// Makes a file that shares the blocks of another, and opens it for writing; nil where the system does it by
  /// `shareBlocks`, or cannot.
  package static func openClone(of input: Int32, at path: String) -> Int32? {
    let output = godwit_open_clone(input, path)
    return output < 0 ? nil : output
  }

  // MARK: Extended attributes

  /// The error number of an attribute that a file does not have.
  package static var noAttribute: Int32 { godwit_no_attribute() }

  package static func listAttributes(_ path: String, _ names: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int {
    godwit_list_attributes(path, names, size)
  }

  package static func getAttribute(
    _ path: String, _ name: String, _ value: UnsafeMutableRawPointer?, _ size: Int
  ) -> Int {
    godwit_get_attribute(path, name, value, size)
  }

  package static func setAttribute(_ path: String, _ name: String, _ value: [UInt8]) -> Int32 {
    value.withUnsafeBytes { bytes in
      // An empty array has no address.
      withUnsafePointer(to: 0 as UInt8) {
        godwit_set_attribute(path, name, bytes.baseAddress ?? .init($0), bytes.count)
      }
    }
  }

  package static func removeAttribute(_ path: String, _ name: String) -> Int32 { godwit_remove_attribute(path, name) }

  /// Gives a file the access control list of another where the list is not an extended attribute. 0, or -1.
  package static func copyAccessList(from path: String, to other: String) -> Int32 {
    godwit_copy_access_list(path, other)
  }

  // MARK: The process

  /// Resident memory in bytes, or the most so far; nil on Linux, where `/proc/self/status` has both.
  package static func residentBytes(isPeak: Bool) -> Int64? {
    let bytes = godwit_resident_bytes(isPeak ? 1 : 0)
    return bytes < 0 ? nil : bytes
  }

  /// The number of files that the process may have open at once, after the limit was raised to `wanted` or as far as
  /// the system allows; nil if it is unknown.
  package static func raiseOpenFiles(to wanted: Int) -> Int? {
    let limit = godwit_raise_open_files(Int64(max(0, wanted)))
    return limit < 0 ? nil : Int(clamping: limit)
  }

  /// The path of the executable that is running; nil when the system does not say.
  package static var executablePath: String? {
    var path = [CChar](repeating: 0, count: 4096)
    guard godwit_executable_path(&path, UInt32(path.count)) == 0 else { return nil }
    return path.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
  }

  /// Waits for a signal of a mask that all threads block, at most so long. -1 with EAGAIN when none came.
  package static func nextSignal(_ mask: sigset_t, milliseconds: Int32?) -> Int32 {
    godwit_next_signal(mask, milliseconds ?? -1)
  }

  /// Starts a process in which no signal is blocked.
  ///
  /// - Parameters:
  ///   - words: Its arguments, the command's name first.
  ///   - environment: Its variables; nil for those of this process.
  ///   - folder: Its working folder; nil for that of this process.
  ///   - input: The descriptor of its standard input; nil for an empty one.
  ///   - output: The descriptor of its standard output.
  ///   - errorPath: A file for its standard error, which is emptied; nil for `output`.
  ///   - defaults: Signals that end it although this process ignores them.
  /// - Returns: The process, or the number of the error.
  package static func spawn(
    _ path: String, _ words: [String], environment: [String: String]? = nil, folder: String? = nil, input: Int32? = nil,
    output: Int32, errorPath: String? = nil, defaults: [Int32] = []
  ) -> (process: pid_t, code: Int32) {
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in defaults { sigaddset(&signals, number) }
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = (environment ?? [:]).map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in arguments + variables { free(pointer) } }
    var process: pid_t = 0
    let code = arguments.withUnsafeMutableBufferPointer { arguments in
      variables.withUnsafeMutableBufferPointer { variables -> Int32 in
        guard let first = arguments.baseAddress else { return EINVAL }
        return godwit_spawn(
          &process, path, first, environment == nil ? nil : variables.baseAddress, folder, input ?? -1, output,
          errorPath,
          signals)
      }
    }
    return (process, code)
  }

  /// Runs a function on a new thread, which is never joined. 0, or an error number when the system cannot create one.
  package static func startThread(
    stackBytes: Int, _ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?,
    _ context: UnsafeMutableRawPointer
  ) -> Int32 {
    godwit_start_thread(stackBytes, body, context)
  }
}

// Outside of the type, whose members have these names.
private var lastError: Int32 { errno }

private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
  while true {
    let descriptor = open(path, flags, mode)
    if descriptor >= 0 || errno != EINTR { return descriptor }
  }
}

private func readBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}

private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}

/// The facts that the file system has about a path or an open file.
///
/// An initialiser that returns nil leaves the reason in `errno`. A signal that arrives meanwhile changes nothing.
package struct FileStatus {
  package enum Kind: Sendable {
    case file, folder, link
    /// A pipe, a device or a socket: opening or reading it may wait.
    case special

    /// The kind that a folder gives for one of its names; nil on a file system that gives none.
    package init?(_ entry: dirent) {
      switch Int32(entry.d_type) {
      case Int32(DT_REG): self = .file
      case Int32(DT_DIR): self = .folder
      case Int32(DT_LNK): self = .link
      default: return nil
      }
    }
  }

  /// Equal for two paths that lead to one file.
  package struct Identity: Sendable, Hashable, CustomStringConvertible {
    /// The file system.
    package let device: UInt64
    /// The inode.
    package let number: UInt64

    package var description: String { "\(device) \(number)" }
  }

  /// A moment since 1970.
  package struct Time: Sendable, Hashable {
    package let seconds, nanoseconds: Int64

    /// The moment as seconds alone, to some hundred nanoseconds.
    package var interval: Double { Double(seconds) + Double(nanoseconds) / 1e9 }
  }

  private let info: stat

  private init?(_ look: (UnsafeMutablePointer<stat>) -> Int32) {
    var info = stat()
    while look(&info) != 0 { guard errno == EINTR else { return nil } }
    self.info = info
  }

  /// The status of what a path leads to.
  package init?(following path: String) { self.init { stat(path, $0) } }

  /// The status of what has this name itself, which may be a symbolic link.
  package init?(named path: String) { self.init { lstat(path, $0) } }

  /// The status of a name in an open folder.
  package init?(_ name: UnsafePointer<CChar>, inOpenFolder folder: Int32, followingLinks: Bool) {
    self.init { fstatat(folder, name, $0, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) }
  }

  package init?(openFile descriptor: Int32) { self.init { fstat(descriptor, $0) } }

  package var kind: Kind {
    switch info.st_mode & S_IFMT {
    case S_IFREG: .file
    case S_IFDIR: .folder
    case S_IFLNK: .link
    default: .special
    }
  }

  package var isFile: Bool { kind == .file }
  package var isFolder: Bool { kind == .folder }

  /// In bytes.
  package var size: Int64 { Int64(info.st_size) }
  /// The bytes that it takes on the disk.
  package var allocatedBytes: Int64 { Int64(info.st_blocks) * 512 }
  /// How many names it has.
  package var linkCount: UInt64 { UInt64(info.st_nlink) }
  package var owner: uid_t { info.st_uid }
  package var group: gid_t { info.st_gid }
  /// The permission bits, with those for set-user-ID and the like.
  package var mode: mode_t { info.st_mode & 0o7777 }
  /// When its bytes were changed.
  package var modified: Time {
    let time = CLibrary.modificationTime(info)
    return Time(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }

  package var identity: Identity {
    Identity(device: UInt64(truncatingIfNeeded: info.st_dev), number: UInt64(info.st_ino))
  }

  /// Why it is not a folder that this user alone can write in; nil if it is.
  package var reasonForeign: String? {
    if !isFolder { return kind == .link ? "it is a symbolic link" : "it is a file" }
    if owner != geteuid() { return "it belongs to another user" }
    return mode & 0o022 == 0 ? nil : "other users can write in it"
  }

  /// An identity that no other file has, now or later: device and inode, which the file system gives to the next file when this one
  /// is gone, and the moment at which the file was made, where the file system knows it. A rename changes none of them.
  ///
  /// - Returns: nil if that cannot be read; the reason is in `errno`.
  package static func lastingIdentity(_ path: String, followingLink: Bool) -> String? {
    guard let status = followingLink ? FileStatus(following: path) : FileStatus(named: path) else { return nil }
    var (seconds, rest): (Int64, Int64) = (0, 0)
    switch godwit_made(path, followingLink ? 1 : 0, &seconds, &rest) {
    case 1: return "\(status.identity) \(seconds).\(rest)"
    case 0: return "\(status.identity)"
    default: return nil
    }
  }
}
