import Foundation
import GodwitModel
import GodwitStore

/// A folder that appears under its name when it is complete, or not at all.
///
/// 1. `init` makes a folder of another name beside the path.
/// 2. Write what belongs into it at `temporary`.
/// 3. `finish` gives it its name, or `discard` removes it.
struct NewFolder {
  /// Where the content is written.
  let temporary: String
  private let path: String
  /// The store, whose readers may read the folder.
  private let original: String

  /// - Throws: `.cannotCreate` (73) when something is at the path or its folder is missing; `.permission` (77) when it
  ///   cannot be written.
  init(path given: String, like original: String) throws {
    var trimmed = given
    while trimmed.utf8.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    path = trimmed
    self.original = original
    guard !path.isEmpty, path != "/", !path.utf8.contains(0) else {
      throw GodwitError(.cannotCreate, "cannot create '\(given)': expected the name of a folder")
    }
    try Self.refuseTaken(path)
    try NewFile.refuseReserved(path)
    let url = URL(filePath: path)
    // The name is random, so that nobody can put a link in its place. Its ending is that of the bundle.
    let random = String(UInt64.random(in: .min ... .max), radix: 36)
    temporary = url.deletingLastPathComponent().appending(path: ".\(random).tmp.\(url.lastPathComponent)").path
    guard mkdir(temporary, 0o700) == 0 else { throw NewFile.failure(errno, path) }
  }

  private static func refuseTaken(_ path: String) throws {
    guard FileStatus(named: path) == nil else {
      throw GodwitError(
        .cannotCreate, "cannot create '\(path)': it already exists",
        remedy: "name another path, or remove the folder")
    }
  }

  func finish() throws {
    try FileRights.copyMode(of: original, to: temporary)
    // A user who may read the store may enter the folder.
    guard let mode = FileStatus(following: temporary)?.mode,
      chmod(temporary, mode & 0o777 | 0o700 | (mode & 0o444) >> 2) == 0
    else { throw NewFile.failure(errno, path) }
    try sync(temporary)
    try Self.refuseTaken(path)
    guard rename(temporary, path) == 0 else { throw NewFile.failure(errno, path) }
    try sync(URL(filePath: path).deletingLastPathComponent().path)
  }

  private func sync(_ folder: String) throws {
    let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard CLibrary.sync(descriptor) == 0 || errno == EINVAL else { throw NewFile.failure(errno, path) }
  }

  func discard() { try? FileManager.default.removeItem(atPath: temporary) }
}
