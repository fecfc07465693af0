import GodwitModel
import TestSupport
import Testing

/// Objects of a keyed archive, as names and values.
struct KeyedArchiveTests {
  private func archive(_ objects: [PropertyListValue], root: PropertyListValue) throws -> KeyedArchive {
    try KeyedArchive(
      .dictionary([
        "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$objects": .array(objects),
        "$top": .dictionary(["root": root]),
      ]))
  }

  @Test func `a keyed archive's references are followed, and a string may be an object`() throws {
    var made = ArchiveFixture()
    let text = made.object("NSMutableString", ["NS.string": .string("b")])
    let list = made.array([made.string("a"), text, ArchiveFixture.null])
    let root = made.object("Thing", ["list": list, "count": .integer(3)])
    var archive = try archive(made.objects, root: root)
    let thing = try archive.root()
    #expect(thing.className == "Thing" && thing.keys == ["count", "list"])
    guard case .plain(.integer(3)) = try archive.value("count", of: thing) else { return #expect(Bool(false)) }
    guard case .null = try archive.value("nothing", of: thing) else { return #expect(Bool(false)) }
    guard case .object(let members) = try archive.value("list", of: thing) else { return #expect(Bool(false)) }
    let texts = try archive.members(of: members).map { try archive.text($0) }
    #expect(texts == ["a", "b", nil])
  }

  @Test func `an archived dictionary keeps its order and has each key once`() throws {
    var made = ArchiveFixture()
    let sound = made.dictionary([("b", .integer(1)), ("a", .integer(2))])
    var archive = try archive(made.objects, root: sound)
    #expect(try archive.entries(of: archive.root()).map(\.key) == ["b", "a"])
    var doubled = ArchiveFixture()
    let twice = doubled.dictionary([("a", .integer(1)), ("a", .integer(2))])
    var other = try self.archive(doubled.objects, root: twice)
    #expect(throws: KeyedArchive.Malformed.self) { _ = try other.entries(of: other.root()) }
  }

  @Test func `a file that is not a keyed archive is refused`() {
    #expect(throws: KeyedArchive.Malformed.self) { try KeyedArchive(.string("x")) }
    #expect(throws: KeyedArchive.Malformed.self) {
      try KeyedArchive(.dictionary(["$archiver": .string("NSKeyedArchiver"), "$version": .integer(99_999)]))
    }
  }

  @Test(arguments: [UInt64.max, 7, 1, 2])
  func `an invalid reference in a keyed archive is refused`(number: UInt64) throws {
    // 1 is a reference, 2 an object without a class.
    var archive = try archive([.string("$null"), .uid(0), .dictionary([:])], root: .uid(number))
    #expect(throws: KeyedArchive.Malformed.self) { _ = try archive.root() }
  }
}
