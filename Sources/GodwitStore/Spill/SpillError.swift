package import SystemPackage

/// A failure of a spill file, with its remedy.
package struct SpillError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Hashable {
    /// The bytes are not those that were committed.
    case damaged
    /// A system call failed.
    case io(Errno)
    /// The file that a mark describes is missing.
    case missing
    /// The caller broke a rule of use, such as the order of keys; a bug, not a state of the file.
    case misuse
  }

  package var kind: Kind
  /// One sentence, lower case, without a final full stop.
  package var message: String
  package var path: String
  /// The remedy.
  package var remedy: String

  package init(_ kind: Kind, _ message: String, path: String, remedy: String) {
    self.kind = kind
    self.message = message
    self.path = path
    self.remedy = remedy
  }

  /// Whether the disk has no room.
  package var isDiskFull: Bool { kind == .io(.noSpace) }

  /// Whether the bytes are not those that were written; a failed system call says nothing of them.
  package var isDamage: Bool { kind == .damaged || kind == .missing }

  package var description: String { "\(message) (\(path)); \(remedy)" }
}

extension SpillError {
  static func damaged(_ path: String, at offset: Int64, expected: String, found: String) -> SpillError {
    SpillError(
      .damaged, "cannot read the spill file at byte \(offset): expected \(expected), found \(found)", path: path,
      remedy: "discard the unfinished destination and run the job again")
  }

  static func io(_ path: String, _ action: String, _ error: any Error) -> SpillError {
    let errno = error as? Errno ?? .ioError
    let remedy = errno == .noSpace ? "free space on the disk, then run the job again" : "run the job again; it resumes"
    return SpillError(
      .io(errno), "cannot \(action) the spill file: expected success, found \(errno.description)", path: path,
      remedy: remedy)
  }

  static func missing(_ path: String) -> SpillError {
    SpillError(
      .missing, "cannot open the spill file: expected the file that the ledger names, found none", path: path,
      remedy: "restore the file, or discard the unfinished destination and run the job again")
  }

  static func misuse(_ path: String, _ message: String) -> SpillError {
    SpillError(.misuse, message, path: path, remedy: "report this as a bug")
  }
}
