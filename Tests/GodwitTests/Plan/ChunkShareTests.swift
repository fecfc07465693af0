import GodwitJob
import Testing

/// The part of a running chunk that is done, and the time that is left.
struct ChunkShareTests {
  @Test(arguments: ChunkPhase.allCases)
  func `the share of a running chunk rises with every tick and stays below the whole`(phase: ChunkPhase) {
    var share = ChunkShare()
    share.begin(phase, name: "A", rows: 10_000)
    #expect(share.share == 0)
    var last = 0.0
    for _ in 0..<5000 {
      share.tick()
      #expect(share.share > last && share.share < 1)
      last = share.share
    }
  }

  @Test func `the second chunk of a mapping goes by what the first one took`() {
    for ticks in [3, 40, 700] {
      var share = ChunkShare()
      share.begin(.create, name: "A", rows: 1000)
      for _ in 0..<ticks { share.tick() }
      share.finish()
      share.begin(.create, name: "A", rows: 2000)
      for _ in 0..<ticks { share.tick() }
      #expect(abs(share.share - 0.5) < 0.001)
    }
  }

  @Test func `a mapping without a finished chunk goes by others of its phase`() {
    var share = ChunkShare()
    share.begin(.create, name: "A", rows: 100)
    for _ in 0..<10 { share.tick() }
    share.finish()
    share.begin(.validate, name: "A", rows: 100)
    for _ in 0..<1000 { share.tick() }
    share.finish()
    share.begin(.create, name: "B", rows: 100)
    for _ in 0..<5 { share.tick() }
    #expect(abs(share.share - 0.5) < 0.001)
  }

  @Test func `a chunk that was rolled back teaches nothing, and its next attempt begins at 0`() {
    var share = ChunkShare()
    share.begin(.create, name: "A", rows: 100)
    for _ in 0..<1000 { share.tick() }
    share.begin(.create, name: "A", rows: 100)
    #expect(share.share == 0)
    for _ in 0..<10 { share.tick() }
    share.finish()
    share.begin(.create, name: "A", rows: 100)
    for _ in 0..<5 { share.tick() }
    #expect(abs(share.share - 0.5) < 0.001)
  }

  @Test func `a chunk without rows and one that SQLite did nothing for do not stop the estimate`() {
    var share = ChunkShare()
    share.finish()
    share.tick()
    #expect(share.share == 0)
    share.begin(.index, name: "I", rows: 0)
    share.finish()
    share.begin(.index, name: "I", rows: .max)
    share.tick()
    #expect(share.share >= 0 && share.share < 1)
  }
}

struct RemainingTimeTests {
  @Test func `every phase is counted with its own cost`() throws {
    var time = RemainingTime()
    for phase in [ChunkPhase.create, .create, .validate, .validate] { time.expect(1_000_000, of: phase) }
    #expect(time.seconds == nil)
    time.finish(1_000_000, of: .create, seconds: 10)
    time.finish(1_000_000, of: .validate, seconds: 1)
    // A million rows at 10 µs, and a million at 1 µs.
    #expect(try abs(#require(time.seconds) - 11) < 0.1)
  }

  @Test func `a phase that has not begun is taken to be cheaper than making objects`() throws {
    var time = RemainingTime()
    for phase in [ChunkPhase.create, .create, .validate] { time.expect(1_000_000, of: phase) }
    time.finish(1_000_000, of: .create, seconds: 10)
    let left = try #require(time.seconds)
    #expect(left > 10 && left < 15)
  }

  @Test func `the part of the running chunk counts`() throws {
    var time = RemainingTime()
    time.expect(1_000_000, of: .create)
    #expect(try abs(#require(time.seconds(with: 0.25, of: 1_000_000, .create, seconds: 5)) - 15) < 0.1)
    time.finish(1_000_000, of: .create, seconds: 20)
    #expect(time.seconds == 0)
  }

  @Test(arguments: [0, 1, 50] as [Int64], [ChunkPhase.create, .resolve, .index])
  func `chunks of few rows tell nothing of what a row costs`(rows: Int64, phase: ChunkPhase) throws {
    var time = RemainingTime()
    for _ in 0..<40 { time.expect(rows, of: phase) }
    time.expect(1_000_000, of: phase)
    time.expect(1_000_000, of: .validate)
    for _ in 0..<20 { time.finish(rows, of: phase, seconds: 0.005) }
    // The cost of a row is not known yet, and a guess would be a hundred times too high.
    #expect(time.seconds == nil)
    let early = try #require(time.seconds(with: 0.0001, of: 1_000_000, phase, seconds: 0.02))
    #expect(early < 30, "twenty milliseconds for a hundred rows, the beginning of the statement included")
    let later = try #require(time.seconds(with: 0.5, of: 1_000_000, phase, seconds: 1))
    #expect(later > 1 && later < 10)
    time.finish(1_000_000, of: phase, seconds: 2)
    let left = try #require(time.seconds)
    #expect(left > 0.1 && left < 10, "the other half of the small chunks, and a million rows to validate")
  }

  @Test func `a job of small chunks alone is counted by its chunks`() throws {
    var time = RemainingTime()
    for _ in 0..<100 { time.expect(3, of: .create) }
    for _ in 0..<25 { time.finish(3, of: .create, seconds: 0.02) }
    #expect(try abs(#require(time.seconds) - 1.5) < 1e-9)
  }

  @Test func `a time that jumps is smoothed, and one that is right goes down with the clock`() throws {
    var smoothing = SmoothedTime()
    #expect(smoothing.smoothed(nil, at: 0) == nil)
    var shown: [Double] = []
    // The truth is 100 seconds; every other estimate is wrong by half.
    for second in 0..<60 {
      let truth = 100 - Double(second)
      let guess = second.isMultiple(of: 2) ? truth * 1.5 : truth * 0.5
      let value = smoothing.smoothed(guess, at: Double(second))
      shown.append(try #require(value))
    }
    let raw = 50.0
    for (before, after) in zip(shown.suffix(30), shown.suffix(29)) { #expect(abs(after - before) < raw / 4) }
    for (second, value) in shown.enumerated().suffix(30) { #expect(abs(value - (100 - Double(second))) < 20) }
    var right = SmoothedTime()
    for second in 0...100 {
      let left = 100 - Double(second)
      let value = right.smoothed(left, at: Double(second))
      #expect(value.map { abs($0 - left) < 1e-9 } == true)
    }
    // An unknown estimate continues by the clock.
    let last = right.smoothed(nil, at: 101)
    #expect(last == 0)
  }
}
