import Foundation
import GodwitModel
import Synchronization

/// The room on the disks that several jobs of one process share.
///
/// Each job checks the free room before it writes. Without coordination, several jobs would all find the same room and
/// fill the disk together. So each job claims the room for its output, and the next one subtracts the part of the
/// claims that is not written yet. A job that fits only after others have ended waits for them. Jobs behind it wait as
/// well: otherwise a stream of small jobs would keep a large one waiting.
package final class SharedSpace: Sendable {
  /// The space that a job is going to use.
  private struct Claim {
    var share: SpaceClaim
    /// The bytes in the folder before.
    var before: Int64

    /// The growth of the folder, at most the claimed bytes.
    func written() -> Int64 {
      guard let device = share.device, let claimed = share.bytes[device] else { return 0 }
      return min(claimed, max(0, SharedSpace.size(of: share.folder) - before))
    }
  }

  private struct State {
    var claims: [Int: Claim] = [:]
    /// The waiting jobs in the order of their requests.
    var waiting: [Int] = []
    var next = 0
  }

  private let state = Mutex(State())
  private let change = NSCondition()
  /// Sizes and free room change without a word.
  private static let secondsOfPatience = 0.5

  package init() {}

  /// The share of one more job.
  ///
  /// - Parameter stopReason: Why the job is not to wait any longer; nil to wait.
  package func share(stopReason: @escaping @Sendable () -> String?) -> SpaceShare {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    return SpaceShare(of: self, number, stopReason)
  }

  /// The jobs that wait.
  package var waiting: Int { state.withLock { $0.waiting.count } }

  fileprivate func claim(_ number: Int, _ share: SpaceClaim, _ stopReason: () -> String?) -> String? {
    let claim = Claim(share: share, before: Self.size(of: share.folder))
    while true {
      let isThrough = state.withLock { state in
        state.claims[number] = nil
        if !state.waiting.contains(number) { state.waiting.append(number) }
        guard state.waiting.first == number, Self.mayGo(claim, beside: Array(state.claims.values)) else {
          return false
        }
        state.waiting.removeAll { $0 == number }
        state.claims[number] = claim
        return true
      }
      if isThrough {
        tell()
        return nil
      }
      if let reason = stopReason() {
        end(number)
        return reason
      }
      change.withLock { _ = change.wait(until: Date(timeIntervalSinceNow: Self.secondsOfPatience)) }
    }
  }

  /// Records the claim of a job that has begun already.
  fileprivate func note(_ number: Int, _ share: SpaceClaim) {
    state.withLock { $0.claims[number] = Claim(share: share, before: 0) }
  }

  fileprivate func end(_ number: Int) {
    state.withLock { state in
      state.claims[number] = nil
      state.waiting.removeAll { $0 == number }
    }
    tell()
  }

  /// Whether a job fits beside those at work, or would not fit after them either: then it says so itself.
  private static func mayGo(_ claim: Claim, beside others: [Claim]) -> Bool {
    guard !others.isEmpty else { return true }
    let free = claim.share.room()
    func sum(_ values: some Sequence<Int64>) -> Int64 {
      values.reduce(0) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
    }
    func claimed(_ device: UInt64) -> Int64 { sum(others.lazy.map { $0.share.bytes[device] ?? 0 }) }
    let tight = claim.share.bytes.filter { device, bytes in
      guard let room = free[device] else { return false }
      return room < sum([claimed(device), bytes])
    }
    guard !tight.isEmpty else { return true }
    // Measuring folders takes a moment.
    let parts = others.map { (device: $0.share.device, bytes: $0.written()) }
    func written(_ device: UInt64) -> Int64 { sum(parts.lazy.filter { $0.device == device }.map(\.bytes)) }
    let isHopeless = tight.contains { device, bytes in sum([free[device] ?? 0, written(device)]) < bytes }
    return isHopeless
      || tight.allSatisfy { device, bytes in
        (free[device] ?? 0) >= sum([max(0, claimed(device) - written(device)), bytes])
      }
  }

  private func tell() { change.withLock { change.broadcast() } }

  /// The bytes that the files below a folder take on its disk. A file with a second name elsewhere takes none of its own.
  fileprivate static func size(of folder: String) -> Int64 {
    guard let descriptor = opendir(folder) else { return 0 }
    defer { closedir(descriptor) }
    var bytes: Int64 = 0
    while let entry = readdir(descriptor) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
      }
      guard name != ".", name != ".." else { continue }
      guard let status = FileStatus(named: folder + "/" + name) else { continue }
      switch status.kind {
      case .folder: bytes += size(of: folder + "/" + name)
      case .file where status.linkCount == 1: bytes += status.allocatedBytes
      default: break
      }
    }
    return bytes
  }
}

/// The bytes that a job is going to write, and the room that there is.
package struct SpaceClaim: Sendable {
  /// Bytes by file system (`FreeSpace.device`).
  package var bytes: [UInt64: Int64]
  /// The job's work folder, and its file system.
  package var folder: String
  package var device: UInt64?
  /// Asked for each time.
  fileprivate let room: @Sendable () -> [UInt64: Int64]

  package init(
    bytes: [UInt64: Int64], folder: String, device: UInt64?, room: @escaping @Sendable () -> [UInt64: Int64]
  ) {
    (self.bytes, self.folder, self.device, self.room) = (bytes, folder, device, room)
  }
}

/// The part of one job in `SharedSpace`.
package final class SpaceShare: Sendable {
  private let space: SharedSpace
  private let number: Int
  private let stopReason: @Sendable () -> String?

  fileprivate init(of space: SharedSpace, _ number: Int, _ stopReason: @escaping @Sendable () -> String?) {
    (self.space, self.number, self.stopReason) = (space, number, stopReason)
  }

  /// Records what the job is going to write from here on, in place of its earlier claim. Waits until that fits beside
  /// the other running jobs. Returns at once if it would not fit even after they have ended.
  ///
  /// - Returns: Why it was stopped while it waited; nil when it may continue.
  package func claim(_ claim: SpaceClaim) -> String? { space.claim(number, claim, stopReason) }

  /// Records the total need of a job whose work folder already has a part of it. Does not wait.
  package func note(_ claim: SpaceClaim) { space.note(number, claim) }

  /// Notes that the job has ended.
  package func end() { space.end(number) }
}
