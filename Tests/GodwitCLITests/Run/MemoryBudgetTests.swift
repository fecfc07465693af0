import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// The memory of a run, beside that of the program itself.
@Suite struct MemoryBudgetTests {
  /// People with the names of their companies, which become objects: nearly as many as there are people.
  private func folder(people: Int) throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-budget")
    let name = AttributeDescription(name: "name", type: .string)
    let source = try ManagedObjectModel(
      name: "Staff",
      entities: [
        EntityDescription(name: "Person", attributes: [AttributeDescription(name: "company", type: .string), name])
      ])
    let destination = try ManagedObjectModel(
      name: "Staff 2",
      entities: [
        EntityDescription(
          name: "Company", attributes: [name],
          relationships: [
            .init(name: "people", destinationEntityName: "Person", inverseName: "company", isToMany: true)
          ]),
        EntityDescription(
          name: "Person", attributes: [name],
          relationships: [.init(name: "company", destinationEntityName: "Company", inverseName: "people")]),
      ])
    for (name, model) in [("Staff", source), ("Staff 2", destination)] {
      let path = folder.file("Staff.xcdatamodeld/\(name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try model.xcodeContents.write(toFile: path + "/contents", atomically: true, encoding: .utf8)
    }
    try """
    godwit-mapping: 1
    entity-mappings:
      - name: Companies
        source: Person
        destination: Company
        unique-by: [name]
        attributes:
          name: $source.company
      - name: People
        source: Person
        destination: Person
        attributes:
          name: $source.name
        relationships:
          company: { mapping: Companies }
    """.write(toFile: folder.file("mapping.yaml"), atomically: true, encoding: .utf8)
    try StoreBuilder(path: folder.file("staff.sqlite"), model: source).finish()
    let connection = try StoreConnection(path: folder.file("staff.sqlite"))
    try connection.execute(
      """
      WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < \(people)) \
      INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZCOMPANY, ZNAME) \
      SELECT n, 1, 1, 'company ' || ((n * 7919) % \(max(1, people * 14 / 15))), 'person ' || n FROM c
      """)
    try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = \(people)")
    try connection.close()
    return folder
  }

  /// The most that was resident, in MiB.
  private func peak(people: Int, memory: Int) throws -> Double {
    let folder = try folder(people: people)
    try """
    godwit: 1
    source: staff.sqlite
    destination: out/staff.sqlite
    models: Staff.xcdatamodeld
    destination-model: Staff 2
    mappings: mapping.yaml
    memory: \(memory) MiB
    """.write(toFile: folder.file("job.yaml"), atomically: true, encoding: .utf8)
    let run = try BuiltCommand.run("run", folder.file("job.yaml"), "--progress", "json")
    #expect(run.status == 0, "\(run.diagnostics)")
    let line = try #require(run.output.split(separator: "\n").last)
    let summary = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    return Double(try #require(summary["peakBytes"] as? Int)) / Double(1 << 20)
  }

  /// A job of one row shows the memory of the program itself. The long tier has three million pairs, which take
  /// minutes.
  @Test func `a job that merges rows by value keeps its budget`() throws {
    let isThorough = TestTier.isLong
    for memory in isThorough ? [16, 64] : [16] {
      let base = try peak(people: 1, memory: memory)
      let most = try peak(people: isThorough ? 3_000_000 : 200_000, memory: memory)
      #expect(base > 1 && most <= base + Double(memory), "\(most) MiB, \(base) MiB without rows")
    }
  }

  @Test(.enabled(if: BuiltCommand.canMeasure))
  func `a store of many objects is made in bounded memory`() throws {
    let folder = try folder(people: 1)
    let model = folder.file("Staff.xcdatamodeld/Staff 2.xcdatamodel")
    let base = try BuiltCommand.peakBytes(["make-store", model, folder.file("few.sqlite"), "--rows", "100"])
    let most = try BuiltCommand.peakBytes(["make-store", model, folder.file("many.sqlite"), "--rows", "50000"])
    #expect(base > 1 << 20 && most < base + 64 << 20, "\(most) bytes, \(base) for a few objects")
  }
}
