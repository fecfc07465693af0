import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitManifest

/// Examples of the pages and READMEs that have no suite of their own.
struct DocumentedExampleTests {
  private static func write(_ text: String, to path: String) throws {
    try (text + "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }

  private static func copy(_ source: String, to path: String) throws {
    try FileManager.default.copyItem(atPath: Checkout.url(source).path, toPath: path)
  }

  // MARK: READMEs

  /// A copy of `jobs`, in which `swift run` starts the commands that are built.
  private struct Copy {
    let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder("godwit-readme")
      try copy("jobs", to: folder.file("jobs"))
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.file("jobs")) {
        try? FileManager.default.removeItem(atPath: folder.file("jobs/\(name)/out"))
      }
    }

    func run(_ script: String) throws -> BuiltCommand.Result {
      let todo = try #require(`The to-do list`.executable)
      return try GettingStartedTests.run(
        """
        swift() {
          case "$1 $2" in
          "run godwit") shift 2; "$GODWIT" "$@" ;;
          "run todo-migration") shift 2; '\(todo)' "$@" ;;
          "test ") ;;
          *) return 99 ;;
          esac
        }
        \(script.replacing("apt-get ", with: ": "))
        """, in: folder)
    }
  }

  @Test func `the first commands of the README do what it says`() throws {
    let readme = try DocumentationPage("README.md")
    let checkout = try Copy()
    let script = try #require(readme.blocks("sh").first)
    let result = try checkout.run(script)
    #expect(result.status == 0, "\(result.diagnostics)")
    // The words after the block have two more, and the README shows a line of the run.
    for verb in ["inspect jobs/peoplizer/out/people-4.sqlite", "verify jobs/peoplizer/v3-to-v4.yaml"] {
      try #require(readme.text.contains("`swift run godwit \(verb)`"))
      #expect(try checkout.run("swift run godwit \(verb)").status == 0)
    }
    let shown = try #require(readme.text.split(separator: "\n").first { $0.contains("% step 1/1 pass") })
    func masked(_ line: Substring) -> String {
      line.trimmingCharacters(in: .whitespaces)
        .replacing(#/[0-9]+ rows/s eta [0-9:-]+ rss [0-9]+ MiB [0-9T:-]+Z/#, with: "")
    }
    #expect(result.output.split(separator: "\n").map(masked).contains(masked(shown)), "\(result.output)")
    // CI, CONTRIBUTING and the README name the same packages.
    let packages = try #require(script.firstMatch(of: /install -y (.*?) &&/)).1
    for file in [".ci/run", ".github/CONTRIBUTING.md"] {
      let text = try Checkout.text(file)
      #expect(text.contains(packages), "\(file)")
    }
  }

  @Test(arguments: [
    "jobs/peoplizer/README.md", "jobs/many/README.md", "jobs/recipes/README.md", "jobs/cards/README.md",
    "jobs/playlists/README.md", "jobs/pizzas/README.md",
    "jobs/todo/README.md", "jobs/travel/README.md", "jobs/contacts/README.md",
  ])
  func `the commands of the examples do what their README says`(name: String) throws {
    let checkout = try Copy()
    let page = try DocumentationPage(name)
    for block in page.blocks {
      let script = block.text.replacing(#/(^|\n)godwit /#) { "\($0.1)swift run godwit " }
      let result = try checkout.run(script)
      #expect(result.status == 0, "\(script): \(result.diagnostics)")
    }
    if name.contains("travel") {
      let failing = "swift run godwit run jobs/travel/job.yaml --set on-loss=fail"
      try #require(page.text.contains("`\(failing)`"))
      let result = try checkout.run("rm -r jobs/travel/out && \(failing)")
      #expect(result.status == 65 && result.diagnostics.contains("Stop"), "\(result)")
    }
    if name.contains("peoplizer") {
      #expect(FileManager.default.fileExists(atPath: checkout.folder.file("jobs/peoplizer/out/mine~.sqlite")))
    }
  }

  // MARK: Files

  @Test func `every manifest, mapping file and list of expectations of a page is accepted`() throws {
    let folder = try TemporaryFolder("godwit-page")
    var kinds: [String: Int] = [:]
    var pages: Set<String> = []
    for page in try DocumentationPage.all() {
      for block in page.blocks where block.language == "yaml" && !block.text.hasPrefix(" ") {
        let path = folder.file("\(kinds.values.reduce(0, +)).yaml")
        let first = block.text.split(separator: "\n").first { !$0.hasPrefix("#") } ?? ""
        let kind = String(first.prefix { $0 != ":" })
        kinds[kind, default: 0] += 1
        pages.insert(URL(filePath: page.path).deletingPathExtension().lastPathComponent)
        let header = "godwit: 1\nsource: a.sqlite\ndestination: b.sqlite\nmodels: A.xcdatamodeld\n"
        let isPart = ["stages", "on-loss"].contains(kind)
        try Self.write(isPart ? header + block.text : block.text, to: path)
        switch kind {
        case "godwit", "stages", "on-loss": _ = try JobManifest(contentsOf: path)
        case "godwit-mapping": _ = try MappingModel(contentsOfYAML: path)
        case "expect": _ = try StoreExpectations(contentsOf: path)
        case "apiVersion": _ = try YAMLFile(contentsOf: path, what: "file")
        default: Issue.record("\(page.path):\(block.line): an unknown kind of YAML, '\(kind)'")
        }
      }
    }
    let known = ["Expressions", "InPlace", "Lint", "Manifest", "ManyStores", "SwiftData"]
    #expect(pages.isSuperset(of: known), "\(pages)")
  }

  @Test func `every option --set of a page is accepted`() throws {
    let folder = try TemporaryFolder("godwit-page")
    let path = folder.file("job.yaml")
    try Self.write("godwit: 1\nsource: a.sqlite\ndestination: b.sqlite\nmodels: A.xcdatamodeld", to: path)
    var count = 0
    for page in try DocumentationPage.all() {
      for match in page.text.matches(of: /--set ('[^']+'|[a-z][^ `']*)/) {
        let pair = match.1.trimmingCharacters(in: ["'"]).split(
          separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2 else { continue }
        count += 1
        let setting = ManifestOverride(key: String(pair[0]), value: String(pair[1]))
        do { _ = try JobManifest(contentsOf: path, overrides: [setting]) } catch {
          Issue.record("\(page.path): \(match.0): \(error)")
        }
      }
    }
    #expect(count >= 6)
  }

  @Test func `the manifests of the page about in-place jobs and appending run`() throws {
    let folder = try GettingStartedTests.folder()
    try FileManager.default.removeItem(atPath: folder.file("people.sqlite"))
    try FileManager.default.copyItem(
      atPath: folder.file("stores/people-1.sqlite"), toPath: folder.file("people.sqlite"))
    let manifests = try DocumentationPage("InPlace").blocks("yaml")
    try #require(manifests.count == 3)
    try Self.write(manifests[0], to: folder.file("place.yaml"))
    try Self.copy("Tests/Fixtures/Shop.xcdatamodeld", to: folder.file("Shop.xcdatamodeld"))
    try Self.write(manifests[1], to: folder.file("shop.yaml"))
    try Self.write(manifests[2], to: folder.file("merged.yaml"))
    let result = try GettingStartedTests.run(
      """
      godwit run place.yaml --quiet
      godwit verify place.yaml | tail -n 1
      godwit make-store Shop.xcdatamodeld#Shop shop-berlin.sqlite --rows 40 --seed 1 > made
      godwit make-store Shop.xcdatamodeld#Shop shop-hamburg.sqlite --rows 40 --seed 2 >> made
      godwit mapping infer Shop.xcdatamodeld#Shop Shop.xcdatamodeld -o Shop.mapping.yaml > made
      godwit run shop.yaml --quiet
      godwit run shop.yaml --quiet --source shop-hamburg.sqlite
      godwit verify shop.yaml --source shop-hamburg.sqlite | tail -n 1
      godwit inspect out/shops.sqlite | grep Order
      godwit run merged.yaml --quiet
      godwit verify merged.yaml | tail -n 1
      godwit inspect out/merged-shops.sqlite | grep Order
      """, in: folder)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(
      result.output
        == "no difference found\nno difference found\n    3 Order: 20 rows\nno difference found\n    3 Order: 20 rows\n",
      "\(result.output)")
    #expect(FileManager.default.fileExists(atPath: folder.file("people~.sqlite")))
  }

  // MARK: Expressions

  @Test func `expressions and functions of the pages are of the language`() throws {
    var count = 0
    for page in try DocumentationPage.all() {
      for match in page.text.matches(of: /`([^`\n]*\$source[^`\n]*)`/) {
        let text = String(match.1)
        // A place holder, Swift, YAML, or a path.
        if text.contains("<") || text.contains(" try ") || text.hasPrefix("{") { continue }
        count += 1
        let value = text.replacing(#/^[A-Za-z]+: /#, with: "")
        do { _ = try ValueExpression(value) } catch { Issue.record("\(page.path): \(text): \(error)") }
      }
    }
    #expect(count >= 8)
    let page = try DocumentationPage("Expressions").text
    let fetch = try #require(page.firstMatch(of: #/\n    (FETCH\(.*\n.*\))\n/#)).1
    _ = try ValueExpression(String(fetch))
    let table = try #require(
      page.components(separatedBy: "\n## Functions\n").last?.components(separatedBy: "\n## ").first)
    var functions = 0
    for row in table.split(separator: "\n") where row.hasPrefix("| `") {
      for match in (row.dropFirst().split(separator: "|").first ?? "").matches(of: /`([a-zA-Z:]+)`/) {
        let name = String(match.1)
        let arguments = Array(repeating: "1", count: name.count { $0 == ":" }).joined(separator: ", ")
        functions += 1
        do { _ = try ValueExpression("\(name)(\(arguments))") } catch { Issue.record("\(name): \(error)") }
      }
    }
    #expect(functions >= 38, "\(functions)")
  }

  // MARK: Swift

  @Test(.enabled(if: TypeChecker.isAvailable), arguments: ["README.md", "Policies"])
  func `the Swift code of the page compiles`(name: String) throws {
    let folder = try TemporaryFolder("godwit-page")
    let code = try #require(try DocumentationPage(name).blocks("swift").first)
    let isLibrary = code.contains("@main")
    let path = folder.file(isLibrary ? "Migrate.swift" : "main.swift")
    try Self.write(code, to: path)
    let errors = try isLibrary ? TypeChecker.errors(in: path, "-parse-as-library") : TypeChecker.errors(in: path)
    #expect(errors == nil)
  }

  // MARK: Lint

  /// Three versions of which the last drops an attribute.
  private static func application() throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-page")
    for (version, attributes) in [("App", ["name"]), ("App 2", ["name", "nickname"]), ("App 3", ["age", "name"])] {
      let person = EntityDescription(
        name: "Person", attributes: attributes.map { AttributeDescription(name: $0, type: .string) })
      let path = folder.file("App.xcdatamodeld/\(version).xcdatamodel")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try write(try ManagedObjectModel(name: version, entities: [person]).xcodeContents, to: path + "/contents")
    }
    try write(
      """
      <plist version="1.0"><dict>
      <key>_XCCurrentVersionName</key><string>App 3.xcdatamodel</string>
      </dict></plist>
      """, to: folder.file("App.xcdatamodeld/.xccurrentversion"))
    return folder
  }

  @Test func `the commands of Lint run, and its finding is printed and accepted as it says`() throws {
    let page = try DocumentationPage("Lint")
    let folder = try Self.application()
    let finding = try #require(page.blocks("none").first)
    let found = try GettingStartedTests.run("godwit lint .", in: folder)
    // Lines differ from model to model.
    func masked(_ text: String) -> String { text.replacing(/contents:[0-9]+/, with: "contents:N") }
    #expect(masked(found.output).contains(masked(finding)), "\(found.output)")
    // `DocumentationPageTests` runs the other blocks, which need stores.
    let script = try #require(page.blocks("sh").first)
    #expect(script.split(separator: "\n").count { $0.hasPrefix("godwit lint .") } == 3)
    let result = try GettingStartedTests.run(script, in: folder)
    #expect(result.status == 0, "\(result.diagnostics)")
    let lock = folder.file("models.lock.json")
    let shown = try JSONSerialization.jsonObject(with: Data(try #require(page.blocks("json").first).utf8))
    let bundles = try #require((shown as? [String: Any])?["bundles"] as? [String: [String: Any]])
    let accepted = try #require(bundles["App.xcdatamodeld"]?["accepted"] as? [String])
    #expect(finding.contains("accept  " + (accepted.first ?? "")))
    // The block's key stands where the page says.
    let written = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: lock)))
    var whole = try #require(written as? [String: Any])
    var real = try #require(whole["bundles"] as? [String: [String: Any]])
    #expect(whole["schemaVersion"] as? Int == (shown as? [String: Any])?["schemaVersion"] as? Int)
    let versions = try #require(real["App.xcdatamodeld"]?["versions"] as? [String: [String: Any]])
    #expect(Set(try #require(versions["App"]).keys) == ["checksum", "entities"])
    // Shipped steps are not reported, so the last version is not shipped yet.
    real["App.xcdatamodeld"]?["accepted"] = accepted
    real["App.xcdatamodeld"]?["versions"] = versions.filter { $0.key != "App 3" }
    whole["bundles"] = real
    try JSONSerialization.data(withJSONObject: whole).write(to: URL(filePath: lock))
    let after = try GettingStartedTests.run("godwit lint . --strict", in: folder)
    #expect(after.status == 0 && !after.output.contains("GW201"), "\(after)")
  }
}
