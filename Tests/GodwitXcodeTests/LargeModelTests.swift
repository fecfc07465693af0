import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// Models that are larger than anybody's, or made to fill the memory.
@Suite struct LargeModelTests {
  private func read(_ body: String) throws -> ManagedObjectModel {
    try ModelContents.read(Array("<model>\(body)</model>".utf8), file: "contents", modelName: "Large")
  }

  private func pairs(_ count: Int) -> String {
    (0..<count).map { number in
      """
      <entity name="E\(number)"><attribute name="a" optional="YES" attributeType="String"/>\
      <relationship name="r" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="E\(number ^ 1)" \
      inverseName="r" inverseEntity="E\(number ^ 1)"/></entity>
      """
    }.joined()
  }

  private func seconds(_ count: Int) throws -> Double {
    let text = pairs(count)
    var start = timespec()
    var end = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
    #expect(try read(text).versionHashes.count == count)
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
    return Double(end.tv_sec - start.tv_sec) + Double(end.tv_nsec - start.tv_nsec) / 1e9
  }

  @Test func `four times the entities take about four times as long to read and hash`() throws {
    // Other work on the machine makes a measurement longer, never shorter: the least of several counts.
    let few = try (0..<3).map { _ in try seconds(800) }.min() ?? 0
    var many = Double.infinity
    for _ in 0..<5 where many >= few * 8 { many = try min(many, seconds(3200)) }
    #expect(many < few * 8, "\(few) s and \(many) s")
  }

  private func chain(_ depth: Int) -> String {
    (0...depth).map { number in
      "<entity name=\"D\(number)\"\(number > 0 ? " parentEntity=\"D\(number - 1)\"" : "")>"
        + "<attribute name=\"a\(number)\" optional=\"YES\" attributeType=\"String\"/></entity>"
    }.joined()
  }

  @Test func `inheritance of 100 levels is read, and one more is refused by the name of the entity`() throws {
    #expect(try read(chain(100)).attributes(of: "D100").count == 101)
    let error = #expect(throws: GodwitError.self) { try read(chain(101)) }
    #expect(error?.code == .missingInput)
    #expect(error?.message.contains("expected at most 100 ancestors of an entity, found more at 'D101'") == true)
  }

  @Test func `the number of inherited properties is bounded`() throws {
    let root =
      "<entity name=\"R\">"
      + (0..<600).map { "<attribute name=\"a\($0)\" optional=\"YES\" attributeType=\"String\"/>" }.joined()
      + "</entity>"
    let children = (0..<900).map { "<entity name=\"C\($0)\" parentEntity=\"R\"/>" }.joined()
    let error = #expect(throws: GodwitError.self) { try read(root + children) }
    #expect(error?.message.contains("inherited ones counted each time") == true)
  }

  @Test func `a model file with too many elements is refused`() throws {
    let bytes = Array(("<a>" + String(repeating: "<a/>", count: MarkupReader.elementsMaximum) + "</a>").utf8)
    let error = #expect(throws: GodwitError.self) { try MarkupReader.read(bytes, file: "f") }
    #expect(error?.message.contains("expected at most \(MarkupReader.elementsMaximum) elements") == true)
  }
}
