package import Foundation
import GodwitModel
import GodwitPlatform
import GodwitStore

/// How the last run in a work folder ended, if it ended by itself without finishing: `last-run.json`.
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
  /// What the run said; nil for a run that stopped as it was told.
  package var message, remedy: String?

  package init(
    holder: LockHolder, ended: Date, isStopped: Bool, status: Int32, code: String, reason: String? = nil,
    reasonCode: String? = nil, message: String? = nil, remedy: String? = nil
  ) {
    (self.holder, self.ended, self.isStopped) = (holder, LockHolder.text(ended), isStopped)
    (self.status, self.code) = (status, code)
    (self.reason, self.reasonCode, self.message, self.remedy) = (reason, reasonCode, message, remedy)
  }

  static func path(inFolder folder: String) -> String { folder + "/last-run.json" }

  private static let limitBytes = ByteCount(bytes: 64 << 10)

  /// nil when there is none, or one that cannot be read.
  ///
  /// Whoever asks may look at a folder that somebody else has made: only an ordinary, small file in a folder that
  /// others cannot write is read.
  package static func read(inFolder folder: String) -> RunRecord? {
    let path = path(inFolder: folder)
    var info = stat()
    guard lstat(folder, &info) == 0, info.st_mode & S_IFMT == S_IFDIR, info.st_uid == geteuid(),
      info.st_mode & 0o022 == 0, lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG,
      let data = try? ReadableFile.bytes(of: path, limit: limitBytes)
    else { return nil }
    return try? JSONDecoder().decode(Self.self, from: data)
  }
}

extension WorkFolder {
  /// Records how the run of this process ended. Call when the run has given up the lock.
  ///
  /// It takes the lock again, so that no other run removes the folder meanwhile. It records nothing if the folder is
  /// gone, or another run has come, and what goes wrong never fails the run. A run that failed before it took the lock
  /// writes its own name into it: it is the last one all the same.
  ///
  /// - Parameter start: When the run of this process began.
  package static func noteEnd(inFolder path: String, runSince start: Date, _ record: (LockHolder) -> RunRecord) {
    // Nothing is written into a folder that the run refused, or whose making failed: without the marker the next run would
    // refuse it.
    guard (try? checkOwn(path)) != nil, FileManager.default.fileExists(atPath: path + "/" + markerName) else { return }
    // Held until the record is written.
    guard let lock = try? FileLock(path: path + "/" + lockName, mode: nil) else { return }
    defer { withExtendedLifetime(lock) {} }
    guard let holder = LockHolder.ofRun(since: start, lock: lock.descriptor) else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(record(holder)) else { return }
    // The run may have failed before it marked the folder: a file in a folder without the mark would keep the next out.
    if (try? mark(of: path)) == nil, (try? setMark(.synced, in: path)) == nil { return }
    try? writeNote(data, to: RunRecord.path(inFolder: path))
    try? sync(path)
  }
}
