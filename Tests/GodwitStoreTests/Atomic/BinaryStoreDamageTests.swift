import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

@Suite struct BinaryStoreDamageTests {
  private static func small() throws -> [UInt8] {
    let folder = try TemporaryFolder()
    try HandwrittenBinaryStore(
      [
        BinaryPets.person(
          1, .text("x"), pets: [2, 3],
          change: [0: .date(5), 2: .colours("red", "blue"), 9: .decimal(Decimal(15) / 10), 7: .plain(.data([1]))]),
        BinaryPets.pet(2, owner: 1), BinaryPets.pet(3, owner: 1),
        BinaryPets.person(4, entity: "Employee", more: [.plain(.integer(5)), .plain(.real(0.25))]),
      ],
      metadata: ["NSStoreModelVersionHashes": .dictionary(["Pet": .data([UInt8](repeating: 1, count: 32))])]
    ).write(to: folder.file("a"))
    return Array(try Data(contentsOf: URL(filePath: folder.file("a"))))
  }

  @Test func `no truncated or changed binary store makes the reader trap`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("store.binary")
    let (whole, model) = (try Self.small(), try BinaryPets.model())
    var refused = 0
    func read(_ bytes: [UInt8], _ what: String) throws {
      try Data(bytes).write(to: URL(filePath: path))
      var failed = false
      for attempt in [
        { _ = try StoreConnection.openStore(readingAt: path, model: model) },
        { _ = try StoreSummary(readingStoreAt: path) }, { _ = try StoreMetadata(readingStoreAt: path) },
        { _ = try AtomicTables.open(StoreFiles(path: path)) },
      ] {
        do { try attempt() } catch let error as GodwitError {
          #expect(error.code == .dataWrong, "\(what): \(error)")
          failed = true
        }
      }
      if failed { refused += 1 }
    }
    for length in stride(from: 8, to: whole.count, by: 37) { try read(Array(whole[..<length]), "cut at \(length)") }
    for seed in testSeeds(400) {
      var random = SeededGenerator(seed: seed)
      var bytes = whole
      for _ in 0..<(1 + random.below(4)) {
        let place = 8 + random.below(bytes.count - 8)
        switch random.below(4) {
        case 0: bytes[place] = UInt8(random.below(256))
        case 1: bytes[place] = [0, 0x7F, 0x80, 0xFF, 0xD1, 0xA1, 0x8F, 0x13][random.below(8)]
        case 2: bytes[place] ^= 1 << UInt8(random.below(8))
        default:
          let other = 8 + random.below(bytes.count - 8)
          let count = min(1 + random.below(16), bytes.count - max(place, other))
          for step in 0..<count { bytes[place + step] = whole[other + step] }
        }
      }
      try read(bytes, "seed \(seed)")
    }
    #expect(refused > 200 / fewest(1))
  }

  private func store(_ objects: [PropertyListValue], map: UInt64) -> [UInt8] {
    let archive = KeyedArchive.list(objects, top: ["mapData": .uid(map)]).binaryPropertyList
    let about = KeyedArchive.archive(
      of: .dictionary(["NSStoreUUID": .string("U"), "NSStoreType": .string("Binary")]), top: "metadata"
    ).binaryPropertyList
    var bytes = BinaryStoreReader.magic + BinaryStoreReader.version
    for number in [64 + archive.count, about.count, 64, archive.count, 9, 0] {
      bytes += PropertyListValue.big(UInt64(number), 8)
    }
    return bytes + archive + about
  }

  @Test func `an archive that nests or repeats without end is refused`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a")
    func message(_ bytes: [UInt8]) throws -> String {
      try Data(bytes).write(to: URL(filePath: path))
      let error = try #require(throws: GodwitError.self) {
        try StoreConnection.openStore(readingAt: path, model: BinaryPets.model())
      }
      #expect(error.code == .dataWrong)
      return error.message
    }
    func node(_ key: Int64, _ values: PropertyListValue, in made: inout ArchiveFixture) -> PropertyListValue {
      let entity = made.string("Person")
      return made.object(
        "NSDictionaryMapNode", ["NSEntityName": entity, "NSPrimaryKey64": .integer(key), "NSAttributeValues": values])
    }
    func map(_ made: inout ArchiveFixture, _ keys: [PropertyListValue], _ nodes: [PropertyListValue]) -> UInt64 {
      guard
        case .uid(let number) = made.object(
          "NSMutableDictionary", ["NS.keys": .array(keys), "NS.objects": .array(nodes)])
      else { return 0 }
      return number
    }
    // A value inside itself, more levels than any reader takes.
    var deep = ArchiveFixture()
    var value = PropertyListValue.array([])
    for _ in 0..<150 { value = .array([value]) }
    let nested = deep.add(value)
    let values = deep.array([PropertyListValue](repeating: nested, count: 11))
    let one = node(1, values, in: &deep)
    let number = map(&deep, [deep.add(.integer(1))], [one])
    #expect(try message(store(deep.objects, map: number)).contains("nested more than 100 deep"))
    // The same node under many keys, and a key under many nodes.
    var same = ArchiveFixture()
    let null = same.object("NSNull", [:])
    let nothing = same.array([PropertyListValue](repeating: null, count: 11))
    let (first, key) = (node(1, nothing, in: &same), same.add(.integer(1)))
    let other = same.add(.integer(2))
    let twice = map(&same, [key, key], [first, first])
    #expect(try message(store(same.objects, map: twice)).contains("identifier 1 is used twice"))
    let wrong = map(&same, [key, other], [first, first])
    #expect(try message(store(same.objects, map: wrong)).contains("not the key that it stands under, 2"))
    // One large value at many places: more bytes than the file can account for.
    var large = ArchiveFixture()
    let data = large.add(.data([UInt8](repeating: 7, count: 1 << 20)))
    let many = large.array([PropertyListValue](repeating: data, count: 11))
    var (keys, nodes): ([PropertyListValue], [PropertyListValue]) = ([], [])
    for key in 1...40 as ClosedRange<Int64> {
      keys.append(large.add(.integer(key)))
      nodes.append(node(key, many, in: &large))
    }
    let repeated = map(&large, keys, nodes)
    try Data(store(large.objects, map: repeated)).write(to: URL(filePath: path))
    let error = try #require(throws: GodwitError.self) { try AtomicTables.open(StoreFiles(path: path)) }
    #expect(error.message.contains("repeats its values too often"), "\(error)")
  }

  @Test func `the head of a binary store is checked`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a")
    let whole = try Self.small()
    func message(_ change: (inout [UInt8]) -> Void) throws -> String {
      var bytes = whole
      change(&bytes)
      try Data(bytes).write(to: URL(filePath: path))
      return try #require(throws: GodwitError.self) { try StoreMetadata(readingStoreAt: path) }.message
    }
    #expect(try message { $0[11] = 2 }.contains("expected version 1"))
    #expect(try message { $0[16] = 0xFF }.contains("its metadata does not lie within the file"))
    #expect(try message { $0 = Array($0.dropLast()) }.contains("cut off"))
    #expect(try message { $0[40] = 1 }.contains("its object archive does not lie"))
    #expect(try message { $0[48] = 0x80 }.contains("highest key"))
    #expect(try message { $0 = Array($0.prefix(40)) }.contains("expected a head of 64 bytes, found 40"))
  }

  @Test func `a store of an application's own type is named`() throws {
    let folder = try TemporaryFolder()
    func refusal(_ write: (String) throws -> Void) throws -> GodwitError {
      let path = try folder.file("store-\(FileManager.default.contentsOfDirectory(atPath: folder.path).count)")
      try write(path)
      return try #require(throws: GodwitError.self) { try StoreMetadata(readingStoreAt: path) }
    }
    let metadata: PropertyListValue = .dictionary(["NSStoreType": .string("JournalStore"), "NSStoreUUID": .string("U")])
    let errors = [
      try refusal { try HandwrittenBinaryStore([], metadata: ["NSStoreType": .string("JournalStore")]).write(to: $0) },
      try refusal { try Data(metadata.binaryPropertyList).write(to: URL(filePath: $0)) },
      try refusal {
        try Data(PropertyListValue.dictionary(["metadata": metadata]).binaryPropertyList).write(to: URL(filePath: $0))
      },
      try refusal {
        try Data(KeyedArchive.archive(of: ArchivedValue(metadata)).binaryPropertyList).write(to: URL(filePath: $0))
      },
      try refusal { path in
        var own = StoreMetadata(model: try BinaryPets.model())
        own.values["NSStoreType"] = .string("JournalStore")
        let builder = try StoreBuilder(path: path, model: BinaryPets.model(), metadata: own)
        try builder.finish()
      },
    ]
    for error in errors {
      #expect(error.code == .dataWrong && error.message.contains("of the type 'JournalStore'"), "\(error)")
      #expect(error.message.contains("NSIncrementalStore") && error.remedy?.contains("SQLite, XML and Binary") == true)
    }
  }
}
