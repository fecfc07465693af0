import GodwitModel

/// A file that a command writes where its user says: the one place that decides whether it may.
///
/// - Its name must not be one that Godwit or SQLite reads on its own: a log of a database, or a name in a work folder or
///   in a folder of external files.
/// - It must not be one of the job's own files.
/// - A link there is never followed, and only an ordinary file is ever replaced.
/// - A file there is replaced only if an earlier command of the same kind wrote it.
/// - Its permissions are at most those of the stores whose data it contains.
package struct OutputFile {
  package let path: String
  /// The content of the file, with an article.
  let noun: String
  /// The option that names it.
  let option: String
  /// The stores whose data it contains.
  package var originals: [String] = []
  /// Whether a file that begins with these bytes is an earlier output; nil if no file may exist.
  private let isEarlier: (([UInt8]) -> Bool)?

  /// The number of bytes at the start of a file that are examined.
  package static let headBytes = 4096

  package init(
    _ path: String, _ noun: String, option: String = "-o", like originals: [String] = [],
    isEarlier: (([UInt8]) -> Bool)? = nil
  ) {
    (self.path, self.noun, self.option, self.originals, self.isEarlier) = (path, noun, option, originals, isEarlier)
  }

  /// Decides whether the file may be written.
  ///
  /// - Parameter owner: The job's own file at a path; nil for none.
  /// - Returns: Whether it replaces an earlier one.
  /// - Throws: `.usage` (64) for a name that is the job's, or has another meaning; `.cannotCreate` (73) when another
  ///   file, a link or a folder has the name.
  @discardableResult package func check(owner: (String) throws -> String? = { _ in nil }) throws -> Bool {
    if let name = try owner(path) { throw refusal(.usage, "it is the job's \(name)") }
    if let why = Self.reserved(path) { throw refusal(.usage, why) }
    guard let status = try FileStatus.look(named: path) else { return false }
    guard let isEarlier else { throw NewFile.isTaken(path) }
    if status.isFile, try isEarlier(ReadableFile(path: path, name: path).prefix(Self.headBytes)) { return true }
    throw refusal(
      .cannotCreate, "what is there is not \(noun)",
      cause: status.isFile ? nil : "it is a link, a folder or a special file",
      remedy: ", or remove that one")
  }

  private func refusal(
    _ code: GodwitError.Code, _ why: String, cause: String? = nil, remedy: String = ""
  ) -> GodwitError {
    GodwitError(
      code, "cannot write \(noun) to '\(path)': \(why)", cause: cause,
      remedy: "name another file with \(option)\(remedy)",
      safe: "nothing was written")
  }

  /// Why no command writes a file of a name, whatever option names it; nil for any other name.
  package static func reserved(_ path: String) -> String? {
    let name = path.split(separator: "/").last ?? ""
    if let log = ["-wal", "-shm", "-journal"].first(where: name.hasSuffix), name != log {
      return "SQLite would take it for a file of the database '\(path.dropLast(log.count))'"
    }
    // The folder may be reached by a link.
    let parent = realpath(path.parentPath.isEmpty ? "." : path.parentPath, nil)
    defer { free(parent) }
    let folders = path + "/" + (parent.map { String(cString: $0) } ?? "")
    let isOwn = folders.split(separator: "/").contains {
      $0.hasSuffix(".godwit") || $0.hasPrefix(".") && $0.hasSuffix("_SUPPORT")
    }
    return isOwn ? "it is in a work folder, or among the external files of a store" : nil
  }
}
