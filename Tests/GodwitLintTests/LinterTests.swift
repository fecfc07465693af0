import Foundation
import GodwitLint
import GodwitModel
import TestSupport
import Testing

struct `Linting a project` {
  @Test(arguments: SeededFault.all)
  func `a seeded fault is found at its file and line, and nothing else is`(fault: SeededFault) throws {
    var project = try LintProject()
    try fault.build(&project)
    let findings = try project.report().findings
    let found = findings.filter { $0.rule == fault.rule }
    #expect(found.count == 1, "\(findings.map(\.key))")
    let finding = try #require(found.first)
    #expect(finding.location.file == fault.file)
    #expect(finding.location.line == (try fault.marker.map { try project.line(of: $0, in: fault.file) }))
    if let key = fault.key { #expect(finding.key == key) }
    #expect(!finding.message.isEmpty && !finding.remedy.isEmpty)
    let others = Set(findings.filter { $0.severity > .note }.map(\.rule)).subtracting(fault.also).subtracting([
      fault.rule
    ])
    #expect(others == [], "\(findings.map(\.key))")
  }

  @Test func `every code has a seeded fault`() {
    #expect(Set(SeededFault.all.map(\.rule)) == Set(LintRule.allCases))
  }

  @Test func `a clean project has no finding`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name"), P.attribute("age", "Integer 16")))
    try project.version("App 2", P.person(P.attribute("name"), P.attribute("age", "Integer 16"), P.attribute("note")))
    try project.version(
      "App 3",
      P.person(
        P.attribute("name"), P.attribute("age", "Integer 16"),
        P.attribute("remark", "String", "optional=\"YES\" elementID=\"note\"")))
    try project.current("App 3")
    #expect(try project.report().findings == [])
    try project.lock()
    #expect(try project.report().findings == [])
    #expect(try project.report().text() == "no findings in 3 versions of 1 model\n")
  }

  @Test(arguments: [
    ("maxCount=\"2\"", "maxCount=\"5\"", false),
    ("minCount=\"3\" maxCount=\"7\"", "minCount=\"2\" maxCount=\"7\"", false),
    ("maxCount=\"5\"", "maxCount=\"2\"", true), ("", "maxCount=\"2\"", true), ("maxCount=\"2\"", "", false),
  ])
  func `a count of a to-many that becomes looser has no finding`(was: String, now: String, isTold: Bool) throws {
    typealias P = LintProject
    func model(_ counts: String) -> String {
      let owner = P.relationship("owner", to: "Person", inverse: "pets", "optional=\"YES\" maxCount=\"1\"")
      return P.person(
        P.relationship("pets", to: "Pet", inverse: "owner", "optional=\"YES\" toMany=\"YES\" " + counts),
        more: "<entity name=\"Pet\">\n\(owner)\n</entity>")
    }
    var project = try LintProject()
    try project.version("App", model(was))
    try project.version("App 2", model(now))
    try project.current("App 2")
    #expect(try project.report().findings.contains { $0.rule == .rowsMayBreakRule } == isTold)
  }

  @Test func `a rule that became stricter is told although the version hashes are equal`() throws {
    typealias P = LintProject
    func name(_ most: Int) -> String {
      P.person(P.attribute("name", "String", "optional=\"YES\" maxValueString=\"\(most)\""))
    }
    var project = try LintProject()
    try project.version("App", name(40))
    try project.version("App 2", name(10))
    try project.current("App 2")
    let keys = try project.report().findings.map(\.key).sorted()
    #expect(keys.map { $0.prefix(5) } == ["GW111", "GW212"], "\(keys)")
  }

  @Test func `elements of a composite attribute are linted by path, at the line of the composite`() throws {
    typealias P = LintProject
    func types(_ elements: String...) -> String {
      "<composite name=\"Place\">\n\(elements.joined(separator: "\n"))\n</composite>"
    }
    let at = "<attribute name=\"at\" optional=\"YES\" attributeType=\"Composite\" composite=\"Place\"/>"
    var project = try LintProject()
    try project.version("App", P.person(P.attribute("name"), at) + types(P.attribute("city"), P.attribute("zip")))
    // A required element of an optional composite may be nil.
    try project.version(
      "App 2",
      P.person(P.attribute("name"), at.replacing(" optional=\"YES\"", with: ""))
        + types(P.attribute("city", "String", ""), P.attribute("room", "Date", "optional=\"YES\"")))
    try project.current("App 2")
    let findings = try project.report().findings
    #expect(
      findings.filter { $0.severity > .note }.map(\.key).sorted() == [
        "GW107:App", "GW201:Person.at.zip:App→App 2", "GW205:Person.at.city:App→App 2",
      ])
    let dropped = try #require(findings.first { $0.rule == .attributeDropped })
    #expect(dropped.message.contains("drops Person.at.zip (String)"))
    #expect(dropped.related.first?.location.line == (try project.line(of: "\"at\"", in: P.contents("App"))))
  }

  @Test func `codes and their words are unique, and nothing is left unsaid`() {
    #expect(Set(LintRule.allCases.map(\.slug)).count == LintRule.allCases.count)
    #expect(LintRule.attributeDropped.slug == "attribute-dropped")
    for rule in LintRule.allCases {
      #expect(rule.code.wholeMatch(of: /GW\d{3}/) != nil)
      #expect(!rule.summary.hasSuffix(".") && rule.explanation.hasSuffix(".") && rule.help.hasSuffix("."))
    }
  }

  @Test func `the page of codes has each with its severity and words`() throws {
    let lines = try Checkout.text("Sources/Godwit/Godwit.docc/Lint.md").split(separator: "\n").filter {
      $0.hasPrefix("| `GW")
    }
    #expect(
      lines.map(String.init)
        == LintRule.allCases.map {
          "| `\($0.code)` `\($0.slug)` | \($0.summary): \($0.severity.rawValue) | \($0.explanation) |"
        })
  }

  // MARK: No findings

  @Test func `what a mapping model serves is not asked of inference`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("age")))
    try project.version("App 2", P.person(P.attribute("age", "Integer 32")))
    try project.current("App 2")
    #expect(Set(try project.report().findings.map(\.rule)) == [.noPath, .needsMappingModel])
    try project.mapping("One", from: "App", to: "App 2", "age: CAST($source.age, \"Integer 32\")")
    let findings = try project.report().findings
    #expect(findings.filter { $0.rule != .mappingModelUnusable }.map(\.key) == [])
  }

  @Test func `what comes back before the step ends is not lost on the way`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name"), P.attribute("zodiac")))
    try project.version("App 2", P.person(P.attribute("name")))
    try project.version("App 3", P.person(P.attribute("name"), P.attribute("zodiac")))
    try project.current("App 3")
    // Equal hashes: a store of the first version is one of the third.
    #expect(try project.report().findings.map(\.key) == ["GW111:App 3:App→App 3"])
    try project.version("App 3", P.person(P.attribute("name"), P.attribute("zodiac"), P.attribute("note")))
    #expect(try project.report().findings == [])
  }

  @Test func `one side of a relationship keeps its links`() throws {
    var project = try LintProject()
    typealias P = LintProject
    let houses = P.relationship("houses", to: "House", inverse: "owner", "optional=\"YES\" toMany=\"YES\"")
    let owner = P.relationship("owner", to: "Person", inverse: "houses", "optional=\"YES\" maxCount=\"1\"")
    func alone(_ line: String) -> String { line.replacing(/\sinverse\w+="\w+"/, with: "") }
    func house(_ line: String) -> String { "<entity name=\"House\">\n\(line)\n</entity>" }
    try project.version("App", P.person(P.attribute("name"), houses, more: house(owner)))
    try project.version("App 2", P.person(P.attribute("name"), more: house(alone(owner))))
    try project.current("App 2")
    #expect(try project.report().findings.filter { $0.severity > .note } == [])
    try project.version("App 2", P.person(P.attribute("name"), alone(houses), more: "<entity name=\"House\"/>"))
    #expect(try project.report().findings.filter { $0.severity > .note } == [])
  }

  @Test func `versions named like the current one are the newest`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("Zoo", P.person(P.attribute("name")))
    try project.version("App 9", P.person(P.attribute("name"), P.attribute("note")))
    try project.version("App 10", P.person(P.attribute("name"), P.attribute("note"), P.attribute("more")))
    try project.current("App 10")
    let finding = try #require(try project.report().findings.first)
    #expect(finding.rule == .versionOrderUnclear)
    #expect(finding.message.hasSuffix("taken as 'Zoo', 'App 9', 'App 10'"))
    // The lock file says it; then there is nothing to find.
    try project.lock()
    try project.editLock { $0.bundles["App.xcdatamodeld"]?.versionOrder = ["App 9", "Zoo", "App 10"] }
    #expect(try project.report().findings == [])
  }

  @Test func `the newest version may revert what came after an older one`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name")))
    try project.version("App 2", P.person(P.attribute("name"), P.attribute("zodiac")))
    try project.version("App 3", P.person(P.attribute("name")))
    try project.current("App 3")
    #expect(
      try project.report().findings.filter { $0.severity > .note }.map(\.key).sorted() == [
        "GW111:App 3:App→App 3", "GW201:Person.zodiac:App 2→App 3",
      ])
  }

  // MARK: The lock file

  @Test func `a loss between two shipped versions is a note that no check fails for`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name"), P.attribute("zodiac")))
    try project.version("App 2", P.person(P.attribute("name")))
    try project.current("App 2")
    #expect(try project.report().fails(isStrict: true))
    #expect(try !project.report().fails(isStrict: false))
    try project.lock()
    let report = try project.report()
    #expect(Set(report.findings.map(\.state)) == [.shipped] && Set(report.findings.map(\.severity)) == [.note])
    #expect(!report.fails(isStrict: true))
    #expect(report.text() == "no findings in 2 versions of 1 model; 2 about shipped steps (`--all` lists them)\n")
    #expect(report.text(showsAll: true).contains("note: GW201"))
  }

  @Test func `an accepted finding fails nothing, and an arrow may be typed`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name"), P.attribute("zodiac")))
    try project.version("App 2", P.person(P.attribute("name")))
    try project.current("App 2")
    try project.lock()
    try project.editLock { lock in
      lock.bundles["App.xcdatamodeld"]?.versions["App 2"] = nil
      lock.bundles["App.xcdatamodeld"]?.accepted = ["GW201:Person.zodiac:App->App 2"]
    }
    let report = try project.report()
    let accepted = report.findings.filter { $0.state == .accepted }
    #expect(accepted.map(\.rule) == [.attributeDropped] && accepted.map(\.severity) == [.warning])
    #expect(report.open.allSatisfy { $0.severity == .note })
    #expect(!report.fails(isStrict: true))
  }

  @Test func `an edited version stays recorded as it was shipped`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name")))
    try project.lock()
    let before = try ModelLock(contentsOf: project.folder.file(P.lockName))
    try project.version("App", P.person(P.attribute("name", "String", "")))
    let finding = try #require(try project.report().findings.first)
    #expect(
      finding.message.hasSuffix("the version hash of 'Person' differs (Person.name: the shipped version says optional)")
    )
    let (after, added) = try project.linter().extendedLock()
    #expect(after == before && added == 0)
  }

  @Test func `a model that moved away is missed in the folder that was searched`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name")))
    try project.version("Other", of: "Other", P.person(P.attribute("name")))
    try project.lock()
    try FileManager.default.removeItem(atPath: project.folder.file("Other.xcdatamodeld"))
    #expect(try project.report().findings.map(\.key) == ["GW102:Other.xcdatamodeld"])
    // One model alone says nothing about the others.
    #expect(try project.linter(["App.xcdatamodeld"]).report().findings == [])
  }

  @Test func `the lock file has sorted keys, a line for each entity, and the same bytes each time`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name"), more: "<entity name=\"House\"/>"))
    try project.version("App 2", P.person(P.attribute("name"), more: "<entity name=\"Home\"/>"))
    try project.lock()
    let text = try ModelLock(contentsOf: project.folder.file(P.lockName)).text()
    #expect(text == (try project.linter().extendedLock().lock.text()))
    let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    let places = [
      "\"App.xcdatamodeld\"", "\"App\"", "\"checksum\"", "\"House\"", "\"Person\"", "\"App 2\"",
    ].map {
      name in lines.firstIndex { $0.hasPrefix(name) }
    }
    #expect(places == places.compactMap(\.self).sorted())
    #expect(text.contains("\"schemaVersion\" : 1"))
  }

  @Test(arguments: [
    ("", "expected JSON"), ("[]", "expected"), ("{\"bundles\":{}}", "schemaVersion"),
    ("{\"schemaVersion\":2,\"bundles\":{}}", "expected schemaVersion 1, found 2"),
    ("{\"schemaVersion\":1,\"bundles\":{\"A\":{\"versions\":{\"1\":{}}}}}", "bundles.A.versions.1"),
    ("{\n<<<<<<< ours\n}", "conflict markers"),
    (#"{"schemaVersion": 1, "bundles": {}, "acepted": []}"#, "unknown key 'acepted'"),
    (#"{"schemaVersion": 1, "bundles": {"A": {"versionorder": []}}}"#, "unknown key 'versionorder' of 'A'"),
    (
      #"{"schemaVersion": 1, "bundles": {"A": {"versions": {"1": {"checksum": "", "entities": {}, "x": 1}}}}}"#,
      "unknown key 'x' of version '1' of 'A'"
    ),
  ])
  func `a lock file that says something else is an error that says what`(text: String, problem: String) throws {
    var project = try LintProject()
    try project.version("App", LintProject.person(LintProject.attribute("name")))
    try project.write(LintProject.lockName, text)
    let error = #expect(throws: GodwitError.self) { _ = try project.linter() }
    #expect(error?.code == .configuration)
    #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
  }

  @Test func `a stale mapping model counts between shipped versions too`() throws {
    var project = try LintProject()
    typealias P = LintProject
    try project.version("App", P.person(P.attribute("name")))
    try project.version("App 2", P.person(P.attribute("name"), P.attribute("note")))
    try project.current("App 2")
    try project.xcodeMapping("One", from: "App", ["name"], to: "App 2", ["name"])
    try project.lock()
    let open = try project.report().open
    #expect(open.map(\.rule) == [.mappingModelStale])
    #expect(open.first?.message.contains("is stale: the destination entity 'Person' has another version hash") == true)
  }

  // MARK: Names that are alike

  @Test(arguments: [
    ("name", "fullName"), ("nickname", "nickName"), ("adress", "address"), ("isForSale", "isAvailableForSale"),
    ("URLString", "urlString"), ("icon", "iconPath"), ("creationDate", "created_date_creation"),
  ])
  func `two names of one thing are alike`(a: String, b: String) {
    #expect(NameLikeness.value(a, b) > 0)
    #expect(NameLikeness.value(b, a) > 0)
  }

  @Test(arguments: [
    ("firstName", "lastName"), ("startDate", "endDate"), ("age", "zip"), ("isRead", "isSent"), ("width", "colour"),
    ("id", "no"),
  ])
  func `names of two things are not`(a: String, b: String) {
    #expect(NameLikeness.value(a, b) == 0)
  }
}
