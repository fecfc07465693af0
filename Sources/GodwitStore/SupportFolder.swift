import Foundation
public import GodwitModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The folder that holds a store's external binary data: `.NAME_SUPPORT/_EXTERNAL_DATA/UUID`, NAME being the store's
/// file name without its extension.
///
/// Core Data writes a file once and never changes it: a new value gets a new name.
public struct SupportFolder: Sendable, Hashable {
  public let path: String

  /// The folder that belongs to a store.
  public init(ofStoreAt store: String) {
    let url = URL(filePath: store)
    let name = ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT"
    path = url.deletingLastPathComponent().appending(path: name).path
  }

  /// A folder under construction.
  public init(path: String) { self.path = path }

  /// The folder of the files.
  public var dataPath: String { path + "/_EXTERNAL_DATA" }

  /// Where the file of a name is. Names come from `StoredBinary`, which takes UUIDs alone.
  public func path(of name: String) -> String { dataPath + "/" + name }

  /// Whether anything stands under the folder's name, a symbolic link to nothing included.
  public var exists: Bool {
    var info = stat()
    return lstat(path, &info) == 0
  }

  // MARK: Reading

  /// The size of a file; nil when there is no regular file of that name.
  public func size(of name: String) -> Int64? {
    var info = stat()
    guard stat(path(of: name), &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int64(info.st_size)
  }

  /// The bytes of a file; nil when it is missing.
  ///
  /// - Throws: `.dataWrong` when it is longer than the limit; `.permission` or `.inputOutput` when it cannot be read.
  public func bytes(of name: String, limit: ByteCount) throws -> [UInt8]? {
    guard let size = size(of: name) else { return nil }
    guard size <= limit.bytes else {
      throw GodwitError(
        .dataWrong,
        "cannot read the external file '\(path(of: name))': expected at most \(limit), found \(ByteCount(bytes: size))",
        remedy: "copy the attribute as it is; an expression reads a value as a whole")
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(size))
    try forEachPiece(of: name) { bytes.append(contentsOf: $0) }
    return bytes
  }

  /// Hands the bytes of a file to `body`, at most 1 MiB at a time.
  ///
  /// - Throws: `.missingInput`, `.permission` or `.inputOutput` when it cannot be read; what `body` throws.
  public func forEachPiece(of name: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let file = try ExternalFile(path(of: name))
    while let piece = try file.next() { try piece.withUnsafeBytes { try body($0) } }
  }

  /// Whether two files have the same bytes, read side by side.
  public func holdsSameBytes(_ name: String, as other: String, in folder: SupportFolder) throws -> Bool {
    guard size(of: name) == folder.size(of: other) else { return false }
    return try StoredBytes.file(name, self).isSame(as: .file(other, folder))
  }

  /// Names and sizes of the files, in no order.
  public func forEachFile(_ body: (_ name: String, _ bytes: Int64) throws -> Void) throws {
    guard let folder = opendir(dataPath) else {
      if errno == ENOENT || errno == ENOTDIR { return }
      throw StoreFiles.failure(errno, reading: dataPath)
    }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
          String(cString: $0)
        }
      }
      guard name != ".", name != "..", let size = size(of: name) else { continue }
      try body(name, size)
    }
  }

  // MARK: Carrying

  /// Brings a file of another folder here: as a hard link, else as a copy. A file that is there already is kept.
  ///
  /// A copy takes its name when it is complete and synced. The folder itself is the caller's to sync.
  ///
  /// - Returns: false when the other folder has no such file.
  /// - Throws: `.inputOutput` when the disk is full, `.permission`, `.cannotCreate`.
  public func carry(_ name: String, from folder: SupportFolder, as newName: String) throws -> Bool {
    let (from, to) = (folder.path(of: name), path(of: newName))
    guard let size = folder.size(of: name) else { return false }
    if self.size(of: newName) == size { return true }
    var info = stat()
    // A link to a symbolic link would lead elsewhere from here.
    if lstat(from, &info) == 0, info.st_mode & S_IFMT == S_IFREG, link(from, to) == 0 { return true }
    let part = to + ".part"
    unlink(part)
    let output = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard output >= 0 else { throw NewFile.failure(errno, part) }
    defer { close(output) }
    do {
      try folder.forEachPiece(of: name) { piece in
        var written = 0
        while written < piece.count {
          let count = write(output, piece.baseAddress?.advanced(by: written), piece.count - written)
          if count < 0, errno == EINTR { continue }
          guard count > 0 else { throw NewFile.failure(errno, part) }
          written += count
        }
      }
      guard fsync(output) == 0, rename(part, to) == 0 else { throw NewFile.failure(errno, to) }
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
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
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
    var count = 0
    while count < buffer.count {
      let got = read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw StoreFiles.failure(errno, reading: path) }
      if got == 0 { break }
      count += got
    }
    return count
  }
}
