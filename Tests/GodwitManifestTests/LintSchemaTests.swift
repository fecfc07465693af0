import Foundation
import GodwitLint
import GodwitModel
import GodwitXcode
import TestSupport
import Testing
import Yams

struct `Schemas of lint` {
  @Test(arguments: ["lint.schema.json", "models-lock.schema.json"])
  func `every key is described`(name: String) throws {
    #expect(try JSONSchema(named: name).undescribed() == [])
  }

  @Test func `report and lock file conform`() throws {
    let folder = try TemporaryFolder()
    for (name, attributes) in [("App", ["name", "age"]), ("App 2", ["name"])] {
      let model = try ManagedObjectModel(
        name: name,
        entities: [
          EntityDescription(
            name: "Person", attributes: attributes.map { AttributeDescription(name: $0, type: .string) })
        ])
      let version = folder.file("App.xcdatamodeld/\(name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let lock = folder.file("models.lock.json")
    func linter(_ path: String) throws -> Linter {
      try Linter([path], lock: lock, mayLockBeMissing: true, workingFolder: folder.path)
    }
    let model = folder.file("App.xcdatamodeld#App 2")
    let (extended, added) = try linter(model).extendedLock()
    #expect(added == 2)
    let lockText = try extended.text()
    #expect(try JSONSchema(named: "models-lock.schema.json").findings(try #require(try compose(yaml: lockText))) == [])
    let first = try linter(model).report()
    try extended.write(to: lock)
    let second = try linter(model).report()
    #expect(Set(first.findings.map(\.state)) == [.open] && Set(second.findings.map(\.state)) == [.shipped])
    for report in [first, second] {
      #expect(report.findings.contains { $0.rule == .attributeDropped })
      let node = try #require(try compose(yaml: try report.json()))
      #expect(try JSONSchema(named: "lint.schema.json").findings(node) == [])
    }
  }
}
