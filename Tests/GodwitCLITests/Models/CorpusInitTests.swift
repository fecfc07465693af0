import Foundation
import TestSupport
import Testing

/// `godwit init STORE MODELS -o - | godwit run -`, and then `verify`, for the applications of the corpus: every store
/// with the application's folder as MODELS, and a made-up store of the oldest version of every bundle.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct CorpusInitTests {
  /// A store that the three commands do not bring to the current version.
  struct Exception: Sendable {
    /// The statuses of `init`, `run` and `verify`; nil for what is not run.
    var statuses: [Int32]
    /// The text of a message.
    var says: String
    /// The judgement.
    var because: String
  }

  private static func policy(_ name: String) -> Exception {
    Exception(
      statuses: [0, 78], says: "`godwit policy stub` drafts it",
      because: "The application's mapping models name \(name), which only the application has.")
  }

  private static let noModel = Exception(
    statuses: [66], says: "cannot find a model in the folder",
    because: "Apple's own store: its model was never published, and the folder holds none.")

  private static let mappingsElsewhere = Exception(
    statuses: [69], says: "mapping models elsewhere are found when you give the project's folder",
    because:
      "Core Data cannot infer a step either. The application's mapping models do not lie beside the bundle, and the "
      + "corpus lacks the project file that would mark the folder to search.")

  static let exceptions: [String: Exception] = {
    var all: [String: Exception] = [:]
    let plus = "alemar11_CoreDataPlus/Tests/Resources/"
    let oldest = Exception(
      statuses: [69], says: "to 'SampleModel'",
      because:
        "The bundle names its oldest version as the current one, and Core Data cannot infer the way back either. "
        + "The message names a version that a path leads to.")
    let foreign = Exception(
      statuses: [69], says: "give the bundle or the project's folder of the application that wrote the store",
      because: "The project has no model file for this store: its model is made in code.")
    for name in [
      "SampleModel/Fixtures/SampleModel_V2.sqlite", "SampleModel/Fixtures/SampleModel.momd",
      "SampleModel/SampleModel.xcdatamodeld",
    ] { all[plus + name] = oldest }
    for name in ["SampleModel2_V1.sqlite", "SampleModel2_V2.sqlite"] {
      all[plus + "SampleModel2/Fixtures/" + name] = foreign
    }
    for name in [
      "ios/Accounts3.sqlite", "ios/DataUsage.sqlite", "ios/IMODb2.sqlite", "ios/kik.sqlite",
      "macos/knowledgec-10.13.db",
      "macos/knowledgec-10.14.db",
    ] { all["log2timeline_plaso/test_data/" + name] = noModel }
    all["log2timeline_plaso/test_data/macos/NotesV7.storedata"] = Exception(
      statuses: [65], says: "found NULL", because: "The store has no metadata. Core Data cannot open it either.")
    all["duckduckgo_iOS/DuckDuckGoTests/AppRatingPrompt_v1/Database.sqlite"] = Exception(
      statuses: [69], says: "give the bundle yourself",
      because:
        "The store has entities of several models of the application, which no bundle has together. With a bundle "
        + "that is named, the model that the store carries is taken.")
    for name in [
      "JohnEstropia_CoreStore/Demo/Sources/Demos/Advanced/EvolutionDemo/Advanced.EvolutionDemo.xcdatamodeld",
      "duckduckgo_iOS/_history/DuckDuckGo/NetworkLeaderboard.xcdatamodeld",
    ] {
      all[name] = Exception(
        statuses: [78], says: "name it with `--to VERSION`",
        because: "The bundle's marker names no current version, or is missing, so nobody can tell where the job leads.")
    }
    let care = "carekit-apple_CareKit/CareKitStore/CareKitStore"
    all[care + "Tests/CoreDataSchema/Migrations/SampleStore2.0.sqlite"] = policy("five policies")
    all[care + "/CoreData/CareKitStore.xcdatamodeld"] = policy("five policies")
    let wibosco = "wibosco_CoreDataMigration-Example/CoreDataMigration-Example"
    for name in ["1", "2"] {
      all[wibosco + "Tests/Resources/SQLite/CoreDataMigration_Example_\(name).sqlite"] = policy(
        "Post2ToPost3MigrationPolicy")
    }
    all[wibosco + "/CoreData/Model/CoreDataMigration_Example.xcdatamodeld"] = mappingsElsewhere
    for name in ["Model1.sqlite", "Model.xcdatamodeld"] {
      all["hwaxxer_BookMigration/BookMigration/" + name] = policy("MHWBookToBookPolicy")
    }
    for name in [
      "MigrationsTests/Moody 2.moody", "MigrationsTests/Moody 3.moody", "MigrationsTests/Moody 4.moody",
      "MigrationsTests/Moody 5.moody", "MigrationsTests/Moody.moody", "Migrations/Moody.xcdatamodeld",
    ] { all["objcio_core-data/Migrations/" + name] = policy("Country5ToCountry6Policy") }
    return all
  }()

  @Test(arguments: TestTier.sample(CorpusStore.all, each: 18))
  func `init and run bring a store to the current version, and verify proves it`(store: CorpusStore) throws {
    let folder = try TemporaryFolder("godwit-init")
    let copy = try store.copy(into: folder)
    let found = try Self.run(store: copy, models: store.models, in: folder)
    let exception = Self.exceptions[store.description]
    #expect(found.statuses == exception?.statuses ?? [0, 0, 0], "\(found.text)")
    if let exception { #expect(found.text.contains(exception.says), "\(found.text)") }
  }

  @Test(arguments: TestTier.sample(CorpusBundle.all, each: 18))
  func `a made-up store of the oldest version comes to the current one`(bundle: CorpusBundle) throws {
    let folder = try TemporaryFolder("godwit-init")
    let store = folder.file("made.sqlite")
    let made = try BuiltCommand.run(
      "make-store", "\(bundle.path)#\(bundle.oldest)", store, "--rows", "40", "--seed", "7")
    #expect(made.status == 0, "\(made.diagnostics)")
    let found = try Self.run(store: store, models: bundle.path, in: folder)
    let exception = Self.exceptions[bundle.description]
    #expect(found.statuses == exception?.statuses ?? [0, 0, 0], "\(found.text)")
    if let exception { #expect(found.text.contains(exception.says), "\(found.text)") }
  }

  /// The pipe as a user types it. `verify` gets the same manifest: `init` would choose a destination that is free.
  private static func run(
    store: String, models: String, in folder: TemporaryFolder
  ) throws -> (statuses: [Int32], text: String) {
    let script = """
      $GODWIT init '\(store)' '\(models)' -o - > draft.yaml; echo $?
      test -s draft.yaml || exit 0
      $GODWIT init '\(store)' '\(models)' -o - | $GODWIT run - --progress plain; s=$?; echo $s
      test $s = 0 || exit 0
      $GODWIT verify - < draft.yaml >&2; echo $?
      """
    let result = try ShellCommand.run(script, in: folder.path)
    return (result.output.split(separator: "\n").compactMap { Int32($0) }, result.output + result.diagnostics)
  }
}

/// A store of the corpus.
struct CorpusStore: Sendable, CustomStringConvertible {
  let project: String
  let file: String

  var description: String { "\(project)/\(file)" }
  /// The folder of the application.
  var models: String { Corpus.path(project) }

  static let all: [CorpusStore] = CorpusProject.all.flatMap { project in
    project.storeFiles.map { CorpusStore(project: project.name, file: $0) }
  }

  /// The store with what lies beside it.
  func copy(into folder: TemporaryFolder) throws -> String {
    let original = URL(filePath: Corpus.path(description))
    let (parent, name) = (original.deletingLastPathComponent(), original.lastPathComponent)
    let support = ".\(original.deletingPathExtension().lastPathComponent)_SUPPORT"
    for beside in [name, name + "-wal", support] {
      let source = parent.appending(path: beside)
      guard FileManager.default.fileExists(atPath: source.path) else { continue }
      try FileManager.default.copyItem(at: source, to: URL(filePath: folder.file(beside)))
    }
    return folder.file(name)
  }
}

/// A bundle of the corpus with several versions.
struct CorpusBundle: Sendable, CustomStringConvertible {
  let description: String
  let oldest: String

  var path: String { Corpus.path(description) }

  static let all: [CorpusBundle] = CorpusProject.all.flatMap(\.bundles)
}
