package import GodwitModel

/// Looks with three answers: the status, nothing, and an error where neither is known.
extension FileStatus {
  /// The status of what has this name itself, which may be a symbolic link; nil if nothing has it.
  ///
  /// - Throws: When the name cannot be looked at, which does not prove that it is free.
  package static func look(named path: String) throws -> FileStatus? {
    try found(FileStatus(named: path), CLibrary.errno, path, [ENOENT, ENOTDIR])
  }

  /// The status of what a path leads to; nil if it leads to nothing, as a loop of symbolic links or too long a name does.
  ///
  /// - Throws: When the path cannot be looked at.
  package static func look(following path: String) throws -> FileStatus? {
    try found(FileStatus(following: path), CLibrary.errno, path, GodwitError.codesOfNoFile)
  }

  /// Whether two paths lead to one file.
  ///
  /// - Throws: When one of them cannot be looked at.
  package static func areSame(_ one: String, _ other: String) throws -> Bool {
    guard let one = try look(following: one), let other = try look(following: other) else { return false }
    return one.identity == other.identity
  }

  private static func found(
    _ status: FileStatus?, _ code: Int32, _ path: String, _ none: [Int32]
  ) throws -> FileStatus? {
    guard status == nil, !none.contains(code) else { return status }
    throw GodwitError.disk("cannot read '\(path)'", errno: code)
  }
}
