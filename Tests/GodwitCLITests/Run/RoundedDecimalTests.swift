import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Decimals of an XML store with more digits than a double has.
struct RoundedDecimalTests {
  private let project = ProjectFixture()

  /// Writes an XML store with a decimal, as text.
  private func make(_ number: String) throws {
    func version(_ name: String, _ more: [String]) throws -> ManagedObjectModel {
      let texts = more.map { AttributeDescription(name: $0, type: .string) }
      return try ManagedObjectModel(
        name: name, entities: [.made("N", [AttributeDescription(name: "d", type: .decimal)] + texts)])
    }
    let old = try version("M", [])
    try project.bundle("M.xcdatamodeld", [old, try version("M 2", ["note"])])
    try project.store("s.sqlite", old) { store in
      try store.insert("N", key: 1, attributes: ["d": .decimal(Decimal(12.5))])
      try store.insert("N", key: 2, attributes: ["d": .decimal(Decimal(3))])
    }
    try project.write(
      "first.yaml",
      "godwit: 1\nsource: s.sqlite\ndestination: c.xml\ndestination-type: xml\nmodels: M.xcdatamodeld\ndestination-model: M\n"
    )
    #expect(project.godwit("run", try project.path("first.yaml"), "-q").status == 0)
    let text = try String(contentsOfFile: project.path("c.xml"), encoding: .utf8)
    try project.write("c.xml", text.replacing(">12.5<", with: ">\(number)<"))
  }

  private func job(_ type: String, _ more: String = "") throws -> String {
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: c.xml\ndestination: d.\(type)\ndestination-type: \(type)\nmodels: M.xcdatamodeld\non-loss: fail\n\(more)"
    )
    return try project.path("job.yaml")
  }

  @Test(arguments: ["sqlite", "xml", "binary"])
  func `a decimal that loses digits is a loss, which a job may accept`(type: String) throws {
    try make("12345678901234567890123456.789")
    let result = project.godwit("run", try job(type), "-q")
    #expect(result.status == 65)
    let loss = "rounded 1 value of N.d (Godwit reads a decimal as a double)"
    #expect(result.diagnostics.contains(loss), "\(result.diagnostics)")
    let accepted = project.godwit("run", try job(type, "accept-losses: [N.d]\n"), "-q")
    #expect(accepted.status == 0, "\(accepted.diagnostics)")
    #expect(project.godwit("verify", try project.path("job.yaml"), "-q").status == 0)
  }

  @Test func `an export says that it rounds such a decimal`() throws {
    try make("12345678901234567890123456.789")
    let model = "\(try project.path("M.xcdatamodeld"))#M"
    let result = project.godwit("export", try project.path("c.xml"), "--entity", "N", "--model", model)
    #expect(result.status == 0)
    #expect(result.diagnostics.contains("1 value of N.d has more digits than a double, and is rounded"))
  }

  @Test(arguments: ["12.5", "0.1", "9007199254740993", "-123456789.012345", "1e30"])
  func `a decimal that a store keeps is none`(number: String) throws {
    try make(number)
    let result = project.godwit("run", try job("sqlite"), "-q")
    #expect(result.status == 0, "\(result.diagnostics)")
  }

  @Test(arguments: ["e.xml", "c.binary"])
  func `a merged source tells of such decimals of all its stores`(first: String) throws {
    try make("12345678901234567890123456.789")
    try makeBinary()
    try FileManager.default.copyItem(atPath: project.path("c.xml"), toPath: project.path("e.xml"))
    try project.store("plain.sqlite", Self.model()) { store in
      try store.insert("N", key: 1, attributes: ["d": .decimal(Decimal(1))])
    }
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: {merge: [plain.sqlite, \(first), c.xml]}\ndestination: d.sqlite\nmodels: M.xcdatamodeld\n")
    let job = try project.path("job.yaml")
    let loss = "2 values of N.d (Godwit reads a decimal as a double)"
    let plan = project.godwit("plan", job, "--details")
    #expect(plan.output.contains(loss), "\(plan.output)")
    let run = project.godwit("run", job)
    #expect(run.status == 0 && run.output.contains(loss), "\(run.output)\(run.diagnostics)")
    #expect(project.godwit("verify", job).status == 0)
  }

  @Test(arguments: ["sqlite", "xml", "binary"])
  func `a decimal of a binary store that loses digits is a loss too`(type: String) throws {
    try make("12345678901234567890123456.789")
    try makeBinary()
    let job = try job(type)
    let refused = project.godwit("run", job, "--source", try project.path("c.binary"), "-q")
    #expect(refused.status == 65, "\(refused)")
    #expect(refused.diagnostics.contains("rounded 1 value of N.d (Godwit reads a decimal as a double)"), "\(refused)")
  }

  /// A binary store with a decimal of 19 digits, as Core Data writes it. Godwit writes 17.
  private func makeBinary() throws {
    try project.store("b.sqlite", Self.model()) { store in
      try store.insert(
        "N", key: 1, attributes: ["d": .decimal(try #require(Decimal(string: "123456789012345.5")))])
    }
    try project.write(
      "binary.yaml",
      "godwit: 1\nsource: b.sqlite\ndestination: c.binary\ndestination-type: binary\nmodels: M.xcdatamodeld\ndestination-model: M\n"
    )
    #expect(project.godwit("run", try project.path("binary.yaml"), "-q").status == 0)
    var bytes = try Data(contentsOf: URL(filePath: project.path("c.binary")))
    func mantissa(_ number: UInt64) -> Data { withUnsafeBytes(of: number.littleEndian) { Data($0) } }
    let place = try #require(bytes.firstRange(of: mantissa(1_234_567_890_123_455)))
    bytes.replaceSubrange(place, with: mantissa(1_234_567_890_123_456_789))
    try bytes.write(to: URL(filePath: project.path("c.binary")))
  }

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(name: "M", entities: [.made("N", [AttributeDescription(name: "d", type: .decimal)])])
  }
}
