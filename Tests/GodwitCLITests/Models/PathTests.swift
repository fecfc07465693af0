import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

private func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  let status = GodwitCommand.run(arguments: arguments, in: session)
  return (status, session.output.text, session.diagnostics.text)
}

/// `jobs/peoplizer` in a folder of the test's own.
private struct PeoplizerCopy {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: PeoplizerStores.folder.path) where name != "out" {
      try FileManager.default.copyItem(atPath: PeoplizerStores.file(name), toPath: folder.file(name))
    }
  }

  func command(_ arguments: String...) throws -> BuiltCommand.Result {
    var all = arguments
    if all.first == "run" { all.insert(contentsOf: ["--progress", "plain"], at: 1) }
    return try BuiltCommand.run(all, in: folder.file(""))
  }
}

struct `Jobs that find their way` {
  @Test func `Peoplizer 1 to 5 runs as one chain`() throws {
    let copy = try PeoplizerCopy()
    let plan = try copy.command("plan", "--details", "v1-to-v5.yaml")
    #expect(plan.status == 0, "\(plan.diagnostics)")
    for hop in 1...4 { #expect(plan.output.contains("mappings     V\(hop)toV\(hop + 1).mapping.yaml")) }
    let ran = try copy.command("run", "v1-to-v5.yaml")
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(try copy.command("verify", "v1-to-v5.yaml").status == 0)
    let made = try StoreConnection.openStore(readingAt: copy.folder.file("out/people-1-to-5.sqlite"))
    let source = try StoreConnection.openStore(readingAt: copy.folder.file("stores/people-1.sqlite"))
    let people = "SELECT Z_PK, ZAGE, ZNAME FROM source.ZPERSON ORDER BY Z_PK"
    #expect(try made.rows(people) == source.rows(people))
    let again = try copy.command("run", "v1-to-v5.yaml")
    #expect(again.status == 0)
  }

  @Test func `a job in place finds the mapping beside the models and keeps the old store`() throws {
    let copy = try PeoplizerCopy()
    #expect(try copy.command("run", "v1-to-v2.yaml").status == 0)
    let before = try Data(contentsOf: URL(filePath: copy.folder.file("out/people-2.sqlite")))
    let plan = try copy.command("plan", "--details", "v2-in-place.yaml")
    #expect(plan.status == 0, "\(plan.diagnostics)")
    #expect(try Data(contentsOf: URL(filePath: copy.folder.file("out/people-2.sqlite"))) == before)
    let ran = try copy.command("run", "v2-in-place.yaml")
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(try Data(contentsOf: URL(filePath: copy.folder.file("out/people-2~.sqlite"))) == before)
    let verified = try copy.command("verify", "v2-in-place.yaml")
    #expect(verified.status == 0, "\(verified.output)\(verified.diagnostics)")
    #expect(try copy.command("status", "v2-in-place.yaml").output.contains("finished"))
    #expect(try copy.command("run", "v2-in-place.yaml").status == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: copy.folder.file("out")).sorted()
        == ["people-2.sqlite", "people-2.sqlite.receipt.json", "people-2~.sqlite"])
    // The receipt is that of the store before, which has another name now.
    let receipt = try copy.command("verify", "--receipt", "out/people-2.sqlite.receipt.json")
    #expect(receipt.status == 4 && receipt.output.contains("a later job has migrated it"), "\(receipt)")
    let kept = try copy.command(
      "verify", "--receipt", "out/people-2.sqlite.receipt.json", "--destination", "out/people-2~.sqlite")
    #expect(kept.status == 0, "\(kept)")
  }

  @Test func `source model and mapping model are found by search`() throws {
    let copy = try PeoplizerCopy()
    try FileManager.default.createDirectory(atPath: copy.folder.file("models"), withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: copy.folder.file("maps"), withIntermediateDirectories: true)
    for (name, place) in [("Peoplizer.xcdatamodeld", "models"), ("V3toV4.mapping.yaml", "maps")] {
      try FileManager.default.moveItem(atPath: copy.folder.file(name), toPath: copy.folder.file("\(place)/\(name)"))
    }
    let manifest = """
      godwit: 1
      source: stores/people-3.sqlite
      destination: out/people.sqlite
      models: models/Peoplizer.xcdatamodeld
      destination-model: Peoplizer 4
      mapping-search: maps

      """
    try Data(manifest.utf8).write(to: URL(filePath: copy.folder.file("searched.yaml")))
    let ran = try copy.command("run", "-v", "searched.yaml")
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(ran.diagnostics.contains("source=Peoplizer 3"))
    #expect(ran.diagnostics.contains("'Peoplizer 3' to 'Peoplizer 4': V3toV4.mapping.yaml"))
    #expect(try copy.command("verify", "searched.yaml").status == 0)
  }

  @Test func `a store without version hashes needs assume-source-model`() throws {
    let copy = try PeoplizerCopy()
    let path = copy.folder.file("stores/people-1.sqlite")
    let connection = try StoreConnection(path: path)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: path)
    for key in metadata.values.keys where key.string.contains("Version") { metadata.values[key] = nil }
    try metadata.write(to: connection)
    try connection.close()
    let refused = try copy.command("plan", "v1-to-v5.yaml")
    #expect(refused.status == 69)
    #expect(refused.diagnostics.contains("name the model version with 'assume-source-model'"))
    let manifest = try String(contentsOfFile: copy.folder.file("v1-to-v5.yaml"), encoding: .utf8)
    try Data((manifest + "assume-source-model: Peoplizer\n").utf8)
      .write(to: URL(filePath: copy.folder.file("assumed.yaml")))
    let ran = try copy.command("run", "assumed.yaml")
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(try copy.command("verify", "assumed.yaml").status == 0)
  }

  @Test func `every mapping model considered is logged with the reason`() throws {
    let copy = try PeoplizerCopy()
    let result = try copy.command("run", "-v", "v1-to-v5.yaml")
    #expect(result.diagnostics.contains("mapping model found file="))
    #expect(result.diagnostics.contains("'Peoplizer' to 'Peoplizer 2': V1toV2.mapping.yaml"))
    let last = run("plan", "-v", copy.folder.file("v4-to-v5.yaml"))
    #expect(last.status == 0)
  }

  @Test func `inferred steps around a stage without hooks run as one, and the plan shows its hops`() throws {
    let folder = try TemporaryFolder()
    let names = ["text", "word", "zeal"]
    let models = try (1...3).map { number in
      try ManagedObjectModel(
        name: "Notes \(number)",
        entities: [
          EntityDescription(name: "Note", attributes: names[..<number].map { .init(name: $0, type: .string) })
        ])
    }
    for model in models {
      let version = folder.file("Notes.xcdatamodeld/\(model.name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let store = try StoreBuilder(path: folder.file("notes.sqlite"), model: models[0])
    for key in Int64(1)...5 { try store.insert("Note", key: key, attributes: ["text": .init("n\(key)")]) }
    try store.finish()
    let manifest = """
      godwit: 1
      source: notes.sqlite
      destination: out/notes.sqlite
      models: Notes.xcdatamodeld
      destination-model: Notes 3
      stages:
        - step: Notes 2

      """
    try Data(manifest.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    let job = folder.file("job.yaml")
    let plan = run("plan", "--details", "-v", job)
    #expect(plan.status == 0, "\(plan.diagnostics)")
    #expect(
      plan.output.contains(
        "step 1 of 1: Notes 1 to Notes 3\n  mappings     inferred, 2 hops in one: Notes 1 to Notes 2 to Notes 3\n"))
    #expect(plan.diagnostics.contains("'Notes 1' to 'Notes 3' in one step, through 'Notes 2'"))
    let json = run("plan", "--format", "json", job)
    let record = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    let steps = try #require(record["steps"] as? [[String: Any]])
    #expect(steps.map { $0["hops"] as? [String] } == [["Notes 1", "Notes 2", "Notes 3"]])

    let cut = manifest + "chunks: {by: {IEM_Transform_Note: [\"text != nil\", \"text == nil\"]}}\n"
    try Data(cut.utf8).write(to: URL(filePath: job))
    let apart = run("plan", "--details", "-v", job)
    #expect(
      apart.output.contains(
        "step 2 of 2: Notes 2 to Notes 3\n  mappings     inferred\n  apart        from the previous step: 'chunks.by' cuts 'IEM_Transform_Note'\n"
      ))
    #expect(
      apart.diagnostics.contains(
        "the step to 'Notes 3' is not fused with the one before: 'chunks.by' cuts 'IEM_Transform_Note'"))

    try Data(manifest.utf8).write(to: URL(filePath: job))
    #expect(run("run", "--progress", "plain", job).status == 0)
    #expect(run("verify", job).status == 0)
    try Data(cut.utf8).write(to: URL(filePath: job))
    let again = run("run", "--progress", "plain", job)
    #expect(again.status == 0 && again.output.contains("already finished"), "\(again.output)\(again.diagnostics)")
  }

  @Test func `hooks of the manifest run around their step`() throws {
    let copy = try PeoplizerCopy()
    let manifest = """
      godwit: 1
      source: stores/people-3.sqlite
      destination: out/people.sqlite
      models: Peoplizer.xcdatamodeld
      stages:
        - step: Peoplizer 4
          before: echo "before $GODWIT_SOURCE_MODEL $GODWIT_STORE_IS_WRITABLE" >> hooks.txt
          after: test -f "$GODWIT_STORE" && echo "after $GODWIT_DESTINATION_MODEL $GODWIT_STORE_IS_WRITABLE" >> hooks.txt
        - step: Peoplizer 5
          after: test -e go

      """
    try Data(manifest.utf8).write(to: URL(filePath: copy.folder.file("staged.yaml")))
    let failed = try copy.command("run", "staged.yaml")
    #expect(failed.status == 74)
    #expect(failed.diagnostics.contains("staged.yaml:10:12: the hook 'test -e go' failed"), "\(failed.diagnostics)")
    #expect(failed.diagnostics.contains("it exited with status 1"))
    #expect(failed.diagnostics.contains("to change the command, `godwit discard` the job and run it again"))
    try Data().write(to: URL(filePath: copy.folder.file("go")))
    let ran = try copy.command("run", "staged.yaml")
    #expect(ran.status == 0, "\(ran.diagnostics)")
    let notes = try String(contentsOfFile: copy.folder.file("hooks.txt"), encoding: .utf8)
    #expect(notes == "before Peoplizer 3 0\nafter Peoplizer 4 1\n", "finished steps and their hooks do not run again")
    let unknown = manifest.replacing("Peoplizer 5", with: "Peoplizer 6")
    try Data(unknown.utf8).write(to: URL(filePath: copy.folder.file("staged.yaml")))
    let refused = try copy.command("plan", "staged.yaml")
    #expect(refused.status == 78)
    #expect(refused.diagnostics.contains("stages names the unknown version 'Peoplizer 6'"))
  }
}

/// Every chain of the corpus whose mapping models need no code of the application's.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Corpus chains` {
  private static let bookmarks = "duckduckgo_BrowserServicesKit/"
  private static let artsy = "artsy_energy/"
  private static let plus = "alemar11_CoreDataPlus/Tests/Resources/SampleModel3/"
  private static let wibosco = "wibosco_CoreDataMigration-Example/CoreDataMigration-Example"

  struct Chain: Sendable, CustomStringConvertible {
    var store, models, destination: String
    var further = ""
    /// A query that gives the same rows before and after.
    var same: String
    var description: String { store }
  }

  static let chains: [Chain] = {
    var chains = ["V1", "V2", "V4"].map { version in
      Chain(
        store: bookmarks + "Tests/BookmarksTests/Resources/Bookmarks_\(version).sqlite",
        models: bookmarks + "Sources/Bookmarks/BookmarksModel.xcdatamodeld", destination: "BookmarksModel 6",
        same: "SELECT Z_PK, ZTITLE, ZURL, ZUUID FROM source.ZBOOKMARKENTITY ORDER BY Z_PK")
    }
    let order =
      (["", " 2", " 3", " 4", " 5"].map { "ArtsyPartner" + $0 }
      + ["1.5", "1.7", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.5.1", "2.5.3", "2.6.0", "2.6.1", "2.7.0"]
      .map { "ArtsyFolio v" + $0 }).joined(separator: ", ")
    chains += ["ArtsyFolio Tests/Migrations/ArtsyPartner_1.3.5.sqlite", "Resources/CoreData/oss_stubbed_data.sqlite"]
      .map { store in
        Chain(
          store: artsy + store, models: artsy + "Resources/CoreData/ArtsyPartner.xcdatamodeld",
          destination: "ArtsyFolio v2.7.0", further: "version-order: [\(order)]",
          same: "SELECT Z_PK, ZNAME FROM source.ZARTIST ORDER BY Z_PK")
      }
    chains.append(
      Chain(
        store: artsy + "ArtsyFolio Tests/Migrations/ArtsyPartner_2.0.sqlite",
        models: artsy + "Resources/CoreData/ArtsyPartner.xcdatamodeld", destination: "ArtsyFolio v2.7.0",
        further: "version-order: [\(order)]", same: "SELECT Z_PK, ZSLUG, ZTITLE FROM source.ZARTWORK"))
    // Mapping models whose policies are classes of the applications: Core Data's default policy stands in for them.
    let byDefault = "unregistered-policies: default"
    chains += ["", " 2", " 3", " 4", " 5"].map { version in
      Chain(
        store: "objcio_core-data/Migrations/MigrationsTests/Moody\(version).moody",
        models: "objcio_core-data/Migrations/Migrations/Moody.xcdatamodeld", destination: "Moody 6",
        further: byDefault, same: "SELECT COUNT(*) FROM source.ZMOOD")
    }
    // The policy of 2 to 3 makes an object more for each: a mapping of ours says it in expressions.
    let ours = Checkout.url("Tests/GodwitTests/Mappings/Wibosco2to3.mapping.yaml").path
    let first = Corpus.path(wibosco + "/CoreData/Migration/Mappings/Migration1to2.xcmappingmodel")
    chains += ["1", "2"].map { version in
      Chain(
        store: wibosco + "Tests/Resources/SQLite/CoreDataMigration_Example_\(version).sqlite",
        models: wibosco + "/CoreData/Model/CoreDataMigration_Example.xcdatamodeld",
        destination: "CoreDataMigration_Example 4", further: "mapping-search: [\"\(first)\", \"\(ours)\"]",
        same: "SELECT Z_PK, ZPOSTID FROM source.ZPOST ORDER BY Z_PK")
    }
    chains.append(
      Chain(
        store: "hwaxxer_BookMigration/BookMigration/Model1.sqlite",
        models: "hwaxxer_BookMigration/BookMigration/Model.xcdatamodeld", destination: "Model3",
        further: byDefault, same: "SELECT COUNT(*) FROM source.ZBOOK"))
    let sample = "alemar11_CoreDataPlus/Tests/Resources/SampleModel/"
    chains += ["V1", "V2"].map { version in
      Chain(
        store: sample + "Fixtures/SampleModel_\(version).sqlite", models: sample + "SampleModel.xcdatamodeld",
        destination: "SampleModel3",
        further: byDefault + "\nmapping-search: \"" + Corpus.path(sample + "MappingModels") + "\"",
        same: "SELECT COUNT(*) FROM source.Z_METADATA")
    }
    chains.append(
      Chain(
        store: plus + "Fixtures/SampleModel3_V1.sqlite", models: plus + "SampleModel3.xcdatamodeld",
        destination: "SampleModel3_v3", same: "SELECT COUNT(*) FROM source.Z_METADATA"))
    chains.append(
      Chain(
        store: wibosco + "Tests/Resources/SQLite/CoreDataMigration_Example_3.sqlite",
        models: wibosco + "/CoreData/Model/CoreDataMigration_Example.xcdatamodeld",
        destination: "CoreDataMigration_Example 4", same: "SELECT Z_PK, ZPOSTID FROM source.ZPOST ORDER BY Z_PK"))
    return chains
  }()

  @Test(arguments: TestTier.sample(chains, each: 10))
  func `corpus chains run completely, with the newest schema and the same values`(chain: Chain)
    throws
  {
    let folder = try TemporaryFolder()
    let manifest = """
      godwit: 1
      source: "\(Corpus.path(chain.store))"
      destination: out.sqlite
      models: "\(Corpus.path(chain.models))"
      destination-model: \(chain.destination)
      \(chain.further)

      """
    let job = folder.file("job.yaml")
    try Data(manifest.utf8).write(to: URL(filePath: job))
    let ran = try BuiltCommand.run("run", "--progress", "plain", job)
    #expect(ran.status == 0, "\(ran.diagnostics)")
    let verified = try BuiltCommand.run("verify", job)
    #expect(verified.status == 0, "\(verified.output)")
    let made = try StoreConnection.openStore(readingAt: folder.file("out.sqlite"))
    let source = try StoreConnection.openStore(readingAt: Corpus.path(chain.store))
    let rows = try made.rows(chain.same)
    #expect(!rows.isEmpty)
    #expect(try rows == source.rows(chain.same))
  }
}
