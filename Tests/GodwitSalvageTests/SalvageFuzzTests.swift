import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitSalvage

/// Files of any content: none is a trap, and each copy is sound.
@Suite struct SalvageFuzzTests {
  private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
    for _ in 0...random.below(6) {
      let place = random.below(bytes.count)
      switch random.below(4) {
      case 0: bytes[place] = UInt8(random.below(256))
      case 1:
        // Numbers at the limits.
        for offset in 0..<8 where place + offset < bytes.count {
          bytes[place + offset] = random.chance(50) ? 0xFF : 0x80
        }
      case 2:
        let count = min(random.below(6000), bytes.count - place)
        for offset in 0..<count { bytes[place + offset] = UInt8(random.below(256)) }
      default:
        // The head of a page, which says what it is.
        let page = place / 4096 * 4096
        for offset in 0..<12 where random.chance(30) { bytes[page + offset] = UInt8(random.below(256)) }
      }
    }
  }

  @Test(arguments: testSeeds(3)) func `a file with random changes gives a sound copy or an error`(seed: UInt64) throws {
    let world = try DamageWorld(seed: seed, rows: 80, hasLog: seed % 2 == 1)
    var random = SeededGenerator(seed: seed)
    let (sound, soundLog) = (try world.bytes(), seed % 2 == 1 ? try world.bytes("-wal") : nil)
    for round in 0..<TestTier.choose(40, long: 400) {
      var (bytes, log) = (sound, soundLog)
      mutate(&bytes, &random)
      if let count = log?.count, random.chance(30) { log?[random.below(count)] ^= 0x10 }
      if random.chance(10) { bytes.removeLast(random.below(bytes.count)) }
      do {
        let result = try world.salvage(bytes, log: log)
        let connection = try StoreConnection(path: result.copy)
        #expect(try connection.strings("PRAGMA integrity_check") == ["ok"], "seed \(seed), round \(round)")
        try connection.close()
      } catch let error as GodwitError {
        #expect(error.code == .dataWrong, "seed \(seed), round \(round): \(error)")
      }
    }
  }
}
