import GodwitModel
import SystemPackage

/// An open descriptor of a spill file, whose failures are spill errors.
final class SpillFile {
  let path: String
  private var descriptor: FileDescriptor?

  private init(path: String, descriptor: FileDescriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { try? descriptor?.close() }

  /// Opens for reading.
  static func open(_ path: String) throws(SpillError) -> SpillFile {
    do {
      return SpillFile(path: path, descriptor: try .open(FilePath(path), .readOnly, options: .closeOnExec))
    } catch {
      if error as? Errno == .noSuchFileOrDirectory { throw .missing(path) }
      throw .io(path, "open", error)
    }
  }

  /// Opens for writing; with `creating`, makes a missing file and syncs its folder if its name is to be durable.
  static func openForWriting(
    _ path: String, creating: Bool, isSynced: Bool
  ) throws(SpillError) -> SpillFile {
    do {
      let options: FileDescriptor.OpenOptions = creating ? [.create, .closeOnExec] : .closeOnExec
      let descriptor = try FileDescriptor.open(
        FilePath(path), .readWrite, options: options, permissions: creating ? .ownerReadWrite : nil)
      let file = SpillFile(path: path, descriptor: descriptor)
      if creating, isSynced { try syncFolder(of: path) }
      return file
    } catch let error as SpillError {
      throw error
    } catch {
      if !creating && error as? Errno == .noSuchFileOrDirectory { throw .missing(path) }
      throw .io(path, creating ? "create" : "open", error)
    }
  }

  private static func syncFolder(of path: String) throws(SpillError) {
    let parent = FilePath(path).removingLastComponent()
    do {
      let folder = try FileDescriptor.open(
        parent.isEmpty ? FilePath(".") : parent, .readOnly, options: [.directory, .closeOnExec])
      try folder.closeAfter { if CLibrary.sync(folder.rawValue) != 0 { throw Errno(rawValue: errno) } }
    } catch { throw .io(path, "sync the folder of", error) }
  }

  private func opened(_ action: String) throws(SpillError) -> FileDescriptor {
    guard let descriptor else { throw .misuse(path, "cannot \(action) the spill file: it is closed") }
    return descriptor
  }

  /// The file's length in bytes.
  func length() throws(SpillError) -> Int64 {
    let descriptor = try opened("measure")
    do { return try descriptor.seek(offset: 0, from: .end) } catch { throw .io(path, "measure", error) }
  }

  /// Up to `count` bytes; fewer only at the end of the file.
  func read(at offset: Int64, count: Int) throws(SpillError) -> [UInt8] {
    let descriptor = try opened("read")
    do {
      return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        while filled < count {
          let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled..<count])
          let read = try descriptor.read(fromAbsoluteOffset: offset + Int64(filled), into: rest)
          if read == 0 { break }
          filled += read
        }
      }
    } catch { throw .io(path, "read", error) }
  }

  func write(_ bytes: [UInt8], at offset: Int64) throws(SpillError) {
    let descriptor = try opened("write")
    do { _ = try descriptor.writeAll(toAbsoluteOffset: offset, bytes) } catch { throw .io(path, "write", error) }
  }

  func truncate(to length: Int64) throws(SpillError) {
    let descriptor = try opened("truncate")
    do { try descriptor.resize(to: length) } catch { throw .io(path, "truncate", error) }
  }

  /// Makes the bytes and the length durable.
  func sync() throws(SpillError) {
    let descriptor = try opened("sync")
    while CLibrary.syncData(descriptor.rawValue) != 0 {
      let error = Errno(rawValue: errno)
      if error != .interrupted { throw .io(path, "sync", error) }
    }
  }

  /// Closes; a second call does nothing.
  func close() throws(SpillError) {
    guard let descriptor else { return }
    self.descriptor = nil
    do { try descriptor.close() } catch { throw .io(path, "close", error) }
  }

  /// Reads the record headers up to `end`, and hands on each with the checksum so far.
  func forEachRecord(
    to end: Int64, _ body: (SpillRecord) throws(SpillError) -> Void
  ) throws(SpillError) -> SpillMark {
    var mark = SpillMark.empty
    while mark.length < end {
      let header = try read(at: mark.length, count: Int(min(Int64(SpillRecord.headerBytes), end - mark.length)))
      let record = try SpillRecord(decoding: header, at: mark.length, end: end, path: path)
      mark.checksum = header.withUnsafeBytes { FNV1a.hash($0, from: mark.checksum) }
      mark.length = record.framePosition + Int64(record.frameBytes)
      try body(record)
    }
    return mark
  }
}
