package import Foundation
import GodwitModel

/// How the last run in a work folder ended, if it ended on its own without finishing. The journal stores it.
///
/// A run that is killed writes nothing. Its lock file then names another holder than the record, and so the run counts
/// as stale.
package struct RunRecord: Codable, Sendable, Hashable {
  /// The run that the record is about, as the lock file names it.
  package var holder: LockHolder
  /// When it ended: RFC 3339 in UTC.
  package var ended: String
  /// Whether it stopped at a checkpoint (75, 130, 143); otherwise it failed.
  package var isStopped: Bool
  /// The exit status.
  package var status: Int32
  /// The status in words.
  package var code: String
  /// Why it stopped, in words and as a code; nil for a failure.
  package var reason, reasonCode: String?
  /// The message of the run, and its remedy. Both are nil for a run that stopped on request.
  package var message, remedy: String?

  package init(
    holder: LockHolder, ended: Date, isStopped: Bool, status: Int32, code: String, reason: String? = nil,
    reasonCode: String? = nil, message: String? = nil, remedy: String? = nil
  ) {
    (self.holder, self.ended, self.isStopped) = (holder, LockHolder.text(ended), isStopped)
    (self.status, self.code) = (status, code)
    (self.reason, self.reasonCode, self.message, self.remedy) = (reason, reasonCode, message, remedy)
  }
}

extension WorkFolder {
  /// Whether a folder is this user's, and others cannot write in it.
  package static func isOwn(_ path: String) throws -> Bool {
    guard let status = try FileStatus.look(named: path) else { return false }
    return status.reasonForeign == nil
  }

  /// Acquires the lock of a folder again to record how the run of this process ended, so that no other run removes the
  /// folder during the write.
  ///
  /// Skips the record if the folder is gone or was refused, or if another run has started. A failure here never fails
  /// the run. A run that failed before it acquired the lock writes its own name into it, because it is still the last
  /// run.
  ///
  /// - Parameter start: When the run of this process began.
  package static func recordEnd(
    inFolder path: String, runSince start: Date, _ body: (LockHolder) throws -> Void
  ) {
    guard (try? checkOwn(path)) != nil, FileManager.default.fileExists(atPath: path + "/" + markerName),
      let lock = try? FileLock(path: path + "/" + lockName, mode: nil)
    else { return }
    defer { withExtendedLifetime(lock) {} }
    guard let holder = LockHolder.ofRun(since: start, lock: lock.descriptor) else { return }
    try? body(holder)
  }
}
