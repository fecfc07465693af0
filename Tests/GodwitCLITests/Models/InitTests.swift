import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// `godwit init`: a manifest for a store.
struct InitTests {
  private let project = ProjectFixture()

  /// Versions that each add an attribute, and a store of one of them.
  private func versions(_ names: [String]) throws -> [ManagedObjectModel] {
    try names.indices.map { count in
      let attributes = ["title", "body", "stars", "mood", "place"].prefix(count + 1)
      return try ManagedObjectModel(
        name: names[count],
        entities: [.made("Note", attributes.map { AttributeDescription(name: $0, type: .string) })])
    }
  }

  /// - Returns: The folder.
  private func notes(
    _ names: [String] = ["Notes", "Notes 2", "Notes 3"], bundle: String = "Notes.xcdatamodeld",
    store: String = "notes.sqlite", of version: Int = 0
  ) throws -> String {
    let models = try versions(names)
    try project.bundle(bundle, models)
    try project.write(store + ".folder", "")
    try project.store(store, models[version]) { builder in
      for number in 0..<3 { try builder.insert("Note", attributes: ["title": .init("secret \(number)")]) }
    }
    return try project.folder.get().path
  }

  private func initialise(_ arguments: String..., in folder: String) throws -> BuiltCommand.Result {
    try BuiltCommand.run(["init"] + arguments, in: folder)
  }

  private func text(_ file: String = "job.yaml") throws -> String {
    try String(contentsOfFile: project.path(file), encoding: .utf8)
  }

  // MARK: Writing

  @Test func `stores of the same version beside the store are offered for a merge`() throws {
    let folder = try notes()
    _ = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(try !text().contains("merge:"))
    for (name, version) in [("b.sqlite", 0), ("a.sqlite", 0), ("other.sqlite", 1)] {
      try project.store(name, versions(["Notes", "Notes 2"])[version]) { _ in }
    }
    try project.write("c.sqlite", "no store")
    #expect(try initialise("notes.sqlite", "Notes.xcdatamodeld", "--force", in: folder).status == 0)
    #expect(try text().contains("\n# source: {merge: [notes.sqlite, a.sqlite, b.sqlite]}\n"))
  }

  @Test func `init, run and verify migrate a store`() throws {
    let folder = try notes()
    let made = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(made.status == 0, "\(made.diagnostics)")
    #expect(
      made.output == """
        wrote job.yaml
          source       notes.sqlite, version 'Notes'
          destination  notes-migrated.sqlite, version 'Notes 3'
          path         'Notes' to 'Notes 3': inferred
          next         godwit run job.yaml, then godwit verify job.yaml

        """)
    let job = try text()
    #expect(job.contains("# An SQLite store of 20 KiB with 3 objects.\n"), "\(job)")
    #expect(job.contains("\njob: job\n") && job.contains("source: notes.sqlite\n"))
    #expect(job.contains("\ndestination: notes-migrated.sqlite\n"))
    #expect(job.contains("models: Notes.xcdatamodeld\n# The job leads to 'Notes 3', the current version.\n"))
    #expect(job.contains("#   'Notes' to 'Notes 3': inferred\nmappings: auto\n"))
    #expect(job.contains("# Counting the source found no loss.\n"))
    #expect(!job.contains("version-order") && !job.contains("secret"))
    #expect(job.split(separator: "\n").allSatisfy { $0.count <= 120 })
    for verb in ["plan", "run", "verify"] {
      let result = try BuiltCommand.run(verb, "job.yaml", in: folder)
      #expect(result.status == 0, "\(verb): \(result.diagnostics)")
    }
  }

  @Test func `a pipe needs no file, and resumes`() throws {
    let folder = try notes()
    let pipe = "$GODWIT init notes.sqlite Notes.xcdatamodeld -o - | $GODWIT"
    #expect(try ShellCommand.run("\(pipe) plan -", in: folder).status == 0)
    let piped = try ShellCommand.run("$GODWIT init notes.sqlite Notes.xcdatamodeld -o -", in: folder)
    #expect(piped.output.contains("\njob: notes\n"), "\(piped.output)")
    #expect(!FileManager.default.fileExists(atPath: folder + "/job.yaml"))
    // Leftovers of a stopped run do not change the destination.
    let hook = "--set 'stages=[{step: Notes 3, after: test -e ready}]'"
    #expect(try ShellCommand.run("\(pipe) run - \(hook) --quiet", in: folder).status == 74)
    let resumed = try ShellCommand.run("touch ready; \(pipe) run - \(hook)", in: folder)
    #expect(resumed.status == 0, "\(resumed.diagnostics)")
    #expect(resumed.output.contains("finished job 'notes', resumed: 'notes-migrated.sqlite'"), "\(resumed.output)")
  }

  @Test func `relative paths are those of the manifest's folder`() throws {
    let folder = try notes(store: "stores/notes.sqlite")
    try FileManager.default.createDirectory(atPath: folder + "/ci/jobs", withIntermediateDirectories: true)
    let made = try initialise(
      "../stores/notes.sqlite", "../Notes.xcdatamodeld", "-o", "jobs/a.yaml", in: folder + "/ci")
    #expect(made.status == 0, "\(made.diagnostics)")
    let job = try text("ci/jobs/a.yaml")
    #expect(job.contains("\njob: a\n") && job.contains("source: ../../stores/notes.sqlite\n"), "\(job)")
    #expect(job.contains("destination: ../../stores/notes-migrated.sqlite\n"))
    #expect(job.contains("models: ../../Notes.xcdatamodeld\n"))
    #expect(job.contains("godwit run jobs/a.yaml"))
    #expect(try BuiltCommand.run("run", "ci/jobs/a.yaml", "--quiet", in: folder).status == 0)
    #expect(FileManager.default.fileExists(atPath: folder + "/stores/notes-migrated.sqlite"))
  }

  @Test func `a path is absolute where a link would lead it elsewhere, or it was given so`() throws {
    let folder = try notes()
    let real = folder + "/deep/er"
    try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: real)
    #expect(
      try initialise("notes.sqlite", folder + "/Notes.xcdatamodeld", "-o", "link/job.yaml", in: folder).status == 0)
    let job = try text("deep/er/job.yaml")
    #expect(job.contains("models: \(folder)/Notes.xcdatamodeld\n"), "\(job)")
    #expect(try BuiltCommand.run("plan", "link/job.yaml", in: folder).status == 0)
  }

  @Test func `names that YAML or a shell would read otherwise are kept`() throws {
    let folder = try notes(bundle: "it's: #1.xcdatamodeld", store: "- a #b: {c}.sqlite")
    let made = try initialise("./- a #b: {c}.sqlite", "it's: #1.xcdatamodeld", in: folder)
    #expect(made.status == 0, "\(made.diagnostics)")
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: folder).status == 0)
    #expect(FileManager.default.fileExists(atPath: folder + "/- a #b: {c}-migrated.sqlite"))
  }

  @Test func `a manifest that exists is kept, unless force is asked for`() throws {
    let folder = try notes()
    try project.write("job.yaml", "godwit: 1\njob: mine\n")
    let refused = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(refused.status == 73)
    #expect(refused.diagnostics.contains("--force"), "\(refused.diagnostics)")
    #expect(try text() == "godwit: 1\njob: mine\n")
    #expect(try initialise("notes.sqlite", "Notes.xcdatamodeld", "--force", in: folder).status == 0)
    #expect(try text().contains("source: notes.sqlite\n"))
    #expect(try initialise("notes.sqlite", "Notes.xcdatamodeld", "-o", "no/such/job.yaml", in: folder).status == 73)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).allSatisfy { !$0.hasSuffix(".tmp") })
  }

  @Test func `the destination is a name that is free`() throws {
    let folder = try notes()
    try project.write("notes-migrated.sqlite", "taken")
    #expect(try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder).status == 0)
    #expect(try text().contains("destination: notes-migrated-2.sqlite\n"))
  }

  // MARK: Versions

  @Test func `a store that is current gets a job that copies it`() throws {
    let folder = try notes(of: 2)
    let made = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(made.status == 0)
    #expect(made.output.contains("no migration is needed: the store has this version"), "\(made.output)")
    #expect(try BuiltCommand.run("plan", "job.yaml", "--detailed-exitcode", in: folder).status == 0)
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: folder).status == 0)
    #expect(try BuiltCommand.run("verify", "job.yaml", in: folder).status == 0)
  }

  @Test func `another version is asked for in three ways`() throws {
    let folder = try notes()
    for (models, options) in [
      ("Notes.xcdatamodeld", ["--to", "Notes 2"]), ("Notes.xcdatamodeld#Notes 2", []),
      ("Notes.xcdatamodeld/Notes 2.xcdatamodel", []), ("Notes.xcdatamodeld/Notes 2.xcdatamodel/", []),
    ] {
      let made = try BuiltCommand.run(["init", "notes.sqlite", models, "-o", "-"] + options, in: folder)
      #expect(made.status == 0, "\(made.diagnostics)")
      #expect(made.output.contains("models: Notes.xcdatamodeld\ndestination-model: Notes 2\n"), "\(made.output)")
    }
    let unknown = try initialise("notes.sqlite", "Notes.xcdatamodeld", "--to", "Notes-2", in: folder)
    #expect(unknown.status == 78)
    #expect(unknown.diagnostics.contains("(did you mean 'Notes 2'?)"))
    let two = try initialise("notes.sqlite", "Notes.xcdatamodeld#Notes", "--to", "Notes 2", in: folder)
    #expect(two.status == 64)
  }

  @Test func `names that do not sort are listed in their order`() throws {
    let folder = try notes(["Old 5", "New", "New 2"], of: 0)
    #expect(try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder).status == 0)
    #expect(try text().contains("version-order:\n  - Old 5\n  - New\n  - New 2\n"))
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: folder).status == 0)
  }

  /// Without the mapping model `User` would be newer than `Multi`, and the path would go to `App` at once.
  @Test func `a mapping model between two families tells which is older`() throws {
    let folder = try notes(["User", "Multi", "App"])
    try project.write(
      "Move.mapping.yaml",
      """
      godwit-mapping: 1
      source-model: User
      destination-model: Multi
      entity-mappings:
        - name: NoteToNote
          source: Note
          destination: Note
          attributes: {title: uppercase($source.title)}

      """)
    let made = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(made.output.contains("  path         'User' to 'Multi': Move.mapping.yaml\n"), "\(made.output)")
    #expect(made.output.contains("               'Multi' to 'App': inferred\n"))
    #expect(try text().contains("version-order:\n  - User\n  - Multi\n  - App\n"))
  }

  @Test func `a store without version information needs its version named`() throws {
    let folder = try notes()
    try Self.removeHashes(from: folder + "/notes.sqlite")
    let refused = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(refused.status == 69)
    #expect(refused.diagnostics.contains("does not say which version it has"), "\(refused.diagnostics)")
    #expect(refused.diagnostics.contains("--from VERSION"))
    #expect(refused.diagnostics.contains("'Notes', 'Notes 2', 'Notes 3'"))
    let made = try initialise("notes.sqlite", "Notes.xcdatamodeld", "--from", "Notes", in: folder)
    #expect(made.status == 0, "\(made.diagnostics)")
    #expect(try text().contains("assume-source-model: Notes\n"))
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: folder).status == 0)
  }

  @Test func `from is refused where the store tells`() throws {
    let folder = try notes()
    #expect(try initialise("notes.sqlite", "Notes.xcdatamodeld", "--from", "Notes", in: folder).status == 64)
  }

  private static func removeHashes(from store: String) throws {
    var metadata = try StoreMetadata(readingStoreAt: store)
    metadata.values["NSStoreModelVersionHashes"] = nil
    let connection = try StoreConnection(path: store)
    try metadata.write(to: connection)
  }

  @Test func `a store that no version fits is refused, with the nearest`() throws {
    let folder = try notes()
    let other = try ManagedObjectModel(
      name: "Other", entities: [.made("Other", [AttributeDescription(name: "x", type: .string)])])
    try project.store("other.sqlite", other) { _ in }
    let refused = try initialise("other.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(refused.status == 69)
    #expect(refused.diagnostics.contains("no model fits the store 'other.sqlite'"))
    #expect(refused.diagnostics.contains("godwit init STORE FOLDER"))
    #expect(!refused.diagnostics.contains("under 'models'"), "\(refused.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: folder + "/job.yaml"))
  }

  @Test func `wrong arguments are told apart`() throws {
    let folder = try notes()
    let swapped = try initialise("Notes.xcdatamodeld", "notes.sqlite", in: folder)
    #expect(swapped.status == 64)
    #expect(swapped.diagnostics.contains("`godwit init STORE MODELS`"), "\(swapped.diagnostics)")
    #expect(try initialise("gone.sqlite", "Notes.xcdatamodeld", in: folder).status == 66)
    #expect(try initialise("notes.sqlite", "Gone.xcdatamodeld", in: folder).status == 66)
  }

  // MARK: Projects

  @Test func `a project's folder is searched for the bundle that fits`() throws {
    let folder = try notes(bundle: "App/Model/Notes.xcdatamodeld")
    let other = try ManagedObjectModel(
      name: "Other", entities: [.made("Other", [AttributeDescription(name: "x", type: .string)])])
    try project.bundle("App/Other.xcdatamodeld", [other])
    try project.bundle("App/Pods/Copy.xcdatamodeld", try versions(["Notes"]))
    for models in ["App", "App/", "./App"] {
      let made = try initialise("notes.sqlite", models, "--force", in: folder)
      #expect(made.status == 0, "\(made.diagnostics)")
      #expect(try text().contains("App/Model/Notes.xcdatamodeld\n"))
    }
    #expect(try initialise("notes.sqlite", ".", "--force", in: folder).status == 0)
    #expect(try text().contains("models: App/Model/Notes.xcdatamodeld\n"))
    try project.bundle("App/Copy/Copy.xcdatamodeld", try versions(["Notes"]))
    let several = try initialise("notes.sqlite", "App", "--force", in: folder)
    #expect(several.status == 64)
    #expect(several.diagnostics.contains("'App/Copy/Copy.xcdatamodeld'"), "\(several.diagnostics)")
    #expect(several.diagnostics.contains("`godwit init notes.sqlite App/Copy/Copy.xcdatamodeld`"))
  }

  @Test func `in a folder without a model that fits the nearest are named`() throws {
    let folder = try notes(bundle: "App/Notes.xcdatamodeld")
    try project.bundle("App/Two.xcdatamodeld", try versions(["Notes"]))
    let other = try ManagedObjectModel(
      name: "Other", entities: [.made("Other", [AttributeDescription(name: "x", type: .string)])])
    try project.store("other.sqlite", other) { _ in }
    let refused = try initialise("other.sqlite", "App", in: folder)
    #expect(refused.status == 69)
    #expect(refused.diagnostics.contains("no model in 'App' fits the store 'other.sqlite'"), "\(refused.diagnostics)")
    let third = try ManagedObjectModel(
      name: "Third", entities: [.made("Third", [AttributeDescription(name: "x", type: .string)])])
    for (name, model) in [("Other", other), ("Third", third)] {
      try project.bundle("App/\(name).xcdatamodeld", [model])
    }
    let lost = try ManagedObjectModel(
      name: "Lost", entities: [.made("Lost", [AttributeDescription(name: "x", type: .string)])])
    try project.store("three.sqlite", ManagedObjectModel(merging: [other, third, lost])) { _ in }
    let together = try initialise("three.sqlite", "App", in: folder)
    #expect(
      together.status == 69 && together.diagnostics.contains("together they have 2 of 3: none has the store's 'Lost'"),
      "\(together)")
    try FileManager.default.createDirectory(atPath: folder + "/Empty", withIntermediateDirectories: true)
    #expect(try initialise("notes.sqlite", "Empty", in: folder).status == 66)
  }

  @Test func `mapping models that only the folder shows are named with mapping-search`() throws {
    let folder = try notes(bundle: "App/Model/Notes.xcdatamodeld")
    try project.write(
      "App/Moves/Move.mapping.yaml",
      "godwit-mapping: 1\nsource-model: Notes\ndestination-model: Notes 3\nentity-mappings:\n"
        + "  - {name: N, source: Note, destination: Note, attributes: {title: $source.title}}\n")
    try project.write("App/Else/Old.mapping.yaml", "godwit-mapping: 1\nentity-mappings: []\n")
    #expect(try initialise("notes.sqlite", "App/Model/Notes.xcdatamodeld", in: folder).output.contains("inferred"))
    let made = try initialise("notes.sqlite", "App", "--force", in: folder)
    #expect(made.output.contains("'Notes' to 'Notes 3': Move.mapping.yaml"), "\(made.output)")
    #expect(try text().contains("mapping-search:\n  - App/Moves\n"))
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: folder).status == 0)
    // So are those that the search of a job would find in the project, and those beside the models are not.
    try project.write("App/.git/HEAD", "")
    #expect(try initialise("notes.sqlite", "App", "--force", in: folder).status == 0)
    #expect(try text().contains("mapping-search:\n  - App/Moves\n"))
    try FileManager.default.moveItem(
      atPath: folder + "/App/Moves/Move.mapping.yaml", toPath: folder + "/App/Model/Move.mapping.yaml")
    #expect(try initialise("notes.sqlite", "App", "--force", in: folder).output.contains("Move.mapping.yaml"))
    #expect(try !text().contains("mapping-search"))
  }

  // MARK: Needs of a run

  @Test func `policies to port are named, with the command that drafts them`() throws {
    let folder = try notes()
    try project.write(
      "Move.mapping.yaml",
      "godwit-mapping: 1\nsource-model: Notes\ndestination-model: Notes 3\nentity-mappings:\n"
        + "  - {name: N, source: Note, destination: Note, policy: App.Mover}\n")
    let made = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(made.status == 0)
    #expect(made.output.contains("policy       App.Mover is not registered, so a run stops with 78\n"))
    #expect(
      made.output.contains("next         godwit policy stub job.yaml -o Policies.swift drafts them in Swift\n"),
      "\(made.output)")
    #expect(try text().contains("#   App.Mover, named by 'N'\n"))
    #expect(try text().contains("\n# unregistered-policies: default\n"))
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: folder).status == 78)
    #expect(try BuiltCommand.run("policy", "stub", "job.yaml", in: folder).output.contains("Mover"))
    let piped = try ShellCommand.run("$GODWIT policy stub - < job.yaml", in: folder)
    #expect(piped.output.contains("Mover"), "\(piped.diagnostics)")
  }

  @Test func `a policy that a mapping of each step names has the name once`() throws {
    let folder = try notes()
    for (number, pair) in [("Notes", "Notes 2"), ("Notes 2", "Notes 3")].enumerated() {
      try project.write(
        "Move\(number).mapping.yaml",
        "godwit-mapping: 1\nsource-model: \(pair.0)\ndestination-model: \(pair.1)\nentity-mappings:\n"
          + "  - {name: N, source: Note, destination: Note, policy: App.Mover}\n")
    }
    let made = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(made.status == 0, "\(made.diagnostics)")
    let lines = try text().split(separator: "\n")
    #expect(lines.contains("#   App.Mover, named by 'N'"), "\(lines)")
    for name in ["Move0", "Move1"] { #expect(lines.contains { $0.contains("\(name).mapping.yaml") }, "\(lines)") }
  }

  @Test func `losses are counted in comments`() throws {
    let folder = try notes()
    let last = try project.path("Notes.xcdatamodeld/Notes 3.xcdatamodel/contents")
    let text = try String(contentsOfFile: last, encoding: .utf8)
    try Data(text.replacing("name=\"title\"", with: "name=\"heading\"").utf8).write(to: URL(filePath: last))
    let made = try initialise("notes.sqlite", "Notes.xcdatamodeld", in: folder)
    #expect(made.output.contains("  lost         3 values of Note.title ("), "\(made.output)")
    #expect(try self.text().contains("# The migration leaves out:\n#   lost     3 values of Note.title ("))
  }

  @Test func `a store that CloudKit mirrors gets its key as a comment, and a run says why`() throws {
    let job = try BreakableJob()
    try job.sql("CREATE TABLE ANSCKMETADATAENTRY (Z_PK INTEGER PRIMARY KEY)")
    let made = try BuiltCommand.run(
      "init", "library.sqlite", "Library.xcdatamodeld", "--force", in: job.path)
    #expect(made.status == 0, "\(made.diagnostics)")
    #expect(made.output.contains("  stops        "), "\(made.output)")
    #expect(made.output.hasSuffix("  next         change job.yaml, then godwit plan job.yaml\n"))
    #expect(try String(contentsOfFile: job.file("job.yaml"), encoding: .utf8).contains("\n# cloudkit: drop\n"))
    #expect(try BuiltCommand.run("run", "job.yaml", "--quiet", in: job.path).status == 65)
    #expect(try BuiltCommand.run("plan", "job.yaml", "--set", "cloudkit=drop", in: job.path).status == 0)
  }

  // MARK: Several bundles

  @Test func `models that form the store together are merged`() throws {
    func model(_ name: String, _ entity: String, _ attributes: [String]) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        name: name, entities: [.made(entity, attributes.map { AttributeDescription(name: $0, type: .string) })])
    }
    let (people, pets) = (try model("People", "Person", ["n"]), try model("Pets", "Pet", ["n"]))
    try project.bundle("two/People.xcdatamodeld", [people, model("People 2", "Person", ["n", "m"])])
    try project.bundle("two/Pets.xcdatamodeld", [pets])
    try project.bundle("two/Other.xcdatamodeld", [model("Other", "Thing", ["n"])])
    try project.store("s.sqlite", ManagedObjectModel(merging: [people, pets])) { builder in
      for entity in ["Person", "Pet"] { try builder.insert(entity, attributes: ["n": .init("x")]) }
    }
    let folder = try project.folder.get().path
    let made = try initialise("s.sqlite", "two", in: folder)
    #expect(made.status == 0, "\(made)")
    #expect(
      try text().contains("\nmerge-models: [two/People.xcdatamodeld, two/Pets.xcdatamodeld]\n"))
    let parts = ["two/People.xcdatamodeld, version 'People': Person", "two/Pets.xcdatamodeld, version 'Pets': Pet"]
    for part in parts { #expect(try made.output.contains(part) && text().contains("#   \(part)\n"), "\(made)") }
    for verb in ["plan", "run", "verify"] {
      let result = try BuiltCommand.run(verb, "job.yaml", in: folder)
      #expect(result.status == 0, "\(verb): \(result)")
    }
    // One of the models, and both without the key: the message names it.
    let one = try initialise("s.sqlite", "two/Pets.xcdatamodeld", "--force", in: folder)
    #expect(one.status == 69 && one.diagnostics.contains("merge-models"), "\(one)")
    let listed = try BuiltCommand.run(
      ["plan", "job.yaml", "--set", "merge-models=", "--set", "destination-model=People 2"], in: folder)
    #expect(listed.status == 69 && listed.diagnostics.contains("write `merge-models`"), "\(listed)")
    // A copy adds nothing, and a version that nobody has is named with those that there are.
    try project.bundle("two/more/Copy.xcdatamodeld", [model("Copy", "Pet", ["n"])])
    let copied = try initialise("s.sqlite", "two", "--force", "--format", "json", in: folder)
    #expect(copied.status == 0 && copied.output.contains("\"Pet\""), "\(copied)")
    #expect(try text().contains("\nmerge-models: [two/People.xcdatamodeld, two/Pets.xcdatamodeld]\n"))
    #expect(try text().contains("#   two/more/Copy.xcdatamodeld fits too, and adds no entity.\n"))
    let from = try initialise("s.sqlite", "two", "--from", "People", "-o", "from.yaml", in: folder)
    #expect(from.status == 64 && from.diagnostics.contains("the store says which version it has"), "\(from)")
    let older = try initialise("s.sqlite", "two", "--to", "People", "-o", "older.yaml", in: folder)
    #expect(older.status == 0, "\(older)")
    #expect(try text("older.yaml").contains("two/People.xcdatamodeld#People"))
  }

  @Test func `a version of a bundle that took the place of the store's is a destination`() throws {
    let folder = try notes(["Old"], bundle: "both/Old.xcdatamodeld", store: "s.sqlite")
    try project.bundle("both/New.xcdatamodeld", [versions(["", "New"])[1]])
    let made = try initialise("s.sqlite", "both", "--to", "New", in: folder)
    #expect(made.status == 0, "\(made)")
    #expect(try text().contains("models: [both/Old.xcdatamodeld, both/New.xcdatamodeld]"))
    for verb in ["run", "verify"] {
      let result = try BuiltCommand.run(verb, "job.yaml", in: folder)
      #expect(result.status == 0, "\(verb): \(result)")
    }
    let unknown = try initialise("s.sqlite", "both", "--to", "Newer", "-o", "x.yaml", in: folder)
    #expect(unknown.status == 78 && unknown.diagnostics.contains("'both/New.xcdatamodeld': 'New'"), "\(unknown)")
    try project.bundle("both/Twin.xcdatamodeld", [versions(["", "New"])[1]])
    let twins = try initialise("s.sqlite", "both", "--to", "New", "-o", "x.yaml", in: folder)
    #expect(twins.status == 64 && twins.diagnostics.contains("2 models in 'both' have a version 'New'"), "\(twins)")
    let alone = try initialise("s.sqlite", "both/Old.xcdatamodeld", "--to", "New", "-o", "x.yaml", in: folder)
    #expect(alone.status == 78 && alone.diagnostics.contains("destination-model"), "\(alone)")
  }
}
