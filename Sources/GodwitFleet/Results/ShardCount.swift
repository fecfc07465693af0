import Foundation
import GodwitModel
import GodwitPlatform
import Synchronization

/// How many stores of a shard have ended, and how many of them failed, in a file of one line: other processes need not
/// read its results.
///
/// The process that has the shard's lock writes it. The results are what counts: a process that dies between the two
/// leaves a number that is wrong until the next run of the shard, which writes it first of all.
package struct ShardCount: Sendable, Equatable {
  package var ended: Int64
  package var failed: Int64

  package init(ended: Int64, failed: Int64) { (self.ended, self.failed) = (ended, failed) }

  /// More than a line of two numbers and a digest needs.
  private static let bytesMaximum = 256

  /// nil for a file that is missing, is just being written, or is of another plan.
  package init?(readingFrom path: String, identity: String) {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Self.bytesMaximum)
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    guard count > 0, bytes[..<count].contains(0x0A) else { return nil }
    let line = String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self)
    let parts = line.split(separator: " ")
    guard parts.count == 3, let ended = Int64(parts[0]), let failed = Int64(parts[1]), ended >= 0, failed >= 0,
      parts[2] == identity
    else { return nil }
    self.init(ended: ended, failed: failed)
  }

  /// Numbers of one length, so that a line covers the one before.
  fileprivate func line(_ identity: String) -> String {
    func padded(_ number: Int64) -> String {
      let digits = String(max(0, number))
      return String(repeating: "0", count: 19 - min(19, digits.count)) + digits
    }
    return "\(padded(ended)) \(padded(failed)) \(identity)\n"
  }

  fileprivate func write(to path: String, identity: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(line(identity).utf8)
    // One call: who reads meanwhile sees the old line or the new one.
    let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    if count == bytes.count { _ = ftruncate(descriptor, off_t(count)) }
  }
}

/// Keeps the counts of the shard that this process runs, for the others.
///
/// What goes wrong is no concern of the run: then the others count too few failures, until the shard runs again.
package final class ShardCounter: Sendable {
  private let failedPath, endedPath: String
  private let identity: String
  private let isCanary: Bool
  /// What is in the file of failures; nil while that is not known.
  private let written = Mutex<Int64?>(nil)

  /// The shard's lock must be held.
  package init(_ folder: FleetFolder, shard: Int, plan: FleetPlan) {
    (failedPath, endedPath, identity) = (folder.failedPath(shard), folder.canaryPath, plan.identity)
    isCanary = plan.canary && shard == 0
  }

  /// The run of the shard begins: what an earlier one left may be wrong.
  package func begin(_ count: ShardCount) {
    if isCanary { unlink(endedPath) }
    update { count }
  }

  /// Writes the number of failed stores, if it is another one.
  ///
  /// - Parameter count: Asked for under the counter's lock, so that of two threads the later one has the later number.
  package func update(_ count: () -> ShardCount) {
    written.withLock { written in
      let count = count()
      guard count.failed != written else { return }
      // Other processes look only at files that are there: most shards have no failure.
      if count.failed == 0 { unlink(failedPath) } else { count.write(to: failedPath, identity: identity) }
      written = count.failed
    }
  }

  /// The run of the shard is over. Of the canary all processes ask whether it has ended.
  package func finish(_ count: ShardCount) {
    update { count }
    if isCanary { count.write(to: endedPath, identity: identity) }
  }
}
