package import Foundation
import GodwitModel

/// The current or last holder of a lock. A run writes it into the file `lock` of its work folder.
///
/// The lock itself is the kernel's: see `FileLock`. This record is for people and monitors. It also distinguishes the
/// last run from the one before: see `RunRecord`.
package struct LockHolder: Codable, Sendable, Hashable {
  /// The process.
  package var pid: Int32
  /// When it took the lock: RFC 3339 in UTC, with milliseconds.
  package var since: String
  /// The name of the machine or container, in which the number of the process means something.
  package var host: String?

  private static let limitBytes = 1024
  private static var timeStyle: Date.ISO8601FormatStyle { Date.ISO8601FormatStyle(includingFractionalSeconds: true) }

  /// This process, now.
  package static func current() -> LockHolder {
    var name = [CChar](repeating: 0, count: 256)
    let isKnown = gethostname(&name, name.count - 1) == 0
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let host = isKnown && !bytes.isEmpty ? String(decoding: bytes, as: UTF8.self) : nil
    return LockHolder(pid: getpid(), since: Self.text(Date()), host: host)
  }

  /// This process as the holder of a lock that its run had, or would have had next.
  ///
  /// - Parameters:
  ///   - start: When the run began.
  ///   - descriptor: The lock, which this process holds.
  /// - Returns: nil if another run has had the lock since.
  static func ofRun(since start: Date, lock descriptor: Int32) -> LockHolder? {
    let current = current()
    if let known = LockHolder(reading: descriptor), let since = time(known.since),
      // The file has milliseconds.
      since >= start.addingTimeInterval(-0.01)
    {
      return (known.pid, known.host) == (current.pid, current.host) ? known : nil
    }
    let own = LockHolder(pid: current.pid, since: text(start), host: current.host)
    own.write(to: descriptor)
    return own
  }

  /// A time as records of a work folder have it.
  package static func text(_ time: Date) -> String { time.formatted(timeStyle) }

  /// The time of a record; nil for any other text.
  package static func time(_ text: String) -> Date? { try? Date(text, strategy: timeStyle) }

  /// For example `process 4711 on 'mail', since 2026-11-23T01:30:00.125Z`.
  package var description: String {
    "process \(pid)\(host.map { " on '\($0)'" } ?? ""), since \(since)".onOneLine
  }

  // MARK: The file

  /// Writes the holder into the lock file. A failure does not stop the run, because only people read the file.
  package func write(to descriptor: Int32, isSynced: Bool = true) {
    guard let data = try? sortedJSON(), ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
      return
    }
    let bytes = [UInt8](data + Data("\n".utf8))
    // A text this short is written in one call, or not at all.
    guard bytes.withUnsafeBytes({ CLibrary.write(descriptor, $0.baseAddress, $0.count) }) == bytes.count else { return }
    // After a power cut the file must not name a run before the last, unless its work is lost with it.
    if isSynced { CLibrary.sync(descriptor) }
  }

  /// nil for a file that says nothing: one of an earlier version, or one that is just being written.
  init?(reading descriptor: Int32) {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Self.limitBytes)
    let count = CLibrary.read(descriptor, &bytes, bytes.count)
    guard count > 0, let known = try? JSONDecoder().decode(Self.self, from: Data(bytes.prefix(count))) else {
      return nil
    }
    self = known
  }

  package init(pid: Int32, since: String, host: String?) {
    (self.pid, self.since, self.host) = (pid, since, host)
  }
}

extension WorkFolder {
  /// The state of the lock of a work folder. Writes nothing.
  ///
  /// - Throws: `.permission` (77) or `.inputOutput` (74) when the lock cannot be looked at.
  package static func lockState(ofFolder path: String) throws -> LockState {
    try lockState(ofFile: path + "/" + lockName)
  }

  /// The same for the lock itself.
  package static func lockState(ofFile file: String) throws -> LockState {
    do { return try FileLock.state(ofFile: file) } catch {
      switch error {
      case .unopened(let code), .failed(let code): throw GodwitError.disk("cannot read '\(file)'", errno: code)
      default: throw error
      }
    }
  }
}
