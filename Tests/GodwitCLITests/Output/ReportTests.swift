import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

/// The page of a job, in each of its states.
struct ReportTests {
  /// A page, read by a parser of XML that knows nothing of how it was written.
  struct Page {
    let text: String
    let root: MarkupElement

    init(_ text: String) throws {
      self.text = text
      root = try MarkupReader.read(Array(text.utf8), file: "report.html")
    }

    func all(_ name: String, in element: MarkupElement? = nil) -> [MarkupElement] {
      (element ?? root).children.flatMap { ($0.name == name ? [$0] : []) + all(name, in: $0) }
    }

    /// The section with a heading.
    func section(_ title: String) -> MarkupElement? {
      all("section").first { $0.children(named: "h2").first?.text == title }
    }

    /// All text inside an element.
    static func words(_ element: MarkupElement) -> String {
      // The reader puts the text of an element before its children.
      element.text + element.children.map { " " + words($0) }.joined()
    }

    func words(_ title: String) -> String { section(title).map(Self.words) ?? "" }

    /// The tiles: class, title, figure, remark.
    var tiles: [[String]] {
      all("div").filter { $0["class"]?.hasPrefix("tile ") == true }.map { tile in
        [tile["class"]?.dropFirst(5).description ?? ""] + tile.children.map(Self.words)
      }
    }

    /// The cells of the rows of a table, by its label.
    func rows(_ label: String) -> [[String]] {
      guard let region = all("div").first(where: { $0["aria-label"]?.hasPrefix(label) == true }) else { return [] }
      return all("tr", in: region).dropFirst().map { row in
        row.children.map { Self.words($0).trimmingCharacters(in: .whitespaces) }
      }
    }
  }

  private static func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  private static func page(_ arguments: String...) throws -> Page {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: ["report", "-o", "-"] + arguments, in: session)
    #expect(status == 0, "\(session.diagnostics.text)")
    return try Page(session.output.text)
  }

  private static func job(_ name: String, _ folder: TemporaryFolder) -> (manifest: String, destination: String) {
    (PeoplizerStores.file(name), folder.file("out.sqlite"))
  }

  /// Checks the rules of every page.
  static func check(_ page: Page) {
    for word in ["http:", "https:", "src=", "href=", "@import", "url(", "<script", "javascript:"] {
      #expect(!page.text.contains(word), "\(word)")
    }
    // A reader who does not see a picture hears a description, and has a table.
    for picture in page.all("div") where picture["role"] == "img" {
      #expect(picture["aria-label"]?.contains("the table has the figures") == true)
    }
    for drawing in page.all("svg") { #expect(drawing["aria-hidden"] == "true") }
    for table in page.all("table") {
      #expect(!page.all("thead", in: table).isEmpty && page.all("th", in: table).allSatisfy { $0["scope"] != nil })
    }
    for element in page.all("p") + page.all("div") {
      #expect(element.attributes.allSatisfy { !$0.name.hasPrefix("on") })
    }
  }

  // MARK: States

  @Test func `before a run the page has the plan, and says that nothing has run`() throws {
    let folder = try TemporaryFolder()
    let job = Self.job("v3-to-v4.yaml", folder)
    let page = try Self.page(job.manifest, "--destination", job.destination)
    Self.check(page)
    #expect(page.text.contains("The job has not run yet."))
    #expect(page.tiles[0] == ["renamed", "Result", "not started", "Plan: OK"], "\(page.tiles)")
    #expect(page.tiles[1] == ["added", "Losses", "none"], "\(page.tiles)")
    #expect(page.tiles[2] == ["changed", "Proof", "none", "see Findings"])
    // The tiles come before all other text.
    let order = page.all("main").first?.children.map(\.name)
    #expect(order?.prefix(3) == ["h1", "div", "p"], "\(order ?? [])")
    #expect(page.words("What ran when").contains("The job has not run yet."))
    let rows = page.rows("Mappings of step 1")
    #expect(rows.contains { $0.prefix(3) == ["Person", "Adult", "PersonToAdult"] }, "\(rows)")
    let store = try StoreConnection.openStore(readingAt: PeoplizerStores.path(version: 3))
    let adults = try store.integer("SELECT COUNT(*) FROM ZPERSON WHERE ZAGE >= 18") ?? 0
    #expect(adults > 10 && rows.first { $0[2] == "PersonToAdult" }?[3] == "\(adults)")
    #expect(page.section("The receipt") == nil && page.section("Progress") == nil)
    #expect(page.words("The path").contains("Peoplizer 3"))
    #expect(page.text.contains("PersonToAdult") && page.words("What was asked").contains("mappings"))
    #expect(!FileManager.default.fileExists(atPath: job.destination + ".godwit"))
  }

  @Test func `after a run the page has what the receipt has`() throws {
    let folder = try TemporaryFolder()
    let job = Self.job("v1-to-v5.yaml", folder)
    #expect(Self.run("run", "--quiet", job.manifest, "--destination", job.destination).status == 0)
    let page = try Self.page(job.manifest, "--destination", job.destination)
    Self.check(page)
    let receipt = try Receipt.read(job.destination + Receipt.suffix)
    for (index, step) in receipt.steps.enumerated() {
      let rows = page.rows("Mappings of step \(index + 1)")
      for mapping in step.mappings where !mapping.destination.isEmpty {
        let row = try #require(rows.first { $0[2] == mapping.name })
        #expect(
          row[0...4] == [mapping.source, mapping.destination, mapping.name, "\(mapping.taken)", "\(mapping.made)"])
      }
      for dropped in step.dropped {
        #expect(rows.contains { $0[0] == dropped.entity && $0[1].hasPrefix("lost: ") && $0[3] == "\(dropped.objects)" })
      }
    }
    let entities = page.rows("Entities").map { "\($0[0]) \($0[1]) \($0[2])" }
    #expect(entities == receipt.entities.map { "\($0.name) \($0.objects) \($0.checksum)" })
    let history = try #require(receipt.history)
    let chunks = page.rows("Neighbouring chunks").compactMap { Int($0[4]) }
    #expect(chunks.reduce(0, +) == history.entries.reduce(0) { $0 + $1.chunks } && !chunks.isEmpty)
    #expect(page.rows("Runs").map(\.last) == ["finished"])
    #expect(page.rows("Losses").count == receipt.losses.count)
    #expect(page.text.contains(">finished</span>"))
    let objects = receipt.entities.reduce(0) { $0 + $1.objects }
    #expect(page.tiles[0] == ["added", "Result", "finished", "\(objects) objects"], "\(page.tiles)")
    #expect(page.tiles[1] == ["added", "Losses", "none"], "\(page.tiles)")
    #expect(page.text.contains(" MiB for the program). The band is the program before the run began."))
    // Without the receipt the page says what it does not know.
    try FileManager.default.removeItem(atPath: job.destination + Receipt.suffix)
    let poor = try Self.page(job.manifest, "--destination", job.destination)
    Self.check(poor)
    #expect(poor.words("The receipt").contains("There is no receipt of this job."))
    #expect(poor.words("What ran when").contains("is not known"))
  }

  @Test func `an entity that loses values is not called unchanged`() throws {
    let project = ProjectFixture()
    let (a, b) = (AttributeDescription(name: "a", type: .string), AttributeDescription(name: "b", type: .string))
    let versions = try [("M", [a, b]), ("M 2", [b])].map {
      try ManagedObjectModel(name: $0, entities: [EntityDescription(name: "P", attributes: $1)])
    }
    try project.bundle("M.xcdatamodeld", versions)
    try project.store("s.sqlite", versions[0]) { try $0.insert("P", key: 1, attributes: ["a": .init("x")]) }
    try project.write("job.yaml", "godwit: 1\nsource: s.sqlite\ndestination: d.sqlite\nmodels: M.xcdatamodeld\n")
    #expect(Self.run("run", "--quiet", try project.path("job.yaml")).status == 0)
    let words = try Self.page(project.path("job.yaml")).words("The objects")
    #expect(words.contains("1 entity keeps its name and all objects") && words.contains("lose values"), "\(words)")
    #expect(!words.contains("unchanged"))
  }

  @Test func `of a run that stopped the page has its progress and its history`() throws {
    let folder = try TemporaryFolder()
    let job = Self.job("v1-to-v5.yaml", folder)
    let load = try CommandSession(output: .memory(), diagnostics: .memory()).loader(
      ofManifest: job.manifest, overrides: [.init(key: "destination", text: job.destination, option: "")])
    let control = MigrationControl()
    var updates = 0
    try MigrationManager(try load.job()).run(control: control) { _ in
      updates += 1
      if updates == 9 { control.stop(reason: "test") }
    }
    let page = try Self.page(job.manifest, "--destination", job.destination)
    Self.check(page)
    #expect(page.text.contains("The last run stopped at a checkpoint."))
    #expect(page.rows("Runs").map(\.last) == ["stopped"])
    let chunks = page.rows("What is durable").map { $0[2] }
    #expect(!chunks.isEmpty && chunks.allSatisfy { $0.contains("/") })
    #expect(!page.rows("Mappings of step 1").isEmpty)
  }

  @Test func `the page names a destination of another job`() throws {
    let folder = try TemporaryFolder()
    let job = Self.job("v3-to-v4.yaml", folder)
    try FileManager.default.copyItem(atPath: PeoplizerStores.path(version: 4), toPath: job.destination)
    let page = try Self.page(job.manifest, "--destination", job.destination)
    Self.check(page)
    #expect(page.text.contains("A run ends with status 73."))
  }

  @Test func `findings of verify and audit are shown, and nothing else is taken for them`() throws {
    let folder = try TemporaryFolder()
    let job = Self.job("v3-to-v4.yaml", folder)
    #expect(Self.run("run", "--quiet", job.manifest, "--destination", job.destination).status == 0)
    let store = try StoreConnection(path: job.destination)
    try store.execute("UPDATE ZPERSON SET ZNAME = 'x' WHERE Z_PK = (SELECT MIN(Z_PK) FROM ZPERSON)")
    try store.close()
    let found = Self.run("verify", job.manifest, "--destination", job.destination, "--format", "json")
    #expect(found.status == 4)
    try found.output.write(toFile: folder.file("verify.json"), atomically: true, encoding: .utf8)
    let audit = Self.run("audit", job.manifest, "--destination", job.destination, "--format", "json")
    try audit.output.write(toFile: folder.file("audit.json"), atomically: true, encoding: .utf8)
    let page = try Self.page(
      job.manifest, "--destination", job.destination, "--findings", folder.file("verify.json"), "--findings",
      folder.file("audit.json"))
    Self.check(page)
    #expect(page.tiles[2][0...1] == ["removed", "Proof"] && page.tiles[2][2].contains("difference"), "\(page.tiles)")
    let rows = page.rows("Findings of verify")
    #expect(rows.count >= 1 && rows.contains { $0[1].contains(".name p") }, "\(rows)")
    for (text, status) in [
      ("{}", Int32(65)), (try String(contentsOfFile: job.destination + Receipt.suffix, encoding: .utf8), 65),
    ] {
      try text.write(toFile: folder.file("no.json"), atomically: true, encoding: .utf8)
      #expect(Self.run("report", job.manifest, "-o", "-", "--findings", folder.file("no.json")).status == status)
    }
    #expect(Self.run("report", job.manifest, "-o", "-", "--findings", folder.file("missing.json")).status == 66)
  }

  // MARK: The file

  @Test func `an older report is replaced, and nothing else`() throws {
    let folder = try TemporaryFolder()
    let job = Self.job("v3-to-v4.yaml", folder)
    func report(_ path: String) -> (status: Int32, output: String, diagnostics: String) {
      Self.run("report", job.manifest, "--destination", job.destination, "-o", path)
    }
    let path = folder.file("report.html")
    #expect(report(path).output == "\(path): report of job 'peoplizer-3-to-4', not started\n")
    let first = try String(contentsOfFile: path, encoding: .utf8)
    #expect(Self.run("run", "--quiet", job.manifest, "--destination", job.destination).status == 0)
    #expect(report(path).status == 0)
    let second = try String(contentsOfFile: path, encoding: .utf8)
    #expect(first != second && second.contains(">finished</span>"))
    try "mine".write(toFile: folder.file("notes.html"), atomically: true, encoding: .utf8)
    #expect(report(folder.file("notes.html")).status == 73)
    #expect(try String(contentsOfFile: folder.file("notes.html"), encoding: .utf8) == "mine")
    #expect(report(folder.path).status == 73)
    #expect(report(folder.file("no/report.html")).status == 73)
    for name in ["out.sqlite", "out.sqlite.godwit/report.html", "out.sqlite.receipt.json"] {
      let refused = report(folder.file(name))
      #expect(refused.status == 64 && refused.diagnostics.contains(": it is the job's "), "\(refused)")
    }
    #expect(Self.run("report", job.manifest).status == 64)
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(left == ["notes.html", "out.sqlite", "out.sqlite.receipt.json", "report.html"])
  }

  // MARK: Names that mean something else

  @Test func `no name gets out of its place`() throws {
    let project = ProjectFixture()
    let evil = "<script>alert('x')</script>\" onload=\"y & \u{202E}z \u{1F600} \u{5E9}\u{5DC}\u{5D5}\u{5DD}"
    let long = String(repeating: "Wort", count: 60)
    let model = try ManagedObjectModel(
      name: "A & B",
      entities: [
        EntityDescription(name: "Note", attributes: [AttributeDescription(name: "text", type: .string)]),
        EntityDescription(name: long, attributes: [AttributeDescription(name: "text", type: .string)]),
      ])
    try project.bundle("Notes.xcdatamodeld", [model])
    try project.store("notes.sqlite", model) { store in
      for key in Int64(1)...3 { try store.insert("Note", key: key, attributes: ["text": .init("secret \(key)")]) }
      try store.insert(long, key: 1, attributes: ["text": .init("secret")])
    }
    let quoted = String(decoding: try JSONEncoder().encode(evil), as: UTF8.self)
    try project.write(
      "a.mapping.yaml",
      """
      godwit-mapping: 1
      entity-mappings:
        - name: \(quoted)
          source: Note
          destination: Note
          filter: text != '<b>&"'
          attributes: {text: $source.text}

      """)
    try project.write(
      "job.yaml",
      """
      godwit: 1
      job: "<b>&'job\\u202e"
      source: notes.sqlite
      destination: out.sqlite
      models: Notes.xcdatamodeld
      mappings: a.mapping.yaml
      # </pre><script>alert(2)</script>

      """)
    for state in 0...1 {
      if state == 1 {
        let ran = project.godwit("run", "--quiet", try project.path("job.yaml"))
        #expect(ran.status == 0, "\(ran.diagnostics)")
      }
      let made = project.godwit("report", try project.path("job.yaml"), "-o", "-")
      #expect(made.status == 0, "\(made.diagnostics)")
      let page = try Page(made.output)
      #expect(page.all("script").isEmpty && page.all("b").isEmpty)
      #expect(page.text.contains("&lt;script&gt;alert('x')&lt;/script&gt;&quot; onload=&quot;y &amp; \\u202Ez"))
      #expect(!page.text.unicodeScalars.contains("\u{202E}") && !page.text.contains("secret"))
      #expect(page.rows("Mappings of step 1").contains { $0[2].hasPrefix("<script>alert") && $0[3] == "3" })
      #expect(page.rows("Mappings of step 1").contains { $0[0] == long && $0[1] == "lost: no mapping" })
    }
  }
}
