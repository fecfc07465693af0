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
    var time = RemainingTime(left: [.create: 2000, .validate: 2000])
    #expect(time.seconds() == nil)
    time.finish(1000, of: .create, seconds: 10)
    time.finish(1000, of: .validate, seconds: 1)
    // 1000 rows at 10 ms and 1000 rows at 1 ms.
    #expect(try abs(#require(time.seconds()) - 11) < 1e-9)
  }

  @Test func `a phase that has not begun is taken to be cheaper than making objects`() throws {
    var time = RemainingTime(left: [.create: 2000, .validate: 1000])
    time.finish(1000, of: .create, seconds: 10)
    let left = try #require(time.seconds())
    #expect(left > 10 && left < 15)
  }

  @Test func `the part of the running chunk counts`() throws {
    var time = RemainingTime(left: [.create: 1000])
    #expect(try abs(#require(time.seconds(with: 250, of: .create, seconds: 5)) - 15) < 1e-9)
    time.finish(1000, of: .create, seconds: 20)
    #expect(time.seconds() == 0)
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
