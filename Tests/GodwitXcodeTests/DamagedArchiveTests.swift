import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

private func failure(_ body: () throws -> Void) -> GodwitError? {
  do {
    try body()
    return nil
  } catch { return error as? GodwitError }
}

/// A model that reaches most of the reader.
private func rich() -> [UInt8] {
  var a = ArchiveFixture()
  let (parent, child, link) = (a.reserve(), a.reserve(), a.reserve())
  let own = a.object("NSSelfExpression", [:])
  let limits = a.array([
    a.compound(
      1, [a.comparison(own, 3, a.constant(.integer(1))), a.comparison(own, 1, a.constant(.integer(5)))])
  ])
  let number = a.attribute("n", .integer32, ["NSDefaultValue": a.add(.integer(4)), "NSValidationPredicates": limits])
  let date = a.object("NSDate", ["NS.time": .real(5)])
  let day = a.attribute("d", .date, ["NSDefaultValue": date])
  let decimal = a.object(
    "NSDecimalNumber",
    [
      "NS.mantissa": .data([5] + Array(repeating: 0, count: 15)), "NS.exponent": .integer(3), "NS.length": .integer(1),
      "NS.negative": .boolean(false), "NS.mantissa.bo": .integer(1),
    ])
  let price = a.attribute("p", .decimal, ["NSDefaultValue": decimal])
  let counted = a.function("count:", [a.keyPath("link")])
  let derived = a.object(
    "NSDerivedAttributeDescription",
    ["NSPropertyName": a.string("c"), "NSAttributeType": .integer(300), "NSDerivationExpression": counted])
  _ = a.object(
    "NSRelationshipDescription",
    [
      "NSPropertyName": a.string("link"), "NSDestinationEntity": child, "NSInverseRelationship": link,
      "NSEntity": child, "NSMaxCount": .integer(0), "NSDeleteRule": .integer(1),
    ], at: link)
  let first = a.entity("A", [number, day, price], at: parent)
  let second = a.entity("B", [("c", derived), ("link", link)], ["NSSuperentity": parent], at: child)
  return a.model([first, second])
}

struct `Damaged archives` {
  @Test func `the model of the damage tests is valid`() throws {
    let model = try ManagedObjectModel(compiled: rich(), name: "M")
    #expect(model.entityNames == ["A", "B"])
    #expect(model.attribute("p", of: "A")?.defaultValue == .decimal(5000))
  }

  @Test func `a compiled model with any changed or missing byte never traps`() throws {
    let bytes = rich()
    var dice = SeededGenerator(seed: 1)
    var (refused, read) = (0, 0)
    func attempt(_ bytes: [UInt8]) {
      do {
        let model = try CompiledModelReader.read(bytes, name: "M", allowsOmissions: dice.next() % 2 == 0).model
        _ = model.versionHashes
        _ = model.xcodeContents
        read += 1
      } catch {
        #expect((error as? GodwitError)?.code == .missingInput)
        refused += 1
      }
    }
    for position in stride(from: 0, to: bytes.count, by: TestTier.choose(7, long: 1)) {
      var damaged = bytes
      damaged[position] ^= [UInt8(1), 0x80, 0xFF][position % 3]
      attempt(damaged)
      if position % 5 == 0 { attempt(Array(bytes[..<position])) }
    }
    for _ in 0..<TestTier.choose(300, long: 2000) {
      var damaged = bytes
      for _ in 0..<(1 + dice.next() % 6) {
        damaged[Int(dice.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: dice.next())
      }
      attempt(damaged)
    }
    // Damage outside of properties is read over.
    #expect(refused > 500 && read > 100)
  }

  @Test func `a compiled model with any reference or value in any field never traps`() throws {
    var dice = SeededGenerator(seed: 2)
    let list = try PropertyListValue(binary: rich())
    let fields = try #require(list.dictionary)
    let objects = try #require(fields["$objects"]?.array)
    var refused = 0
    for _ in 0..<TestTier.choose(600, long: 2000) {
      var damaged = objects
      for _ in 0..<(1 + dice.next() % 3) {
        let index = Int(dice.next() % UInt64(objects.count))
        let any: [PropertyListValue] = [
          .uid(dice.next() % UInt64(objects.count + 1)), .uid(.max), .integer(.min), .integer(.max), .real(.nan),
          .real(.infinity), .string(""), .data([]), .array([]), .dictionary([:]), .boolean(true), .date(.nan),
        ]
        let value = any[Int(dice.next() % UInt64(any.count))]
        if var object = damaged[index].dictionary, let key = object.keys.sorted().randomElement(using: &dice) {
          if let items = object[key]?.array, !items.isEmpty, dice.next() % 2 == 0 {
            var items = items
            items[Int(dice.next() % UInt64(items.count))] = value
            object[key] = .array(items)
          } else {
            object[key] = value
          }
          damaged[index] = .dictionary(object)
        } else {
          damaged[index] = value
        }
      }
      var archive = fields
      archive["$objects"] = .array(damaged)
      do {
        let bytes = PropertyListValue.dictionary(archive).binaryPropertyList
        let model = try CompiledModelReader.read(bytes, name: "M", allowsOmissions: dice.next() % 2 == 0).model
        _ = model.versionHashes
      } catch {
        #expect((error as? GodwitError)?.code == .missingInput)
        refused += 1
      }
    }
    #expect(refused > TestTier.choose(150, long: 500))
  }

  @Test func `an entity that inherits from itself is refused`() throws {
    var a = ArchiveFixture()
    let place = a.reserve()
    let entity = a.entity("E", [], ["NSSuperentity": place], at: place)
    #expect(
      failure { _ = try ManagedObjectModel(compiled: a.model([entity]), name: "M") }?.message.contains(
        "inherits from itself")
        == true)
  }

  @Test func `a predicate inside itself is refused`() throws {
    for isDoubled in [false, true] {
      var a = ArchiveFixture()
      let predicate = a.reserve()
      let parts = a.array(isDoubled ? [predicate, predicate] : [predicate])
      _ = a.object(
        "NSCompoundPredicate", ["NSCompoundPredicateType": .integer(1), "NSSubpredicates": parts], at: predicate)
      let list = a.array([predicate])
      let attribute = a.attribute("a", .string, ["NSValidationPredicates": list])
      let entity = a.entity("E", [attribute])
      let bytes = a.model([entity])
      #expect(failure { _ = try ManagedObjectModel(compiled: bytes, name: "M") }?.code == .missingInput)
      _ = try? CompiledModelReader.read(bytes, name: "M", allowsOmissions: true)
    }
  }

  @Test func `shared expressions are bounded`() throws {
    var a = ArchiveFixture()
    var expression = a.constant(.integer(1))
    for _ in 0..<60 { expression = a.function("add:to:", [expression, expression]) }
    let property = a.object(
      "NSDerivedAttributeDescription",
      ["NSPropertyName": a.string("a"), "NSAttributeType": .integer(300), "NSDerivationExpression": expression])
    let entity = a.entity("E", [("a", property)])
    #expect(
      failure { _ = try ManagedObjectModel(compiled: a.model([entity]), name: "M") }?.message.contains(
        "at most 100000 expressions") == true)
  }

  @Test func `a property shared by many entities is bounded`() throws {
    var a = ArchiveFixture()
    let attributes = (0..<1500).map { a.attribute("a\($0)", .string) }
    let properties = a.dictionary(attributes)
    let entities = (0..<200).map { number in
      (
        "E\(number)",
        a.object("NSEntityDescription", ["NSEntityName": a.string("E\(number)"), "NSProperties": properties])
      )
    }
    #expect(
      failure { _ = try ManagedObjectModel(compiled: a.model(entities), name: "M") }?.message.contains("100000 in all")
        == true)
  }

  @Test func `a chain of parent entities is bounded`() throws {
    var a = ArchiveFixture()
    var entities: [(String, PropertyListValue)] = []
    for number in 0..<150 {
      let parent = entities.last.map { ["NSSuperentity": $0.1] } ?? [:]
      entities.append(a.entity("E\(number)", [], parent))
    }
    #expect(
      failure { _ = try ManagedObjectModel(compiled: a.model(entities), name: "M") }?.message.contains("100 steps")
        == true)
  }

  @Test func `a property list nested without end is refused`() throws {
    var value = PropertyListValue.array([])
    for _ in 0..<200 { value = .array([value]) }
    let bytes = PropertyListValue.dictionary(["$objects": value]).binaryPropertyList
    #expect(failure { _ = try ManagedObjectModel(compiled: bytes, name: "M") }?.message.contains("100 deep") == true)
    let xml = Array((String(repeating: "<array>", count: 100_000)).utf8)
    #expect(failure { _ = try ManagedObjectModel(compiled: xml, name: "M") }?.code == .missingInput)
  }

  @Test func `a value repeated without end is refused`() throws {
    // One array whose members are all one string of a megabyte.
    let text = [UInt8](repeating: 65, count: 1 << 20)
    var bytes = Array("bplist00".utf8) + [0xAF, 0x11, 0x10, 0x00] + Array(repeating: 1, count: 4096)
    let second = bytes.count
    bytes += [0x5F, 0x12, 0x00, 0x10, 0x00, 0x00] + text
    let table = bytes.count
    for offset in [8, second] { bytes += (0..<4).reversed().map { UInt8(truncatingIfNeeded: offset >> (8 * $0)) } }
    bytes += [0, 0, 0, 0, 0, 0, 4, 1]
    for number in [2, 0, table] { bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    #expect(throws: PropertyListValue.Malformed(problem: "it repeats its values too often")) {
      try PropertyListValue(binary: bytes)
    }
  }
}

struct `Models inside stores` {
  @Test func `a deflated archive is read like the archive`() throws {
    #expect(try Inflation.inflate(rich().deflated, name: "M") == rich())
    #expect(
      try CachedModel(modelCache: rich().deflated, name: "M").model == ManagedObjectModel(compiled: rich(), name: "M"))
  }

  @Test func `damaged or truncated deflated bytes are refused`() throws {
    let bytes = rich().deflated
    for position in stride(from: 0, to: bytes.count, by: TestTier.choose(5, long: 1)) {
      #expect(failure { _ = try Inflation.inflate(Array(bytes[..<position]), name: "M") }?.code == .missingInput)
      var damaged = bytes
      damaged[position] ^= 0xFF
      _ = try? CachedModel(modelCache: damaged, name: "M").model
    }
    #expect(failure { _ = try Inflation.inflate([7], name: "M") }?.message.contains("damaged or cut off") == true)
  }

  @Test func `an archive that inflates beyond the limit is refused`() throws {
    let block = [UInt8](repeating: 0, count: 65_535).deflated
    var open = block
    open[0] = 0
    let bomb = Array(repeatElement(open, count: 1 + (2 << 20) / 65_535).joined()) + block
    let refusal = failure { _ = try Inflation.inflate(bomb, name: "M", maximum: 2 << 20) }
    #expect(refusal?.message.contains("more than 2 MiB") == true)
  }

  @Test func `parts of a model that only code can make are left out and listed`() throws {
    var a = ArchiveFixture()
    let value = a.object("App.Cover", ["text": a.string("x")])
    let cover = a.attribute("cover", .transformable, ["NSDefaultValue": value])
    let list = a.array([a.comparison(a.object("NSSelfExpression", [:]), 99, a.constant(a.string("x")))])
    let title = a.attribute("title", .string, ["NSValidationPredicates": list])
    let entity = a.entity("E", [cover, title])
    let bytes = a.model([entity])
    let cached = try CachedModel(modelCache: bytes.deflated, name: "M")
    #expect(cached.omissions.count == 2)
    #expect(cached.omissions.first?.contains("'E.cover' (key 'NSDefaultValue')") == true)
    #expect(cached.model.attributes(of: "E").map(\.defaultValue) == [.null, .null])
    #expect(failure { _ = try ManagedObjectModel(compiled: bytes, name: "M") }?.code == .missingInput)
  }

  @Test func `what is unknown in a store's own model is named, and the rest is read`() throws {
    var a = ArchiveFixture()
    let known = a.attribute("name", .string, ["NSNewKey": .integer(1)])
    let flagged = a.attribute("place", .binary, ["NSFlagsKey": .integer(64 + 4)])
    let fields: [String: PropertyListValue] = [
      "NSPropertyName": a.string("details"), "NSAttributeType": .integer(1000), "NSIsOptional": .boolean(true),
    ]
    let newer = a.object("NSCodableAttributeDescription", fields)
    let bytes = a.model([a.entity("E", [known, flagged, ("details", newer)])])
    let cached = try CachedModel(modelCache: bytes.deflated, name: "M")
    #expect(cached.model.attributes(of: "E").map(\.name) == ["details", "name", "place"])
    #expect(cached.model.attribute("details", of: "E")?.type == .binary)
    #expect(cached.model.attribute("place", of: "E")?.allowsExternalBinaryDataStorage == true)
    for part in ["'NSNewKey'", "64 of key 'NSFlagsKey'", "'NSCodableAttributeDescription'"] {
      #expect(cached.omissions.contains { $0.contains(part) }, "\(cached.omissions)")
    }
    // A model that a job migrates to is not read in part.
    #expect(failure { _ = try ManagedObjectModel(compiled: bytes, name: "M") }?.code == .missingInput)
  }
}
