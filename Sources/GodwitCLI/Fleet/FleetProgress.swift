import Foundation
import GodwitModel
import Synchronization

/// What a fleet's run prints while it lasts: one line for each percent at most, and one each ten seconds at most.
///
/// The percent goes by the size of the stores, and never goes backwards. Only the stores at work are held, so that a
/// million others need no memory. Safe from any thread.
final class FleetProgress: Sendable {
  private struct State {
    /// What has ended, and how many these are.
    var weight = 0.0
    var ended: Int64 = 0
    /// The weights of the stores at work, and how far they came.
    var running: [Int: (weight: Double, share: Double)] = [:]
    var highest = 0.0
    var printed: (percent: Int, time: Date)
  }

  private let stores: Int64
  private let whole: Double
  private let mode: ProgressMode
  private let isQuiet: Bool
  private let stream: TextStream
  private let state: Mutex<State>

  private static let lineSeconds = 10.0

  init(stores: Int64, bytes: Int64, mode: ProgressMode, isQuiet: Bool, stream: TextStream) {
    (self.stores, self.mode, self.isQuiet, self.stream) = (stores, mode, isQuiet, stream)
    whole = Double(max(0, bytes)) + Double(max(0, stores)) * 4096
    state = Mutex(State(printed: (0, Date())))
  }

  private var printsLines: Bool { !isQuiet && mode != .none && mode != .json }

  func begin() throws {
    guard mode == .json, !isQuiet else { return }
    let record = VersionRecord(version: GodwitCommand.version, time: Clock.stamp)
    stream.write(try JSONText.line(ofType: "version", record) + "\n")
  }

  func begin(_ index: Int, bytes: Int64) {
    state.withLock { $0.running[index] = (Double(max(0, bytes)) + 4096, 0) }
  }

  /// How far a store at work came, from 0 to 100.
  func update(_ index: Int, percent: Double) {
    state.withLock { state in
      guard percent.isFinite, let running = state.running[index] else { return }
      // Its last chunk is not its end.
      state.running[index]?.share = max(running.share, min(percent / 100, 0.999))
      printIfDue(&state)
    }
  }

  /// A store that an earlier run was through with.
  func pass(bytes: Int64) {
    state.withLock { state in
      state.weight += Double(max(0, bytes)) + 4096
      state.ended += 1
    }
  }

  /// A store has ended, or was stopped.
  func end(_ index: Int, _ result: StoreResult, isKept: Bool) throws {
    try state.withLock { state in
      if let running = state.running.removeValue(forKey: index) {
        // One that was stopped goes on where it is.
        state.weight += running.weight * (isKept && result.outcome != .stopped ? 1 : running.share)
      }
      if isKept, result.outcome != .stopped { state.ended += 1 }
      if mode == .json, !isQuiet { stream.write(try BatchProgress.line(result) + "\n") }
      printIfDue(&state)
    }
  }

  /// Prints a line now, whatever the mode.
  func printNow() { state.withLock { if mode != .json { print(&$0) } } }

  /// The first word of the last line.
  ///
  /// - Parameter isWhole: Whether every store is finished.
  func percent(isWhole: Bool) -> String {
    state.withLock { state in
      look(&state)
      return ProgressLine.percent(isWhole ? 100 : min(state.highest, 99.9))
    }
  }

  private func look(_ state: inout State) {
    let sum = state.running.values.reduce(state.weight) { $0 + $1.weight * $1.share }
    if whole > 0 { state.highest = max(state.highest, min(sum / whole * 100, 99.9)) }
  }

  private func printIfDue(_ state: inout State) {
    look(&state)
    guard printsLines, Int(state.highest) > state.printed.percent,
      Date().timeIntervalSince(state.printed.time) >= Self.lineSeconds
    else { return }
    print(&state)
  }

  private func print(_ state: inout State) {
    state.printed = (Int(state.highest), Date())
    stream.write(
      "\(ProgressLine.percent(state.highest)) \(state.ended)/\(stores) stores \(ProgressLine.stamp(Date()))\n")
  }
}
