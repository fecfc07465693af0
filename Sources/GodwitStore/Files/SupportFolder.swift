import Foundation
package import GodwitModel

/// The folder that holds a store's external binary data: `.NAME_SUPPORT/_EXTERNAL_DATA/UUID`, NAME being the store's
/// file name without its extension.
///
/// Core Data writes a file once and never changes it: a new value gets a new name.
package struct SupportFolder: Sendable, Hashable {
  package let path: String
  /// For a merged store, the folders of its parts in order: a name that this folder lacks is that of a file of theirs.
  private var others: [SupportFolder] = []

  /// The folder that belongs to a store, beside the real file where the path is a symbolic link.
  package init(ofStoreAt store: String) {
    let store = StoreFiles.resolvingLink(store)
    if let plain = Self.path(ofPlainPath: store) {
      path = plain
      return
    }
    let url = URL(filePath: store)
    let name = ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT"
    path = url.deletingLastPathComponent().appending(path: name).path
  }

  /// The same for a path without characters that a URL would change. Nearly all paths are of this kind.
  ///
  /// - Returns: nil for any other.
  package static func path(ofPlainPath store: String) -> String? {
    let bytes = Array(store.utf8)
    let slash = bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1
    guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > slash + 1, bytes[slash + 1] != UInt8(ascii: "."),
      dot + 1 < bytes.count,
      bytes[(dot + 1)...].allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) })
    else { return nil }
    // No part is empty, and none begins with a dot: it could lead elsewhere.
    let folder = bytes[..<max(slash, 0)]
    let parts = folder.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isAbsolute = slash >= 0 && bytes[0] == UInt8(ascii: "/")
    guard slash > 0 || (slash < 0 && folder.isEmpty),
      parts.dropFirst(isAbsolute || slash < 0 ? 1 : 0).allSatisfy({ $0.first.map { $0 != UInt8(ascii: ".") } ?? false })
    else { return nil }
    let name = ".\(String(decoding: bytes[(slash + 1)..<dot], as: UTF8.self))_SUPPORT"
    let place = String(decoding: folder, as: UTF8.self)
    if isAbsolute { return "\(place)/\(name)" }
    let current = FileManager.default.currentDirectoryPath
    guard current != "/" else { return nil }
    return slash < 0 ? "\(current)/\(name)" : "\(current)/\(place)/\(name)"
  }

  /// A folder under construction.
  package init(path: String) { self.path = path }

  /// The folder of the files.
  package var dataPath: String { path + "/_EXTERNAL_DATA" }

  /// The folder as that of a merged store, which has the files of its parts too.
  ///
  /// - Parameter others: The folders of the parts, in order.
  package func lookingInto(_ others: [SupportFolder]) -> SupportFolder {
    var folder = self
    folder.others = others
    return folder
  }

  /// The folder and those of the parts.
  package var all: [SupportFolder] { [SupportFolder(path: path)] + others }

  /// The path of the file of a name. Names come from `StoredBinary`, which accepts only UUIDs.
  package func path(of name: String) -> String {
    let own = dataPath + "/" + name
    guard !others.isEmpty, FileStatus(named: own) == nil else { return own }
    return others.lazy.map { $0.path(of: name) }.first { FileStatus(named: $0) != nil } ?? own
  }

  /// Whether anything has the folder's name, including a dangling symbolic link.
  ///
  /// - Throws: When that cannot be found out.
  package var exists: Bool {
    get throws {
      try FileStatus.look(named: path) != nil || others.contains { try $0.exists }
    }
  }

  /// Refuses folders that are symbolic links, because their targets are not the store's.
  ///
  /// - Throws: `.dataWrong` (65) for a link; `.permission` or `.inputOutput` when the folders cannot be looked at.
  package func refuseLinks() throws {
    for other in others { try other.refuseLinks() }
    for folder in [path, dataPath] {
      guard let status = FileStatus(named: folder) else {
        if errno == ENOENT || errno == ENOTDIR { return }
        throw StoreFiles.failure(errno, reading: folder)
      }
      guard status.kind == .link else { continue }
      throw GodwitError(
        .dataWrong,
        "cannot read the external data in '\(folder)': it is a symbolic link, and links are not followed there",
        remedy: "replace the link by the folder itself"
      ).about(.externalFile)
    }
  }

  // MARK: Reading

  /// The size of a file; nil when no regular file has that name. A symbolic link does not count, because its target is
  /// not the store's.
  ///
  /// - Throws: `.permission` or `.inputOutput` when the size is unknown: a file that cannot be seen is not a missing
  ///   one.
  package func size(of name: String) throws -> Int64? {
    guard let status = FileStatus(named: path(of: name)) else {
      guard errno == ENOENT else { throw StoreFiles.failure(errno, reading: path(of: name)) }
      return nil
    }
    return status.isFile ? status.size : nil
  }

  /// Whether a file is missing. It is opened, as a run will do.
  ///
  /// - Throws: `.permission` or `.inputOutput` when it is there and cannot be opened.
  package func isMissing(_ name: String) throws -> Bool {
    guard try size(of: name) != nil else { return true }
    _ = try ExternalFile(path(of: name))
    return false
  }

  /// The bytes of a file; nil when it is missing.
  ///
  /// - Throws: `.dataWrong` when it is longer than the limit; `.permission` or `.inputOutput` when it cannot be read.
  package func bytes(of name: String, limit: ByteCount) throws -> [UInt8]? {
    guard let size = try size(of: name) else { return nil }
    guard size <= limit.bytes else {
      throw GodwitError(
        .dataWrong,
        "cannot read the external file '\(path(of: name))': expected at most \(limit), found \(ByteCount(bytes: size))",
        remedy: "copy the attribute as it is; an expression reads a value as a whole"
      ).about(.externalFile)
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(size))
    try forEachPiece(of: name) { bytes.append(contentsOf: $0) }
    return bytes
  }

  /// Hands the bytes of a file to `body`, at most 1 MiB at a time.
  ///
  /// - Throws: `.missingInput`, `.permission` or `.inputOutput` when it cannot be read; the errors of `body`.
  package func forEachPiece(of name: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let file = try ExternalFile(path(of: name))
    while let piece = try file.next() { try piece.withUnsafeBytes { try body($0) } }
  }

  /// Whether two files have the same bytes, read side by side.
  package func holdsSameBytes(_ name: String, as other: String, in folder: SupportFolder) throws -> Bool {
    guard try size(of: name) == folder.size(of: other) else { return false }
    if let a = FileStatus(named: path(of: name)), a.isFile,
      FileStatus(named: folder.path(of: other))?.identity == a.identity
    {
      return true
    }
    return try StoredBytes.file(name, self).isSame(as: .file(other, folder))
  }

  /// Names and sizes of the files, in no order. For a symbolic link in place of a folder there are none.
  ///
  /// - Throws: `.permission` or `.inputOutput` when the folder cannot be read.
  ///
  /// A name that several parts of a merged store have is told for each.
  package func forEachFile(_ body: (_ name: String, _ bytes: Int64) throws -> Void) throws {
    for folder in all {
      try Self.forEachName(in: folder.dataPath) { name in
        guard let size = try folder.size(of: name) else { return }
        try body(name, size)
      }
    }
  }

  /// The names, sizes and times of all files, as a checksum; nil without any. An edit that leaves the size and sets the
  /// time back is not seen.
  package func stamp() throws -> String? {
    var sum = StoreChecksums.Sum()
    try forEachFile { name, _ in
      guard let status = try FileStatus.look(named: path(of: name)) else { return }
      let key = StoreChecksums.key([name, "\(status.size) \(status.modified.seconds) \(status.modified.nanoseconds)"])
      sum.add(UInt128(key.high) << 64 | UInt128(key.low))
    }
    return sum.count == 0 ? nil : sum.checksum
  }

  /// When a file was last written, in seconds since 1970; nil if it is missing.
  package func modified(_ name: String) -> Double? { FileStatus(named: path(of: name))?.modified.interval }

  /// The names in a folder that is not a symbolic link; none if the folder is missing.
  static func forEachName(in path: String, _ body: (String) throws -> Void) throws {
    let descriptor = CLibrary.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if [ENOENT, ENOTDIR, ELOOP].contains(errno) { return }
      throw StoreFiles.failure(errno, reading: path)
    }
    guard let folder = fdopendir(descriptor) else {
      let code = errno
      close(descriptor)
      throw StoreFiles.failure(code, reading: path)
    }
    defer { closedir(folder) }
    while true {
      errno = 0
      guard let entry = readdir(folder) else {
        // The end, or a disk that could not be read: an unreadable folder is not an empty one.
        guard errno == 0 else { throw StoreFiles.failure(errno, reading: path) }
        return
      }
      let name = withUnsafePointer(to: entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
          String(cString: $0)
        }
      }
      if name != ".", name != ".." { try body(name) }
    }
  }

  /// Whether a name has the form of those that Core Data gives its files.
  package static func isFileName(_ name: String) -> Bool { name.utf8.count == 36 && UUID(uuidString: name) != nil }

  /// The path of an entry of the folder that `remove` leaves; nil without one.
  package func firstForeignName() throws -> String? {
    try refuseLinks()
    var foreign: [String] = []
    try Self.forEachName(in: path) { if path + "/" + $0 != dataPath { foreign.append(path + "/" + $0) } }
    try Self.forEachName(in: dataPath) { if !Self.isOwnName($0) { foreign.append(self.path(of: $0)) } }
    return foreign.min()
  }

  /// Whether a name is that of an external file, or of an unfinished copy of one.
  private static func isOwnName(_ name: String) -> Bool {
    let suffix = [partSuffix, ".new"].first { name.hasSuffix($0) } ?? ""
    return isFileName(String(name.dropLast(suffix.count)))
  }

  /// Removes the folder with the files that have a UUID as their name, and unfinished copies. Other names stay, and so
  /// do the folders that hold them. No symbolic link is followed.
  ///
  /// - Throws: `.inputOutput` or `.permission`.
  package func remove() throws {
    try refuseLinks()
    var names: [String] = []
    try Self.forEachName(in: dataPath) { if Self.isOwnName($0) { names.append($0) } }
    for name in names where unlink(path(of: name)) != 0 && errno != ENOENT { throw unremoved(path(of: name)) }
    for folder in [dataPath, path] where rmdir(folder) != 0 {
      guard [ENOENT, ENOTEMPTY, EEXIST, ENOTDIR].contains(errno) else { throw unremoved(folder) }
    }
  }

  private func unremoved(_ path: String) -> GodwitError {
    let code = errno
    return GodwitError(
      [EACCES, EPERM, EROFS].contains(code) ? .permission : .inputOutput, "cannot remove '\(path)'",
      cause: String(cString: strerror(code)), remedy: "fix the cause and run the same command")
  }

  /// The suffix of a copy until it is complete.
  private static let partSuffix = ".part"

  // MARK: Carrying

  /// Copies a file of another folder here: as a hard link if possible. An existing file is kept.
  ///
  /// A copy gets its name when it is complete and synced. The caller syncs the folder.
  ///
  /// - Returns: false when the other folder has no such file.
  /// - Throws: `.inputOutput` when the disk is full, `.permission`, `.cannotCreate`.
  package func carry(_ name: String, from folder: SupportFolder, as newName: String) throws -> Bool {
    let (from, to) = (folder.path(of: name), path(of: newName))
    guard let size = try folder.size(of: name) else { return false }
    if try self.size(of: newName) == size { return true }
    // A link to a symbolic link would lead elsewhere from here.
    if FileStatus(named: from)?.isFile == true, link(from, to) == 0 { return true }
    let part = to + Self.partSuffix
    unlink(part)
    // Only the owner may read it until the rights of the original are known.
    let output = CLibrary.open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw NewFile.failure(errno, part) }
    defer { close(output) }
    do {
      try folder.forEachPiece(of: name) { piece in
        try NewFile.write(piece, to: output) { NewFile.failure($0, part) }
      }
      try FileRights.copyMode(of: from, to: part)
      guard CLibrary.sync(output) == 0, rename(part, to) == 0 else { throw NewFile.failure(errno, to) }
    } catch {
      unlink(part)
      throw error
    }
    return true
  }
}

/// A file read from its beginning; closes when it goes.
struct ExternalFile: ~Copyable {
  private let descriptor: Int32
  private let path: String

  init(_ path: String) throws {
    self.path = path
    // Does not follow a symbolic link, and does not wait for a pipe.
    descriptor = CLibrary.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreFiles.failure(errno, reading: path) }
  }

  deinit { close(descriptor) }

  /// The next bytes, 1 MiB but at the end; nil after the last.
  func next() throws -> [UInt8]? {
    let bytes = try [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
      count = try fill(UnsafeMutableRawBufferPointer(buffer))
    }
    return bytes.isEmpty ? nil : bytes
  }

  /// Fills a buffer with the next bytes; returns how many there were, fewer at the end alone.
  func fill(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    try buffer.fill(from: path) { rest, count, _ in read(descriptor, rest, count) }
  }

  /// Fills a buffer with the bytes from an offset; returns how many there were.
  func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    try buffer.fill(from: path) { pread(descriptor, $0, $1, off_t(offset + $2)) }
  }
}

/// The bytes of an external file, which becomes a value in a row.
package final class OpenFile: LargeBytes {
  package let byteCount: Int
  package let isText = false
  private let name: String
  private let folder: SupportFolder
  private let file: ExternalFile

  /// - Throws: `.stopped` (75) when the file is gone; `.permission` or `.inputOutput` when it cannot be read.
  package init(_ name: String, in folder: SupportFolder) throws {
    guard let size = try folder.size(of: name) else { throw Self.changed(name, folder) }
    (self.name, self.folder, byteCount) = (name, folder, Int(size))
    file = try ExternalFile(folder.path(of: name))
  }

  /// - Throws: `.stopped` (75) when the file changed its size.
  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    let end = offset + buffer.count
    guard try file.fill(buffer, at: offset) == buffer.count, try end < byteCount || folder.size(of: name) == Int64(end)
    else { throw Self.changed(name, folder) }
  }

  private static func changed(_ name: String, _ folder: SupportFolder) -> GodwitError {
    GodwitError(
      .stopped, "stopped: the external file '\(folder.path(of: name))' changed during the run",
      remedy: "make sure nothing writes to the source, `godwit discard` the job and run again",
      stopReason: .sourceChanged)
  }
}
