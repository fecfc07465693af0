import Foundation
import GodwitModel
import Synchronization

/// The progress of a run of many stores: a line for each store that fails, and at most one a second for the others and
/// for each percent of the whole.
///
/// The percent goes by the size of the stores. It never goes backwards. A store that fails counts as far as it came, so
/// that only a run that finished every store reaches 100. Safe from any thread.
final class BatchProgress: Sendable {
  private struct State {
    var weights: [Double] = []
    /// The sum of all weights.
    var all = 0.0
    /// From 0 to 1, by store.
    var shares: [Double] = []
    /// The part of that sum which is done.
    var sum = 0.0
    var whole = 0
    var highest = 0.0
    var ended = 0
    var printed: (percent: Int, time: Date)
  }

  private let mode: ProgressMode
  private let isQuiet: Bool
  private let stream: TextStream
  private let state: Mutex<State>

  /// Seconds between two lines while no store ends.
  private static let lineSeconds = 10.0
  /// Seconds between two lines of stores that end well, at least.
  private static let leastLineSeconds = 1.0

  init(mode: ProgressMode, isQuiet: Bool, stream: TextStream) {
    (self.mode, self.isQuiet, self.stream) = (mode, isQuiet, stream)
    state = Mutex(State(printed: (0, Date())))
  }

  /// The stores are known.
  ///
  /// - Parameter sizes: In bytes.
  func setStores(sizes: [Int64]) {
    let weights = sizes.map(Self.weight)
    state.withLock { state in
      (state.weights, state.all) = (weights, weights.reduce(0, +))
      state.shares = Array(repeating: 0, count: sizes.count)
    }
  }

  /// Counts stores that need no run: those that earlier runs finished, and those that failed and do not run again.
  ///
  /// - Parameter sizes: The bytes of the finished stores.
  func pass(finished sizes: [Int64], failed: Int) {
    state.withLock { state in
      let weights = sizes.map(Self.weight)
      let done = weights.reduce(0, +)
      state.weights += weights + Array(repeating: 0, count: failed)
      state.shares += Array(repeating: 1, count: sizes.count) + Array(repeating: 0, count: failed)
      (state.all, state.sum) = (state.all + done, state.sum + done)
      (state.whole, state.ended) = (state.whole + sizes.count, state.ended + sizes.count + failed)
      raise(&state)
      // The first line tells of the percent that an earlier run has reached.
      state.printed.percent = Int(state.highest)
    }
  }

  private static func weight(_ size: Int64) -> Double { Double(max(0, size)) + 4096 }

  private func raise(_ state: inout State) {
    state.highest = max(state.highest, state.all > 0 ? min(state.sum / state.all * 100, 100) : 0)
  }

  private var printsLines: Bool { !isQuiet && mode != .json }

  func begin() throws {
    guard mode == .json, !isQuiet else { return }
    let record = VersionRecord(version: GodwitCommand.version, time: Clock.stamp)
    stream.write(try JSONText.line(ofType: "version", record) + "\n")
  }

  /// The progress of one store, from 0 to 100.
  func update(_ index: Int, percent: Double) {
    state.withLock { state in
      guard percent.isFinite else { return }
      // Its last chunk is not its end.
      set(index, min(percent / 100, 0.999), &state)
      let now = Date()
      guard printsLines, Int(state.highest) > state.printed.percent,
        now.timeIntervalSince(state.printed.time) >= Self.lineSeconds
      else { return }
      print(line(state), &state)
    }
  }

  /// A store has ended.
  func ended(_ index: Int, _ result: StoreResult) throws {
    try state.withLock { state in
      if [.finished, .alreadyFinished].contains(result.outcome) {
        set(index, 1, &state)
        state.whole += 1
      }
      state.ended += 1
      if mode == .json, !isQuiet {
        stream.write(try Self.line(result) + "\n")
      } else if printsLines, isTold(result, state) {
        var words = "\(line(state)) \(result.store.onOneLine) \(result.outcome.rawValue)"
        if let objects = result.objects { words += ", \(objects.counted("object"))" }
        print(words + ", \(Clock.text(result.seconds)) s", &state)
      }
    }
  }

  private func isTold(_ result: StoreResult, _ state: State) -> Bool {
    ![.finished, .alreadyFinished].contains(result.outcome)
      || Date().timeIntervalSince(state.printed.time) >= Self.leastLineSeconds
  }

  /// A line of a result, which says first what it is.
  static func line(_ result: StoreResult) throws -> String {
    var result = result
    result.type = nil
    return try JSONText.line(ofType: "store", result)
  }

  /// Prints a line now, whatever the mode.
  func printNow() {
    state.withLock { state in
      guard mode != .json else { return }
      print(line(state), &state)
    }
  }

  /// The first word of the last line: `100.0%` after a run that finished every store.
  var percent: String { state.withLock { percent($0) } }

  private func percent(_ state: State) -> String {
    ProgressLine.percent(!state.weights.isEmpty && state.whole == state.weights.count ? 100 : min(state.highest, 99.9))
  }

  private func set(_ index: Int, _ share: Double, _ state: inout State) {
    let more = share - state.shares[index]
    guard more > 0 else { return }
    state.shares[index] = share
    state.sum += state.weights[index] * more
    raise(&state)
  }

  private func line(_ state: State) -> String { "\(percent(state)) \(state.ended)/\(state.weights.count)" }

  private func print(_ line: String, _ state: inout State) {
    state.printed = (Int(state.highest), Date())
    stream.write("\(line) \(ProgressLine.stamp(Date()))\n")
  }
}
