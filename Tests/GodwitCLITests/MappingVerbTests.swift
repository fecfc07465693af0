import Foundation
import GodwitManifest
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI

/// Runs a verb in this process.
func godwit(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  let status = GodwitCommand.run(arguments: arguments, in: session)
  return (status, session.output.text, session.diagnostics.text)
}

/// What a printed mapping file says.
func read(_ yaml: String, in folder: TemporaryFolder) throws -> MappingModel {
  let file = folder.file("\(UUID().uuidString).mapping.yaml")
  try Data(yaml.utf8).write(to: URL(filePath: file))
  return try MappingModel(contentsOfYAML: file)
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Converting mapping models of the corpus` {
  private static let paths: [String] = {
    guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    return walk.compactMap { $0 as? String }
      .filter { $0.hasSuffix(".xcmappingmodel") || $0.hasSuffix(".cdm") }.sorted()
  }()

  @Test(arguments: paths) func `what is printed reads as the same mapping model`(path: String) throws {
    let folder = try TemporaryFolder()
    let result = godwit("mapping", "convert", Corpus.path(path))
    #expect(result.status == 0 && result.diagnostics.isEmpty)
    let model = try XcodeMappingModel(contentsOf: Corpus.path(path)).mappingModel()
    let again = try read(result.output, in: folder)
    #expect(again.placeless == model.placeless)
    #expect(!again.entityMappings.isEmpty)
  }

  @Test(arguments: paths) func `inspect says what it is`(path: String) throws {
    let result = godwit("inspect", Corpus.path(path))
    #expect(result.status == 0)
    #expect(result.output.contains(": mapping model\n  "))
    #expect(result.output.contains(path.hasSuffix(".cdm") ? "compiled mapping model for" : "mapping model source; its"))
    let model = try XcodeMappingModel(contentsOf: Corpus.path(path))
    for mapping in model.outline { #expect(result.output.contains("    \(mapping.name): \(mapping.kind.rawValue) ")) }
  }

  private static let moods = "objcio_core-data/Migrations/"

  @Test func `a job may list Xcode's file`() throws {
    let folder = try TemporaryFolder()
    let store = try CorpusStores.copy(Corpus.path(Self.moods + "MigrationsTests/Moody 2.moody"), into: folder)
    let manifest = """
      godwit: 1
      source: \(store)
      destination: \(folder.file("out/made.sqlite"))
      models: \(Corpus.path(Self.moods + "Migrations/Moody.xcdatamodeld"))
      destination-model: Moody 3
      mappings: "\(Corpus.path(Self.moods + "Migrations/Moody 2-Moody 3.xcmappingmodel"))"

      """
    try Data(manifest.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    let plan = godwit("plan", folder.file("job.yaml"))
    #expect(plan.status == 0 && plan.output.contains("MoodToMood"))
    let run = try BuiltCommand.run("run", folder.file("job.yaml"))
    #expect(run.status == 0, "\(run.diagnostics)")
    let verify = godwit("verify", folder.file("job.yaml"))
    #expect(verify.status == 0, "\(verify.output)\(verify.diagnostics)")
  }

  @Test func `a job that lists the file of another step is refused at its line`() throws {
    let folder = try TemporaryFolder()
    let store = try CorpusStores.copy(Corpus.path(Self.moods + "MigrationsTests/Moody 2.moody"), into: folder)
    let manifest = """
      godwit: 1
      source: \(store)
      destination: \(folder.file("out/made.sqlite"))
      models: \(Corpus.path(Self.moods + "Migrations/Moody.xcdatamodeld"))
      destination-model: Moody 3
      mappings: "\(Corpus.path(Self.moods + "Migrations/Moody 4-Moody 5.xcmappingmodel"))"

      """
    try Data(manifest.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    let plan = godwit("plan", folder.file("job.yaml"))
    #expect(plan.status == 78)
    #expect(plan.diagnostics.contains("job.yaml:6:12: cannot use mapping model"))
    #expect(plan.diagnostics.contains("it names 'Moody 4' and 'Moody 5'"))
  }
}

struct `Converting mapping models` {
  private func write(_ fixture: MappingFixture, in folder: TemporaryFolder) throws -> String {
    let bundle = folder.file("M.xcmappingmodel")
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    try Data(fixture.document()).write(to: URL(filePath: bundle + "/xcmapping.xml"))
    return bundle
  }

  @Test func `a file is written once and never over another`() throws {
    let folder = try TemporaryFolder()
    var fixture = MappingFixture()
    let value = MappingFixture.archived { a in a.constant(.integer(1)) }
    fixture.mapping("A", "B", number: 1, attributes: [["name": "n", "valueexpressiondata": value]])
    let path = try write(fixture, in: folder)
    let out = folder.file("M.mapping.yaml")
    let first = godwit("mapping", "convert", path, "-o", out)
    #expect(first.status == 0 && first.output == "\(out): 1 entity mappings\n")
    #expect(try MappingModel(contentsOfYAML: out)["AToB"]?.attributeMappings.map(\.value.source.text) == ["1"])
    #expect(godwit("mapping", "convert", path, "-o", out).status == 73)
    let bare = godwit("mapping", "convert", path + "/xcmapping.xml", "--format", "json")
    #expect(bare.status == 0 && bare.output.contains("\"mappings\" : [\n    \"AToB\"\n  ]"))
  }

  @Test func `what cannot be read says why`() throws {
    let folder = try TemporaryFolder()
    var fixture = MappingFixture()
    fixture.mapping("A", "B", number: 1, attributes: [["name": "n"]])
    let path = try write(fixture, in: folder)
    let open = godwit("mapping", "convert", path)
    #expect(open.status == 78)
    #expect(
      open.diagnostics.contains("those in the file cannot be read")
        && open.diagnostics.contains("try     give the models"))
    #expect(godwit("mapping", "convert", folder.file("none.cdm")).status == 66)
    #expect(godwit("mapping", "convert", folder.path).status == 66)
    #expect(godwit("mapping", "convert", path, "--source", "a").status == 64)
    #expect(godwit("mapping").status == 64)
  }
}
