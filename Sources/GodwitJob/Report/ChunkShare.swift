/// How much of the running chunk is done, by the instructions that SQLite has carried out for it.
///
/// SQLite tells no count of rows before a statement ends, but it calls back after a number of instructions. How many of
/// these calls a row takes is learned from the chunks that are done: of the same name and phase first, else of the same
/// phase, else by a figure that is known to be near.
///
/// 1. `begin` when chunks start that one statement carries out.
/// 2. `tick` at each call, and `share` at any time.
/// 3. `finish` when they are done.
package struct ChunkShare: Sendable {
  private struct Work: Sendable {
    var ticks = 0
    var rows: Int64 = 0
    var ticksPerRow: Double? { ticks > 0 && rows > 0 ? Double(ticks) / Double(rows) : nil }
  }

  private struct Running: Sendable {
    var name: String
    var phase: ChunkPhase
    var rows: Int64
  }

  /// Instructions of SQLite between two ticks.
  package static let tickInstructions = 20_000
  /// Up to here the share is what was counted. From here on it slows down, since more may come than was expected.
  private static let linear = 0.8

  private var byName: [String: Work] = [:]
  private var byPhase: [ChunkPhase: Work] = [:]
  private var running: Running?
  private var ticks = 0

  package init() {}

  private static func key(_ name: String, _ phase: ChunkPhase) -> String { "\(phase.rawValue) \(name)" }

  /// Starts chunks of one phase. Unfinished work of earlier chunks is forgotten.
  package mutating func begin(_ phase: ChunkPhase, name: String, rows: Int64) {
    running = Running(name: name, phase: phase, rows: max(1, rows))
    ticks = 0
  }

  /// Counts a tick of the running chunks.
  package mutating func tick() { ticks &+= 1 }

  /// Learns from the running chunks, which are done.
  package mutating func finish() {
    guard let running else { return }
    self.running = nil
    // Chunks that ran without SQLite, or were done ahead, tell nothing of the chunks to come.
    guard ticks > 0 else { return }
    byName[Self.key(running.name, running.phase), default: Work()].ticks += ticks
    byName[Self.key(running.name, running.phase), default: Work()].rows += running.rows
    byPhase[running.phase, default: Work()].ticks += ticks
    byPhase[running.phase, default: Work()].rows += running.rows
  }

  /// From 0 to less than 1; never less than before, until the next `begin`.
  package var share: Double {
    guard let running, ticks > 0 else { return 0 }
    let perRow =
      byName[Self.key(running.name, running.phase)]?.ticksPerRow ?? byPhase[running.phase]?.ticksPerRow
      ?? running.phase.row.instructions / Double(Self.tickInstructions)
    let counted = Double(ticks) / (perRow * Double(running.rows))
    guard counted > Self.linear else { return counted }
    // Half of what is left, whenever as much comes again as was expected in the first place for that part.
    let rest = 1 - Self.linear
    return 1 - rest / (1 + (counted - Self.linear) / rest)
  }
}
