import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// The longer pages of the documentation: the tests run their commands, and compare the output with the pages.
struct DocumentationPageTests {

  /// The code blocks of a page, by language.
  private struct Page {
    let scripts, files, texts, swift: [String]

    init(_ name: String) throws {
      let text = try Checkout.text("Sources/Godwit/Godwit.docc/\(name).md")
      scripts = GettingStartedTests.blocks("sh", of: text)
      files = GettingStartedTests.blocks("yaml", of: text)
      texts = GettingStartedTests.blocks("text", of: text)
      swift = GettingStartedTests.blocks("swift", of: text)
    }
  }

  private static func write(_ text: String, to path: String) throws {
    try (text + "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }

  @Test func `a mapping is written, completed and proved as the page says`() throws {
    let folder = try GettingStartedTests.folder()
    let page = try Page("WritingAMapping")
    try #require(page.scripts.count == 7 && page.files.count == 3 && page.texts.count == 3)
    let mapping = folder.file("people.mapping.yaml")
    func run(_ index: Int, endsWith status: Int32 = 0) throws -> BuiltCommand.Result {
      let result = try GettingStartedTests.run(page.scripts[index], in: folder)
      #expect(result.status == status, "\(page.scripts[index]): \(result.diagnostics)")
      return result
    }
    #expect(try run(0).output == page.texts[0] + "\n")
    #expect(try run(1, endsWith: 69).diagnostics.contains("it becomes abstract"))
    _ = try run(2)
    #expect(try String(contentsOfFile: mapping, encoding: .utf8).contains("'Person' need another destination"))
    try Self.write(page.files[0], to: mapping)
    try Self.write(page.files[1], to: folder.file("job.yaml"))
    #expect(PlanningPageTests.lines(try run(3, endsWith: 65).output) == PlanningPageTests.lines(page.texts[1]))
    try Self.write(page.files[0] + "\n" + page.files[2], to: mapping)
    #expect(try run(3).output.contains("nothing lost"))
    #expect(try run(4).output.hasSuffix("no difference found\n"))
    #expect(try run(5).output.split(separator: "\n").count == 62)
    let traced = try run(6).output
    #expect(traced.components(separatedBy: page.texts[2] + "\n").count == 3, "\(traced)")
  }

  @Test func `a policy is drafted, run and verified as the page says`() throws {
    let folder = try TemporaryFolder("godwit-page")
    let todo = Checkout.url("jobs/todo")
    for name in ["by-policy.yaml", "by-policy.mapping.yaml", "TodoList.xcdatamodeld", "stores"] {
      try FileManager.default.copyItem(atPath: todo.appending(path: name).path, toPath: folder.file(name))
    }
    let executable = try #require(`The to-do list`.executable)
    try FileManager.default.createDirectory(atPath: folder.file("bin"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("bin/todo-migration"), withDestinationPath: executable)
    let page = try Page("Policies")
    try #require(page.scripts.count == 3 && page.texts.count == 3 && page.swift.count == 3)
    func run(_ index: Int) throws -> BuiltCommand.Result {
      try GettingStartedTests.run("PATH=\"$PWD/bin:$PATH\"\n" + page.scripts[index], in: folder)
    }
    #expect(try run(0).status == 78)
    #expect(try run(1).status == 0)
    #expect(try String(contentsOfFile: folder.file("TodoMigration.swift"), encoding: .utf8).contains("QuietEntries"))
    let last = try run(2)
    #expect(last.status == 0, "\(last.diagnostics)")
    // The page leaves out what is proved.
    for line in page.texts[1].split(separator: "\n") { #expect(last.output.contains(line + "\n"), "\(last.output)") }
    let code = todo.appending(path: "Sources/TodoMigration.swift")
    #expect(try page.swift[0] + "\n" == String(contentsOf: code, encoding: .utf8))
  }

  @Test func `what fails leaves what the page says, and the page's commands go on from there`() throws {
    let folder = try GettingStartedTests.folder()
    let page = try Page("RunningNightly")
    // `RunningNightlyPageTests` runs the blocks of the nights, which come first.
    try #require(page.scripts.count == 3 && page.texts.count == 7)
    let (scripts, texts) = (Array(page.scripts.dropFirst()), Array(page.texts.dropFirst(3)))
    func run(_ script: String) throws -> BuiltCommand.Result { try GettingStartedTests.run(script, in: folder) }
    // The hook kills the first run between its two steps.
    try Self.write(
      """
      godwit: 1
      source: people.sqlite
      destination: people-migrated.sqlite
      models: Peoplizer.xcdatamodeld
      stages:
        - step: Peoplizer 5
          before: test -e killed || { touch killed; kill -9 $PPID; }
      """, to: folder.file("job.yaml"))
    #expect(try run("godwit run job.yaml --quiet").status == 137)
    let shown = "process 4711 on 'mail', since 2026-11-23T01:30:00Z"
    #expect(texts[0].contains(shown))
    let stands = try run(scripts[0]).output.replacing(/process [0-9]+ on '[^']*', since [0-9TZ:-]+/, with: shown)
    #expect(stands == texts[0] + "\n")
    let early = try run("godwit verify job.yaml")
    #expect(early.status == 66)
    #expect(early.diagnostics == texts[1] + "\n")
    let store = try StoreConnection(path: folder.file("people.sqlite"))
    try store.execute("UPDATE ZPERSON SET ZNAME = 'other' WHERE Z_PK = 1")
    try store.close()
    let changed = try run("godwit run job.yaml --quiet")
    #expect(changed.status == 73)
    #expect(changed.diagnostics == texts[2] + "\n")
    #expect(try run(scripts[1]).status == 0)
    #expect(!FileManager.default.fileExists(atPath: folder.file("people-migrated.sqlite.godwit")))
    try FileManager.default.copyItem(atPath: folder.file("people.sqlite"), toPath: folder.file("bad.sqlite"))
    let bad = try StoreConnection(path: folder.file("bad.sqlite"))
    try bad.execute("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK = 70")
    try bad.close()
    let wrong = try run("godwit run job.yaml --quiet --source bad.sqlite --destination bad-migrated.sqlite")
    #expect(wrong.status == 65)
    // The message of the third night, under the line of the script.
    #expect("bad: status 65\n" + wrong.diagnostics == page.texts[1] + "\n")
    let foreign = folder.file("people-migrated.sqlite.godwit")
    try FileManager.default.createDirectory(atPath: foreign, withIntermediateDirectories: false)
    try Self.write("mine", to: foreign + "/notes.txt")
    let blocked = try run("godwit run job.yaml --quiet")
    #expect(blocked.status == 73)
    #expect(blocked.diagnostics == texts[3] + "\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: foreign) == ["notes.txt"])
  }

  @Test func `models of SwiftData stores are extracted and compared as the page says`() throws {
    let folder = try TemporaryFolder("godwit-page")
    let page = try Page("SwiftData")
    // The last one is in EncodedValueCommandTests.
    try #require(page.scripts.count == 4)
    @discardableResult func make(_ name: String, _ elements: [String]) throws -> ManagedObjectModel {
      var archive = ArchiveFixture()
      let leaves = elements.map { archive.attribute($0, .string).1 }
      let author = archive.object(
        "NSCompositeAttributeDescription",
        [
          "NSPropertyName": archive.string("author"), "NSAttributeType": .integer(2100),
          "NSCompositeElements": archive.array(leaves),
        ])
      let entity = archive.entity("Recipe", [archive.attribute("id", .uuid), ("author", author)])
      let bytes = archive.model([entity])
      let model = try ManagedObjectModel(compiled: bytes, name: "App")
      let store = try EmptyStore.create(
        at: folder.file(name), schema: StoreSchema(model: model), metadata: StoreMetadata(model: model))
      try store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
      try store.execute("INSERT INTO Z_MODELCACHE VALUES (?1)", [.blob(bytes.deflated)])
      try store.close()
      return model
    }
    let shipped = try make("store-1.0.sqlite", ["name"])
    try make("store-1.1.sqlite", ["name", "place"])
    try make("default.store", ["name", "town"])
    let kept = try GettingStartedTests.run(page.scripts[2], in: folder)
    #expect(kept.status == 0, "\(kept.diagnostics)")
    #expect(kept.output.contains("author.place"), "\(kept.output)")
    let compared = try GettingStartedTests.run(page.scripts[0], in: folder)
    #expect(compared.status == 2, "\(compared.diagnostics)")
    #expect((compared.output + compared.diagnostics).contains("Recipe.author.town"), "\(compared)")
    let hash = Data(try #require(shipped.versionHashes["Recipe"]).bytes).base64EncodedString()
    try Self.write("NSStoreModelVersionHashes = { Recipe = \(hash); };", to: folder.file("crash.txt"))
    let told = try GettingStartedTests.run(page.scripts[1], in: folder)
    #expect(told.status == 2 && told.output.contains("fits      'App 1'"), "\(told)")
  }

  @Test func `the checks of the page about lint and tests pass, and an edited version fails`() throws {
    let folder = try TemporaryFolder("godwit-page")
    let jobs = Checkout.url("jobs/peoplizer")
    // Two versions are enough, and quick.
    for name in ["Peoplizer.xcdatamodeld", "V4toV5.mapping.yaml"] {
      try FileManager.default.copyItem(atPath: jobs.appending(path: name).path, toPath: folder.file(name))
    }
    for version in ["Peoplizer", "Peoplizer 2", "Peoplizer 3"] {
      try FileManager.default.removeItem(atPath: folder.file("Peoplizer.xcdatamodeld/\(version).xcdatamodel"))
    }
    try FileManager.default.createDirectory(atPath: folder.file("Stores"), withIntermediateDirectories: false)
    for copy in ["Stores/people-4.sqlite", "people.sqlite"] {
      try FileManager.default.copyItem(
        atPath: jobs.appending(path: "stores/people-4.sqlite").path, toPath: folder.file(copy))
    }
    #expect(try GettingStartedTests.run("godwit init people.sqlite Peoplizer.xcdatamodeld", in: folder).status == 0)
    let page = try Page("Lint")
    try #require(page.scripts.count == 5 && page.texts.count == 1)
    let scripts = Checkout.url("jobs/ci").path
    for script in page.scripts {
      let result = try GettingStartedTests.run("PATH='\(scripts)':\"$PATH\"\n" + script, in: folder)
      #expect(result.status == 0, "\(script): \(result.output)\(result.diagnostics)")
    }
    let edited = folder.file("Peoplizer.xcdatamodeld/Peoplizer 4.xcdatamodel/contents")
    let contents = try String(contentsOfFile: edited, encoding: .utf8)
    try contents.replacing("attributeType=\"Integer 16\"", with: "attributeType=\"Integer 32\"")
      .write(toFile: edited, atomically: true, encoding: .utf8)
    let lint = try GettingStartedTests.run("godwit lint .", in: folder)
    #expect(lint.status == 4)
    #expect(lint.output.contains(page.texts[0] + "\n"), "\(lint.output)")
  }

  @Test(.enabled(if: TypeChecker.isAvailable))
  func `the code of the page about the library compiles, and its packages name products`() throws {
    let folder = try TemporaryFolder("godwit-page")
    let page = try Page("UsingTheLibrary")
    try #require(page.swift.count == 3)
    for code in [page.swift[0], page.swift[2]] {
      try Self.write(code, to: folder.file("main.swift"))
      #expect(try TypeChecker.errors(in: folder.file("main.swift")) == nil)
    }
    let policies = try Page("Policies")
    try #require(policies.swift.count == 3)
    let test = Checkout.url("jobs/todo/Tests/QuietEntriesTests.swift")
    #expect(try policies.swift[2] + "\n" == String(contentsOf: test, encoding: .utf8))
    let package = try Checkout.text("Package.swift")
    for (manifest, count) in [(page.swift[1], 1), (policies.swift[1], 3)] {
      let products = manifest.components(separatedBy: ".product(name: ").dropFirst()
        .map { String($0.prefix { $0 != "," }) }
      #expect(products.count == count)
      for product in products { #expect(package.contains("name: \(product)"), "\(product)") }
    }
  }

  /// The pictures that a page uses: the texts in their places, and their paths.
  private static func pictures(of page: DocumentationPage) -> [(text: String, path: String)] {
    page.text.components(separatedBy: "![").dropFirst().compactMap { part in
      let pieces = part.components(separatedBy: "](")
      return pieces.count > 1 ? (pieces[0], String(pieces[1].prefix { $0 != ")" })) : nil
    }
  }

  @Test func `every picture is used by a page, has a text in its place, and reads in light and dark`() throws {
    let catalog = Checkout.url("Sources/Godwit/Godwit.docc")
    let drawn = try FileManager.default.contentsOfDirectory(atPath: catalog.path).filter { $0.hasSuffix(".svg") }
    var used: Set<String> = []
    for page in try DocumentationPage.all() {
      let folder = Checkout.url(page.path).deletingLastPathComponent()
      for picture in Self.pictures(of: page) {
        #expect(picture.text.count > 20, "\(page.path): \(picture.text)")
        // Code hosts follow the path. DocC takes a bare name, so pictures lie beside the pages.
        let file = folder.appending(path: picture.path)
        #expect(FileManager.default.fileExists(atPath: file.path), "\(page.path): \(picture.path)")
        let isInCatalog = page.path.hasPrefix("Sources/")
        #expect(!isInCatalog || !picture.path.contains("/"), "\(page.path): \(picture.path)")
        if isInCatalog { used.insert(picture.path) }
      }
    }
    #expect(Set(drawn) == used)
    for name in drawn {
      let text = try String(contentsOf: catalog.appending(path: name), encoding: .utf8)
      #expect(text.contains("prefers-color-scheme: dark") && text.contains("<title "), "\(name)")
    }
  }
}
