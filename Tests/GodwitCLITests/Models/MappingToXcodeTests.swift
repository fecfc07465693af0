import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// `godwit mapping convert --to xcmappingmodel`.
struct `Converting mapping files to Xcode's` {
  private static func project() throws -> ProjectFixture {
    let project = ProjectFixture()
    func model(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      let person = EntityDescription(
        name: "Person", attributes: attributes.map { .init(name: $0, type: $0 == "age" ? .integer32 : .string) },
        relationships: [.init(name: "pets", destinationEntityName: "Pet", inverseName: "owner", isToMany: true)])
      let pet = EntityDescription(
        name: "Pet", attributes: [.init(name: "name", type: .string)],
        relationships: [.init(name: "owner", destinationEntityName: "Person", inverseName: "pets")])
      return try ManagedObjectModel(name: name, entities: [person, pet])
    }
    let versions = [try model("M 1", ["name", "age"]), try model("M 2", ["name", "label", "age"])]
    try project.bundle("M.xcdatamodeld", versions)
    try project.store("m.sqlite", versions[0]) { builder in
      for key in Int64(1)...20 {
        try builder.insert("Person", key: key, attributes: ["name": .init("P\(key)"), "age": .integer(key)])
        try builder.insert(
          "Pet", key: key, attributes: ["name": .init("Pet \(key)")], relationships: ["owner": [1 + key % 20]])
      }
    }
    try project.write(
      "M.mapping.yaml",
      """
      godwit-mapping: 1
      source-model: M 1
      destination-model: M 2
      entity-mappings:
        - name: Adults
          source: Person
          destination: Person
          filter: age >= 5 AND name != "P7"
          attributes:
            name: uppercase:($source.name)
            label: FUNCTION($source.name, "stringByAppendingString:", " & <co>")
            age: $source.age * 2 - 1
        - {name: Pets, type: copy, source: Pet, destination: Pet, relationships: {owner: {mapping: Adults, key-path: owner}}}
      """)
    return project
  }

  private static func job(_ mapping: String, _ destination: String) -> String {
    "godwit: 1\nsource: m.sqlite\ndestination: \(destination)\nmodels: M.xcdatamodeld\nmappings: \(mapping)\n"
  }

  @Test func `a converted mapping file does the same in a run`() throws {
    let project = try Self.project()
    let made = try project.godwit([
      "mapping", "convert", project.path("M.mapping.yaml"), "--to", "xcmappingmodel", "-o",
      project.path("M.xcmappingmodel"), "--source", project.path("M.xcdatamodeld#M 1"), "--destination",
      project.path("M.xcdatamodeld"),
    ])
    #expect(made.status == 0 && made.output.hasSuffix("M.xcmappingmodel: 2 entity mappings\n"), "\(made)")
    let names = try FileManager.default.contentsOfDirectory(atPath: project.path("M.xcmappingmodel"))
    #expect(names == ["xcmapping.xml"])
    for (mapping, out) in [("M.mapping.yaml", "a.sqlite"), ("M.xcmappingmodel", "b.sqlite")] {
      try project.write("\(out).yaml", Self.job(mapping, out))
      let run = try project.godwit(["run", project.path("\(out).yaml"), "--verify"])
      #expect(run.status == 0, "\(run)")
    }
    // The metadata names the jobs, whose mapping models are two files.
    func rows(_ name: String) throws -> [String] {
      Array(try StoreDump(project.path(name)).lines.prefix { !$0.hasPrefix("table Z_METADATA") })
    }
    #expect(try rows("a.sqlite") == rows("b.sqlite") && rows("a.sqlite").contains { $0.contains("P8 & <co>") })
    let again = try project.godwit([
      "mapping", "convert", project.path("M.mapping.yaml"), "--to", "xcmappingmodel", "-o",
      project.path("M.xcmappingmodel"), "--source", project.path("M.xcdatamodeld#M 1"), "--destination",
      project.path("M.xcdatamodeld"),
    ])
    #expect(again.status == 73)
  }

  @Test func `the paths of the versions have their bundle, however the models are given`() throws {
    let project = try Self.project()
    for (place, ending) in ["#M 2", "/M 2.xcdatamodel", "/M 2.xcdatamodel/"].enumerated() {
      let made = try project.godwit([
        "mapping", "convert", project.path("M.mapping.yaml"), "--to", "xcmappingmodel", "-o",
        project.path("\(place).xcmappingmodel"), "--source", project.path("M.xcdatamodeld/M 1.xcdatamodel"),
        "--destination", project.path("M.xcdatamodeld" + ending),
      ])
      #expect(made.status == 0, "\(made)")
      let text = try String(contentsOfFile: project.path("\(place).xcmappingmodel/xcmapping.xml"), encoding: .utf8)
      for version in ["M 1", "M 2"] {
        #expect(text.contains(">M.xcdatamodeld/\(version).xcdatamodel<"), "\(ending)")
      }
    }
    #expect(!(project.godwit("help", "mapping").output.contains("one of Xcode's to YAML")))
  }

  @Test func `what has no form is 78, and nothing is written`() throws {
    let project = try Self.project()
    func convert(_ file: String, _ more: String...) throws -> (status: Int32, output: String, diagnostics: String) {
      try project.godwit(
        ["mapping", "convert", project.path(file), "--to", "xcmappingmodel", "-o", project.path("X.xcmappingmodel")]
          + more)
    }
    let copy = try convert("M.mapping.yaml")
    #expect(
      copy.status == 78 && copy.diagnostics.components(separatedBy: "type copy, which needs the models").count == 2,
      "\(copy)")
    try project.write(
      "U.mapping.yaml",
      "godwit-mapping: 1\nentity-mappings:\n  - {name: P, source: Person, destination: Person, unique-by: [name]}\n")
    #expect(try convert("U.mapping.yaml").status == 64)
    let bundle = try project.path("M.xcdatamodeld")
    let unique = try convert("U.mapping.yaml", "--source", bundle + "#M 1", "--destination", bundle + "#M 2")
    #expect(unique.status == 78 && unique.diagnostics.contains("mapping 'P': unique-by"), "\(unique)")
    let other = try convert("M.mapping.yaml", "--source", bundle + "#M 2", "--destination", bundle + "#M 2")
    #expect(other.status == 78 && other.diagnostics.contains("it is for 'M 1', and --source is 'M 2'"), "\(other)")
    #expect(
      try !FileManager.default.contentsOfDirectory(atPath: project.folder.get().path).contains { $0.contains("X.x") })
    try project.write(
      "V.mapping.yaml",
      "godwit-mapping: 1\nentity-mappings:\n  - {name: P, source: Person, destination: Person, filter: $source.age > 1}\n"
    )
    let variable = try convert("V.mapping.yaml", "--source", bundle + "#M 1", "--destination", bundle + "#M 2")
    #expect(variable.status == 78 && variable.diagnostics.contains("'$source', which no filter has"), "\(variable)")
    let unnamed = try project.godwit(["mapping", "convert", project.path("M.mapping.yaml"), "--to", "xcmappingmodel"])
    #expect(unnamed.status == 64)
  }

  private static let cars = "alemar11_CoreDataPlus/Tests/Resources/SampleModel/"

  private static let paths: [String] = {
    guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    return walk.compactMap { $0 as? String }
      .filter { $0.hasSuffix(".xcmappingmodel") || $0.hasSuffix(".cdm") }.sorted()
  }()

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"), arguments: paths)
  func `a mapping model of the corpus goes to YAML and back`(path: String) throws {
    let folder = try TemporaryFolder()
    let (yaml, made) = (folder.file("M.mapping.yaml"), folder.file("M.xcmappingmodel"))
    #expect(godwit("mapping", "convert", Corpus.path(path), "-o", yaml).status == 0)
    let bundle = Corpus.path(Self.cars + "SampleModel.xcdatamodeld")
    let names =
      path.hasSuffix(".cdm")
      ? ["--source", bundle + "#SampleModel2", "--destination", bundle + "#SampleModel3"] : []
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(
      arguments: ["mapping", "convert", yaml, "--to", "xcmappingmodel", "-o", made] + names, in: session)
    #expect(status == 0, "\(session.diagnostics.text)")
    var expected = try XcodeMappingModel(contentsOf: Corpus.path(path)).mappingModel().placeless
    let read = try XcodeMappingModel(contentsOf: made).mappingModel().placeless
    if !names.isEmpty { (expected.sourceModelName, expected.destinationModelName) = ("SampleModel2", "SampleModel3") }
    #expect(read == expected)
  }
}
