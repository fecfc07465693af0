import Foundation
import GodwitModel
import GodwitStore

/// A file that is read by places; closes when it goes.
final class SourceFile {
  private let descriptor: Int32
  private let name: String
  let size: Int64

  /// - Throws: `.missingInput`, `.permission` or `.inputOutput`; `.dataWrong` for anything but a regular file.
  init(_ path: String, named name: String) throws {
    self.name = name
    descriptor = CLibrary.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw GodwitError.reading(storeAt: name, CLibrary.errno) }
    guard let status = FileStatus(openFile: descriptor), status.isFile else {
      close(descriptor)
      throw GodwitError(
        .dataWrong, "cannot read '\(name)': expected a file, found a folder or a special file",
        remedy: "check the path")
    }
    size = status.size
  }

  /// The bytes from a place, fewer at the end; nil behind the end, and where the disk fails.
  func readable(_ count: Int, at place: Int64) throws -> [UInt8]? {
    do { return try bytes(count, at: place) } catch let error as GodwitError where error.code == .inputOutput {
      return nil
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The bytes from a place, fewer at the end; nil behind the end.
  ///
  /// - Throws: `.inputOutput` if the disk fails.
  func bytes(_ count: Int, at place: Int64) throws -> [UInt8]? {
    guard place < size else { return nil }
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      while done < count {
        let got = pread(descriptor, buffer.baseAddress?.advanced(by: done), count - done, off_t(place) + off_t(done))
        if got < 0, CLibrary.errno == EINTR { continue }
        guard got >= 0 else { throw GodwitError.reading(storeAt: name, CLibrary.errno) }
        if got == 0 { return }
        done += got
      }
    }
  }
}
