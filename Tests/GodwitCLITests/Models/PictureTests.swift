import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI

/// Mappings and differences of models as pictures and pages.
struct PictureTests {
  private static let golden = Checkout.url("Tests/GodwitCLITests/Golden")
  private static let isRecording = ProcessInfo.processInfo.environment["GODWIT_RECORD"] != nil

  private static func plan(_ job: String, _ options: String...) throws -> String {
    let folder = try TemporaryFolder()
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let arguments = ["plan", PeoplizerStores.file(job), "--destination", folder.file("out.sqlite")] + options
    #expect(GodwitCommand.run(arguments: arguments, in: session) == 0, "\(session.diagnostics.text)")
    return session.output.text
  }

  @Test(arguments: [("v3-to-v4.yaml", "dot"), ("v3-to-v4.yaml", "mermaid"), ("v4-to-v5.yaml", "mermaid")])
  func `the mappings of Peoplizer are drawn as in the file`(job: String, format: String) throws {
    let name = "peoplizer-\(job.replacing(".yaml", with: "")).\(format == "dot" ? "dot" : "mmd")"
    let text = try Self.plan(job, "--format", format)
    let file = Self.golden.appending(path: name)
    if Self.isRecording { try Data(text.utf8).write(to: file) }
    #expect(try text == String(contentsOf: file, encoding: .utf8))
  }

  @Test func `several steps are columns of one picture`() throws {
    let text = try Self.plan("v1-to-v5.yaml", "--format", "dot")
    for column in 0...4 { #expect(text.contains("subgraph cluster_v\(column) {")) }
    // Person of version 3 is a destination and a source, and one box.
    #expect(
      text.components(separatedBy: "[label=\"Person\"").count + text.components(separatedBy: "[label=\"Person\\l").count
        - 2 == 3)
  }

  // MARK: Names that mean something else

  private static let hostile = "a\"b\\N <script>&lt;#quot;%%{x}%%`;\u{1B}[2J\u{202E}<\u{338}b\nc"

  private static var comparison: ModelComparison {
    get throws {
      func model(_ name: String, _ attribute: String) throws -> ManagedObjectModel {
        try ManagedObjectModel(
          name: name,
          entities: [
            EntityDescription(
              name: "Note",
              attributes: [
                AttributeDescription.make(attribute, default: .init(hostile))
              ]), EntityDescription(name: name, attributes: []),
          ])
      }
      return ModelComparison(from: try model(hostile, "x"), to: try model(hostile + "2", "y"))
    }
  }

  @Test func `no name gets out of its place in HTML`() throws {
    let page = try Self.comparison.html
    let tags = page.components(separatedBy: "<").dropFirst().map { $0.prefix { $0 != ">" } }
    for tag in tags {
      #expect(tag.first.map { $0 == "/" || $0 == "!" || $0.isLetter } == true, "\(tag)")
      #expect(!tag.hasPrefix("script"), "\(tag)")
    }
    #expect(!page.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
    #expect(page.unicodeScalars.count { $0 == "<" } == page.unicodeScalars.count { $0 == ">" })
    #expect(page.contains("a&quot;b\\N &lt;script&gt;&amp;lt;#quot;%%{x}%%`;\\u001B[2J\\u202E&lt;\u{338}b\\nc"))
  }

  @Test func `the page has no script and loads nothing, and has a dark side`() throws {
    let page = try Self.comparison.html
    for word in ["<script", "http://", "https://", "src=", "@import", "url(", "onload"] where word != "<script" {
      #expect(!page.contains(word), "\(word)")
    }
    #expect(!page.contains("<script>"))
    #expect(page.contains("@media (prefers-color-scheme: dark)"))
    #expect(page.contains("default-src 'none'"))
    #expect(page.hasPrefix("<!DOCTYPE html>\n") && page.hasSuffix("</html>\n"))
  }

  @Test func `text in a flowchart of Mermaid is letters, digits, plain punctuation and character entities`() throws {
    let text = MermaidText.quoted([Self.hostile])
    #expect(
      text
        == "\"a#34;b#92;N #60;script#62;#38;lt#59;#35;quot#59;#37;#37;#123;x#125;#37;#37;#96;#59;#92;u001B#91;2J#92;u202E#60;\u{338}b#92;nc\""
    )
    #expect(MermaidText.quoted(["- a", "1. b", "v1.9", " c-d"]) == "\"#45; a<br/>1#46; b<br/>v1.9<br/>#32;c-d\"")
    let diagram = try Self.comparison.mermaid
    for line in diagram.split(separator: "\n") where !line.contains("classDef") {
      let unquoted = line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 0 }.map(\.element).joined()
      #expect(unquoted.unicodeScalars.allSatisfy { $0.isASCII }, "\(line)")
      #expect(line.count { $0 == "\"" } % 2 == 0, "\(line)")
    }
  }

  @Test func `text in a graph of Graphviz is one quoted string`() {
    #expect(
      MappingPicture.dotText([Self.hostile])
        == "\"a\\\"b\\\\N <script>&amp;lt;#quot;%%{x}%%`;\\\\u001B[2J\\\\u202E<\u{338}b\\\\nc\"")
    #expect(MappingPicture.dotText(["a", "b"]) == "\"a\\lb\\l\"")
  }

  private static let dot: String? = ["/usr/bin/dot", "/usr/local/bin/dot"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test(.enabled(if: dot != nil, "Graphviz is not installed: its `dot` is not asked"))
  func `Graphviz draws the mapping, names that mean something else included`() throws {
    let project = ProjectFixture()
    let model = try ManagedObjectModel(
      name: "Notes",
      entities: [
        EntityDescription(name: "Note", attributes: [AttributeDescription(name: "text", type: .string)])
      ])
    try project.bundle("Notes.xcdatamodeld", [model])
    try project.store("notes.sqlite", model) { try $0.insert("Note", key: 1, attributes: ["text": .init("t")]) }
    try project.write(
      "a.mapping.yaml",
      """
      godwit-mapping: 1
      entity-mappings:
        - name: "a\\"b\\\\N <i>&lt;\\u001b"
          source: Note
          destination: Note
          filter: text != '\\"<'
          attributes: {text: $source.text}

      """)
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: Notes.xcdatamodeld\nmappings: a.mapping.yaml\n"
    )
    let plan = project.godwit("plan", "--format", "dot", try project.path("job.yaml"))
    #expect(plan.status == 0, "\(plan.diagnostics)")
    try project.write("plan.dot", plan.output)
    let process = Process()
    process.executableURL = URL(filePath: try #require(Self.dot))
    process.arguments = ["-Tsvg", try project.path("plan.dot"), "-o", try project.path("plan.svg")]
    let errors = Pipe()
    process.standardError = errors
    try process.start()
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.wait()
    #expect(process.terminationStatus == 0 && said.isEmpty, "\(said)")
    let drawn = try String(contentsOfFile: project.path("plan.svg"), encoding: .utf8)
    #expect(drawn.contains("a&quot;b\\N &lt;i&gt;&amp;lt;\\u001B"), "\(drawn)")
  }

  // MARK: Differences of models

  @Test func `a difference of models is drawn with what is added, removed and renamed`() throws {
    let bundle = PeoplizerStores.file("Peoplizer.xcdatamodeld")
    func diff(_ format: String) -> String {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let arguments = ["model", "diff", bundle + "#Peoplizer 3", bundle + "#Peoplizer 4", "--format", format]
      #expect(GodwitCommand.run(arguments: arguments, in: session) == 0, "\(session.diagnostics.text)")
      return session.output.text
    }
    let flowchart = diff("mermaid")
    for line in [
      "flowchart LR", "subgraph earlier[\"Peoplizer 3\"]", "subgraph later[\"Peoplizer 4\"]",
      "(\"Adult<br/>added\"):::added",
      "(\"Person<br/>abstract no to yes\"):::kept",
    ] { #expect(flowchart.contains(line), "\(line)\n\(flowchart)") }
    let page = diff("html")
    #expect(page.contains("<h1>Peoplizer 3 <span class=\"to\">to</span> Peoplizer 4</h1>"))
    #expect(page.contains("<h2>Adult <span class=\"badge added\">+ added</span></h2>"), "\(page)")
    #expect(diff("json").hasPrefix("{") && diff("text").hasPrefix("'Peoplizer 3' to 'Peoplizer 4'"))
  }
}
