import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Random sequences of verbs, kills and edits, against a model of a job.
@Suite struct SequenceTests {
  private enum Word: CaseIterable {
    case run, stop, kill, edit, touch, discard, status, verify
  }

  /// The inputs that decide the content.
  private struct Inputs: Equatable {
    /// How often the source was edited, and which of two mappings the job has.
    var source = 0
    var mapping = 0

    /// The rows of the destination.
    var rows: [String] {
      (1...40).map { key in
        let text = key == 1 && source > 0 ? "edit \(source)" : "note \(key)"
        return "\(key)|\(text)|" + (mapping == 0 ? "nil" : text)
      }
    }
  }

  /// The state of a job.
  private enum State: Equatable {
    case none
    /// Work of a killed or stopped run; whether a chunk of it is durable.
    case begun(Inputs, isDurable: Bool)
    case finished(Inputs)
  }

  private final class World {
    let fixture: MigrationFixture
    var inputs = Inputs()
    var state = State.none

    init() throws { fixture = try MigrationFixture.notes() }

    var job: MigrationJob {
      get throws {
        let more = inputs.mapping == 0 ? [:] : ["more": "$source.text"]
        fixture.mappings = [
          try .make("Note", "Note", attributes: ["text": "$source.text"].merging(more) { first, _ in first })
        ]
        return try fixture.job
      }
    }

    /// Whether a run of these inputs may begin or go on.
    var isFree: Bool {
      switch state {
      case .none: true
      case .begun(let known, let isDurable): known == inputs || !isDurable
      case .finished(let known): known == inputs
      }
    }

    /// The state after a run that did not end.
    func look() throws {
      let status = try MigrationManager(job).status()
      switch (status.state, state) {
      case (.notStarted, _): state = .none
      case (.finished, _): state = .finished(inputs)
      case (.unfinished, .begun(let known, true)) where known != inputs: break
      case (.unfinished, _): state = .begun(inputs, isDurable: status.percent > 0)
      default: Issue.record("\(status)")
      }
    }

    func refused(_ body: () throws -> Void) {
      let error = #expect(throws: GodwitError.self) { try body() }
      #expect(error?.code == .cannotCreate, "\(String(describing: error))")
    }

    func run() throws {
      let manager = MigrationManager(try job)
      guard isFree else { return refused { _ = try manager.run() } }
      if case .begun(let known, false) = state, known != inputs {
        // Work without a durable chunk may be begun again, or keep the job that began it.
        do { _ = try manager.run() } catch let error as GodwitError where error.code == .cannotCreate { return }
        state = .finished(inputs)
        return
      }
      let wasFinished = state == .finished(inputs)
      #expect(try manager.run().outcome == (wasFinished ? .alreadyFinished : .finished))
      state = .finished(inputs)
    }

    func interrupt(_ body: (MigrationManager) throws -> Void) throws {
      let manager = MigrationManager(try job)
      if isFree {
        do { try body(manager) } catch {}
        if state != .finished(inputs) { try look() }
      } else {
        do { try body(manager) } catch {}
      }
    }

    /// The destination is a whole store of the inputs that made it, or is not there.
    func check(_ place: String) throws {
      let isThere = FileManager.default.fileExists(atPath: fixture.destinationPath)
      if case .finished(let made) = state {
        #expect(try rows() == made.rows, "\(place)")
      } else {
        #expect(!isThere, "\(place)")
      }
      let found = try MigrationManager(job).status().state
      switch state {
      case .none: #expect(found == .notStarted, "\(place)")
      case .begun: #expect(found == .unfinished, "\(place)")
      case .finished(let made): #expect((found == .finished) == (made == inputs), "\(place): \(found)")
      }
    }

    func rows() throws -> [String] {
      let connection = try StoreConnection.openStore(readingAt: fixture.destinationPath)
      return try connection.rows("SELECT Z_PK, ZTEXT, ZMORE FROM source.ZNOTE ORDER BY Z_PK").map { row in
        row.map { value in
          switch value {
          case .integer(let number): "\(number)"
          case .text(let bytes): String(decoding: bytes, as: UTF8.self)
          default: "nil"
          }
        }.joined(separator: "|")
      }
    }
  }

  @Test(arguments: testSeeds(8)) func `any sequence of verbs, kills and edits keeps to the model`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let world = try World()
    var words: [Word] = []
    for _ in 0..<TestTier.choose(14, long: 60) {
      let word = Word.allCases[random.below(Word.allCases.count)]
      words.append(word)
      let place = "seed \(seed): \(words)"
      switch word {
      case .run: try world.run()
      case .stop: try world.interrupt { _ = try $0.run(maximumSeconds: 0) }
      case .kill:
        let layer = try FaultLayer(.death(at: 1 + random.below(70)), root: world.fixture.folder.path)
        try world.interrupt { manager in try layer.run { _ = try manager.run() } }
      case .edit: world.inputs.mapping = 1 - world.inputs.mapping
      case .touch:
        world.inputs.source += 1
        try world.fixture.alter("UPDATE ZNOTE SET ZTEXT = 'edit \(world.inputs.source)' WHERE Z_PK = 1")
      case .discard:
        _ = try MigrationManager.discard(destination: try world.job.destinationPath)
        if case .begun = world.state { world.state = .none }
      case .status: break
      case .verify:
        guard world.state == .finished(world.inputs) else { continue }
        #expect(try Verifier(job: world.job).run().isClean, "\(place)")
      }
      try world.check(place)
    }
    if world.state != .none, world.state != .finished(world.inputs) {
      _ = try MigrationManager.discard(destination: try world.job.destinationPath)
      if case .finished = world.state { try FileManager.default.removeItem(atPath: world.fixture.destinationPath) }
      world.state = .none
    }
    try world.run()
    #expect(try world.rows() == world.inputs.rows, "seed \(seed): \(words)")
  }
}
