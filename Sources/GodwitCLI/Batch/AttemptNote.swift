import Foundation
import GodwitModel
import GodwitStore
import Synchronization

/// Which stores of a shard are at work, in a file that outlives the process: so a store that kills it is found.
///
/// When a process has died, every store that was at work is suspect, and the next run takes it when all others are
/// through, with nothing beside it. A death counts only for a store that was at work alone: a node that goes down with
/// many stores at work says nothing about one of them. After so many deaths the store has failed.
///
/// The file is written when a store begins, and nothing is synced: it has to outlive the process, not the machine.
final class AttemptNote: Sendable {
  private struct Content {
    /// The stores at work, by the bytes of their keys.
    var running: Set<Text> = []
    /// Those of them that had failed before and run again, so that their line says nothing about this run.
    var repeated: Set<Text> = []
    /// Suspect stores, and how many processes died while only they were at work.
    var deaths: [Text: Int] = [:]
  }

  /// The note as JSON. An object has one value for names that look alike, so a death is an entry of its own.
  private struct Record: Codable {
    struct Deaths: Codable { var store: String, count: Int }
    var running, repeated: [String]
    var suspects: [Deaths]
  }

  private struct State {
    var content: Content
    /// The bytes that the file has; it is overwritten in place.
    var length = 0
  }

  /// After so many deaths a store has failed.
  static let deathsMaximum = 3

  private let path: String
  /// Negative where the file cannot be written: then a death leaves no trace, and all else goes on.
  private let descriptor: Int32
  private let state: Mutex<State>
  /// Suspect since earlier runs: the least first.
  let suspects: [Text]

  /// Reads what a process left that has died. The shard's lock must be held.
  ///
  /// - Parameter isEnded: Whether a store has a result.
  init(_ path: String, isEnded: (Text) -> Bool) {
    self.path = path
    var content = Content()
    let data = (try? ReadableFile.bytes(of: path, limit: .mebibytes(64))) ?? Data()
    if let known = try? JSONDecoder().decode(Record.self, from: data) {
      for suspect in known.suspects {
        content.deaths[Text(suspect.store)] = min(max(0, suspect.count), Self.deathsMaximum)
      }
      let repeated = Set(known.repeated.map { Text($0) })
      let left = Set(known.running.map { Text($0) }).filter { repeated.contains($0) || !isEnded($0) }
      for index in left {
        content.deaths[index] = min(Self.deathsMaximum, (content.deaths[index] ?? 0) + (left.count == 1 ? 1 : 0))
      }
    }
    suspects = content.deaths.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
    descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    state = Mutex(State(content: content, length: data.count))
    // Before anything begins: else the same death would count twice.
    if !data.isEmpty { state.withLock { write(&$0) } }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// How many processes died while only this store was at work.
  func deaths(of key: String) -> Int { state.withLock { $0.content.deaths[Text(key)] ?? 0 } }

  /// A store begins.
  ///
  /// - Parameter isRepeated: Whether it had failed before.
  func begin(_ key: String, isRepeated: Bool) {
    let key = Text(key)
    state.withLock { state in
      state.content.running.insert(key)
      if isRepeated { state.content.repeated.insert(key) }
      write(&state)
    }
  }

  /// A store has ended, or was stopped, and the process lives.
  ///
  /// - Parameter isRecorded: Whether it has a result, which says the same at the next start.
  func end(_ key: String, isRecorded: Bool) {
    let key = Text(key)
    state.withLock { state in
      state.content.running.remove(key)
      let isRepeated = state.content.repeated.remove(key) != nil
      let isSuspect = state.content.deaths.removeValue(forKey: key) != nil
      if isRepeated || isSuspect || !isRecorded { write(&state) }
    }
  }

  /// Records that no store is running. A suspect store that did not run remains suspect.
  func finish() {
    state.withLock { state in
      (state.content.running, state.content.repeated) = ([], [])
      if state.content.deaths.isEmpty { unlink(path) } else { write(&state) }
    }
  }

  private func write(_ state: inout State) {
    let content = state.content
    let record = Record(
      running: content.running.map(\.string), repeated: content.repeated.map(\.string),
      suspects: content.deaths.map { Record.Deaths(store: $0.key.string, count: $0.value) })
    guard descriptor >= 0, var bytes = try? JSONEncoder().encode(record) else { return }
    // Spaces cover what was longer: one call, which the end of the process does not cut.
    let length = bytes.count
    if length < state.length { bytes += Data(repeating: 0x20, count: state.length - length) }
    let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    if count == bytes.count { state.length = bytes.count }
  }
}
