import Foundation
import GodwitLint
import GodwitModel
import TestSupport
import Testing

struct `Printing findings` {
  private typealias P = LintProject

  /// A project in a folder with odd characters, with an error, a warning and an accepted warning.
  private func project() throws -> LintProject {
    var project = try LintProject()
    try project.version(
      "App", of: "My, 100%: App", P.person(P.attribute("name"), P.attribute("zodiac"), P.attribute("hat")))
    try project.version("App 2", of: "My, 100%: App", P.person(P.attribute("name", "String", "")))
    try project.current("App 2", of: "My, 100%: App")
    try project.write(
      P.lockName,
      """
      {"schemaVersion": 1, "bundles": {"My, 100%: App.xcdatamodeld": {"accepted": ["GW201:Person.hat:App->App 2"]}}}
      """)
    return project
  }

  private static let file = "My, 100%: App.xcdatamodeld/App 2.xcdatamodel/contents"

  private func object(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  @Test func `text has one block for each finding, with what to do and what to accept`() throws {
    let report = try project().report()
    let blocks = report.text().components(separatedBy: "\n")
    #expect(blocks.contains { $0.hasPrefix("\(Self.file):4: error: GW205 ") })
    #expect(blocks.contains { $0.hasPrefix("\(Self.file):3: warning: GW201 ") })
    #expect(blocks.contains("  accept  GW201:Person.zodiac:App→App 2"))
    #expect(blocks.contains { $0.hasPrefix("  see     My, 100%: App.xcdatamodeld/App.xcdatamodel/contents:5, ") })
    #expect(!report.text().contains("Person.hat"))
    #expect(report.text(showsAll: true).contains("Person.hat"))
    #expect(
      report.text().hasSuffix(
        "2 errors, 1 warning, 2 notes in 2 versions of 1 model; 1 accepted (`--all` lists them)\n"))
    for line in blocks where !line.isEmpty && !line.hasPrefix(" ") && line != blocks.dropLast().last {
      #expect(line.wholeMatch(of: /.+?(:\d+)?: (error|warning|note): GW\d{3} .+/) != nil, "\(line)")
    }
  }

  @Test func `a remedy that several findings share is printed once`() throws {
    var project = try LintProject()
    try project.version(
      "App", of: "App", P.person(P.attribute("name"), P.attribute("zodiac"), P.attribute("hat"), P.attribute("tie")))
    try project.version("App 2", of: "App", P.person(P.attribute("name")))
    try project.current("App 2", of: "App")
    let report = try project.report()
    let lines = report.text().split(separator: "\n").map(String.init)
    #expect(lines.count { $0.contains(": warning: GW201 ") } == 3 && lines.count { $0.hasPrefix("  accept ") } == 3)
    let remedies = lines.filter { $0.hasPrefix("  try ") }
    #expect(!remedies.isEmpty && Set(remedies).count == remedies.count, "\(remedies)")
    #expect(Set(remedies) == Set(report.open.map { "  try     \($0.remedy)" }))
  }

  @Test func `the hint says how many findings a lock file would hide, and it hides them`() throws {
    var project = try LintProject()
    try project.version("App", of: "App", P.person(P.attribute("name"), P.attribute("zodiac"), P.attribute("hat")))
    try project.version("App 2", of: "App", P.person(P.attribute("name")))
    try project.current("App 2", of: "App")
    let before = try project.report()
    try project.lock()
    let after = try project.report()
    let hidden = before.open.count - after.open.count
    #expect(hidden == after.count(.shipped) && hidden > 1)
    #expect(before.lockHint.hasSuffix("; it would hide \(hidden) findings about steps between them\n"))
    #expect(!after.lockHint.contains("hide"))
  }

  @Test func `workflow commands are escaped, and hold the open findings alone`() throws {
    let lines = try project().report().github().split(separator: "\n")
    let file = "My%2C 100%25%3A App.xcdatamodeld/App 2.xcdatamodel/contents"
    #expect(lines.count == 5)
    #expect(lines.contains { $0.hasPrefix("::error file=\(file),line=4,title=GW205 optional-to-required::") })
    #expect(lines.contains { $0.hasPrefix("::warning file=\(file),line=3,title=GW201 attribute-dropped::") })
    #expect(lines.contains { $0.hasPrefix("::notice ") })
    #expect(lines.allSatisfy { $0.contains("%0Atry: ") && $0.contains("%0Akey: GW") })
  }

  @Test func `SARIF has the shape that code scanning takes`() throws {
    let report = try project().report()
    let root = try object(try report.sarif(version: "0.1.0", showsAll: true))
    #expect(root["version"] as? String == "2.1.0")
    #expect((root["$schema"] as? String)?.hasSuffix("/sarif-schema-2.1.0.json") == true)
    let run = try #require((root["runs"] as? [[String: Any]])?.first)
    let driver = try #require((run["tool"] as? [String: Any])?["driver"] as? [String: Any])
    #expect(driver["name"] as? String == "godwit" && driver["semanticVersion"] as? String == "0.1.0")
    let rules = try #require(driver["rules"] as? [[String: Any]])
    #expect(rules.compactMap { $0["id"] as? String } == LintRule.allCases.map(\.code))
    for rule in rules {
      for key in ["shortDescription", "fullDescription", "help"] {
        let text = (rule[key] as? [String: Any])?["text"] as? String
        #expect(text?.isEmpty == false)
      }
      let level = (rule["defaultConfiguration"] as? [String: Any])?["level"] as? String
      #expect(["error", "warning", "note"].contains(level))
    }
    let results = try #require(run["results"] as? [[String: Any]])
    #expect(results.count == report.findings.count)
    // Without accepted ones, there are as many as in the text.
    let open = try JSONValue(parsing: report.sarif(version: "0.1.0", showsAll: false))["runs"]?[0]?["results"]?.array
    #expect(open?.count == report.findings.count { $0.state == .open })
    #expect(open?.contains { $0["suppressions"]?.array?.isEmpty == false } == false)
    for (result, finding) in zip(results, report.findings) {
      #expect(result["ruleId"] as? String == finding.rule.code)
      let index = try #require(result["ruleIndex"] as? Int)
      #expect(rules[index]["id"] as? String == finding.rule.code)
      #expect(result["level"] as? String == finding.severity.rawValue)
      #expect((result["message"] as? [String: Any])?["text"] is String)
      #expect((result["suppressions"] as? [Any])?.count == (finding.state == .open ? 0 : 1))
      let place = try #require(
        ((result["locations"] as? [[String: Any]])?.first)?["physicalLocation"] as? [String: Any])
      let artifact = try #require(place["artifactLocation"] as? [String: Any])
      let uri = try #require(artifact["uri"] as? String)
      #expect(artifact["uriBaseId"] as? String == "%SRCROOT%")
      #expect(uri.removingPercentEncoding == finding.location.file && !uri.contains(" ") && !uri.contains(":"))
      #expect((place["region"] as? [String: Any])?["startLine"] as? Int == finding.location.line)
    }
    let prints = results.compactMap { ($0["partialFingerprints"] as? [String: String])?["godwitFinding/v1"] }
    #expect(Set(prints).count == results.count)
  }

  /// The requirements of OASIS's schema for SARIF 2.1.0 on the printed parts, and the standard's rule that only a
  /// relative URI has a base.
  @Test(arguments: [false, true])
  func `SARIF keeps the rules of the standard, for files in the folder and outside of it`(isOutside: Bool) throws {
    let project = try project()
    let report =
      isOutside
      ? try Linter(
        [project.folder.file("My, 100%: App.xcdatamodeld")], lock: project.folder.file(P.lockName),
        mayLockBeMissing: false, workingFolder: "/nonexistent"
      ).report() : try project.report()
    let root = try JSONValue(parsing: try report.sarif(version: "0.1.0", showsAll: true))
    #expect(root.object?.keys.sorted() == ["$schema", "runs", "version"])
    let run = try #require(root["runs"]?[0])
    #expect(run["columnKind"] == .string("utf16CodeUnits"))
    let rules = try #require(run["tool"]?["driver"]?["rules"]?.array)
    #expect(Set(rules).count == rules.count)
    for result in try #require(run["results"]?.array) {
      #expect(["none", "note", "warning", "error"].contains(result["level"]?.string))
      #expect(result["message"]?["text"]?.string?.isEmpty == false)
      #expect(result["partialFingerprints"]?.object?.values.allSatisfy { $0.string != nil } == true)
      for suppression in result["suppressions"]?.array ?? [] {
        #expect(suppression["kind"] == .string("external") && suppression["justification"]?.string != nil)
      }
      let related = result["relatedLocations"]?.array ?? []
      #expect(Set(related).count == related.count)
      #expect(Set(related.compactMap { $0["id"]?.integer }).count == related.count)
      for location in (result["locations"]?.array ?? []) + related {
        let place = try #require(location["physicalLocation"])
        let artifact = try #require(place["artifactLocation"])
        let uri = try #require(artifact["uri"]?.string)
        #expect(uri.range(of: "^[A-Za-z0-9._~!$&'()*+,;=:@/%-]+$", options: .regularExpression) != nil, "\(uri)")
        #expect(uri.replacing(/%[0-9A-F]{2}/, with: "").contains("%") == false, "\(uri)")
        #expect(uri.hasPrefix("file:///") == isOutside && !uri.contains("/../"), "\(uri)")
        #expect(artifact["uriBaseId"] == (isOutside ? nil : .string("%SRCROOT%")))
        if let region = place["region"] {
          #expect(region.object?.keys.sorted() == ["startLine"] && region["startLine"]?.integer ?? 0 >= 1)
        }
      }
    }
  }

  @Test func `a file name with control characters and combining marks cannot start a workflow command`() throws {
    var project = try LintProject()
    let bundle = "A\r\n::error::x,\u{301}%\u{301}"
    try project.version("App", of: bundle, P.person(P.attribute("name")))
    try project.version("App 2", of: bundle, P.person(P.attribute("title")))
    try project.current("App 2", of: bundle)
    let text = try project.report().github()
    let escaped = "file=A%0D%0A%3A%3Aerror%3A%3Ax%2C\u{301}%25\u{301}.xcdatamodeld"
    #expect(!text.isEmpty && text.unicodeScalars.allSatisfy { $0 != "\r" })
    for line in text.unicodeScalars.split(separator: "\n") {
      #expect(String(String.UnicodeScalarView(line)).contains(escaped))
    }
  }

  @Test func `JSON has every finding, with its state`() throws {
    let report = try project().report()
    let root = try object(try report.json())
    #expect(root["schemaVersion"] as? Int == 1 && root["lock"] as? String == P.lockName)
    let findings = try #require(root["findings"] as? [[String: Any]])
    #expect(findings.compactMap { $0["key"] as? String } == report.findings.map(\.key))
    #expect(findings.contains { $0["state"] as? String == "accepted" })
    #expect(root["counts"] as? [String: Int] == ["errors": 2, "warnings": 1, "notes": 2, "accepted": 1, "shipped": 0])
  }
}
