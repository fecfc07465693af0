import GodwitLint
import TestSupport
import Testing

private typealias P = LintProject

private func renamed(_ name: String, _ identifier: String?, _ type: String = "String") -> String {
  P.attribute(name, type, "optional=\"YES\"" + (identifier.map { " elementID=\"\($0)\"" } ?? ""))
}

/// A project with these versions of a `Person`, the last of them current.
private func project(_ versions: [[String]], more: String = "") throws -> LintProject {
  var project = try LintProject()
  for (place, lines) in versions.enumerated() {
    let name = place == 0 ? "App" : "App \(place + 1)"
    let body = (["<entity name=\"Person\">"] + lines + ["</entity>", more]).filter { !$0.isEmpty }
    try project.version(name, body.joined(separator: "\n"))
    try project.current(name)
  }
  return project
}

private func warnings(_ project: LintProject) throws -> [LintFinding] {
  try project.report().findings.filter { $0.severity > .note }
}

struct `Linting renames` {
  @Test func `an identifier that is the name before is reported from each version, with the first name`() throws {
    let found = try warnings(
      try project([[renamed("a", nil)], [renamed("b", "a")], [renamed("c", "b"), renamed("k", nil)]]))
    #expect(found.map(\.key).sorted() == ["GW213:Person.a:App→App 3", "GW214:Person.c:App 2→App 3"])
    for finding in found { #expect(finding.remedy.contains("the Renaming ID of Person.c in 'App 3' to 'a'")) }
    #expect(
      try warnings(try project([[renamed("a", nil)], [renamed("b", "a")], [renamed("c", "a"), renamed("k", nil)]]))
        == [])
  }

  @Test func `an identifier that was forgotten is reported in both directions`() throws {
    let found = try warnings(
      try project([[renamed("a", nil)], [renamed("b", "a")], [renamed("b", nil), renamed("k", nil)]]))
    #expect(found.map(\.key).sorted() == ["GW213:Person.a:App→App 3", "GW214:Person.b:App 2→App 3"])
    for finding in found { #expect(finding.remedy.contains("the Renaming ID of Person.b in 'App 3' to 'a'")) }
  }

  @Test func `a name that is used again is reported, and what one step puts elsewhere`() throws {
    let kept = try warnings(
      try project([[renamed("a", nil)], [renamed("b", "a")], [renamed("b", "a"), renamed("a", nil)]]))
    #expect(kept.map(\.key).sorted() == ["GW214:Person.a:App 2→App 3", "GW214:Person.a:App→App 3"])
    let forgotten = try warnings(
      try project([[renamed("a", nil)], [renamed("b", "a")], [renamed("b", nil), renamed("a", nil)]]))
    let moved = try #require(forgotten.first { $0.rule == .renameChainBroken })
    #expect(moved.key == "GW213:Person.a:App→App 3")
    #expect(moved.message.contains("makes Person.a Person.a, which the versions between keep as Person.b"))
  }

  @Test func `an exchange that version hashes do not see names what is exchanged`() throws {
    let found = try warnings(
      try project([[renamed("a", nil), renamed("b", nil)], [renamed("a", "b"), renamed("b", "a")]]))
    #expect(
      found.map(\.key).sorted() == [
        "GW111:App 2:App→App 2", "GW215:Person.a:App→App 2", "GW215:Person.b:App→App 2",
      ])
    // With a hash modifier Core Data sees it.
    let modified = P.attribute("k", "String", "optional=\"YES\" versionHashModifier=\"2\"")
    #expect(
      try warnings(
        try project([
          [renamed("a", nil), renamed("b", nil), renamed("k", nil)],
          [renamed("a", "b"), renamed("b", "a"), modified],
        ])) == [])
  }

  @Test func `an exchange in an entity with an equal hash is reported where another entity changes`() throws {
    var made = try project([[renamed("a", nil), renamed("b", nil)]])
    try made.version("App 2", P.person(renamed("a", "b"), renamed("b", "a"), more: "<entity name=\"House\"/>"))
    try made.current("App 2")
    #expect(try warnings(made).map(\.key) == ["GW215:Person.a:App→App 2", "GW215:Person.b:App→App 2"])
  }

  @Test func `a rename that has no identifier is told the first name`() throws {
    let found = try warnings(
      try project([[renamed("mail", nil)], [renamed("email", "mail")], [renamed("emailText", nil)]]))
    let finding = try #require(found.first { $0.rule == .probableRename })
    #expect(finding.remedy.contains("to 'mail'"))
  }

  @Test func `a stricter rule of an attribute is reported, also beside a new type`() throws {
    func limited(_ type: String, _ more: String) -> String { P.attribute("a", type, "optional=\"YES\" " + more) }
    // The rule alone is also why rows are read in place; beside a new type it is not the reason.
    let both = ["GW211:App→App 2", "GW212:Person.a:App→App 2"]
    for (was, now, expected) in [
      (limited("String", "maxValueString=\"40\""), limited("String", "maxValueString=\"10\""), both),
      (limited("String", ""), limited("String", "minValueString=\"2\""), both),
      (limited("String", ""), limited("String", "regularExpressionString=\"a+\""), both),
      (limited("Integer 16", ""), limited("Integer 32", "minValueString=\"3\""), [both[1]]),
    ] {
      let found = try warnings(try project([[was], [now, renamed("k", nil)]]))
      #expect(found.map(\.key).sorted() == expected)
      let back = try warnings(try project([[now], [was, renamed("k", nil)]])).filter { $0.rule == .rowsMayBreakRule }
      // A narrower number may not fit.
      #expect(back.allSatisfy { $0.message.contains("type Integer 32 to Integer 16") })
    }
  }
}

struct `Linting paths of several steps` {
  /// A mapping model from the first version to the second, so that the path has two steps.
  private func path(_ first: [String], _ second: [String], _ third: [String], _ lines: [String], policy: String? = nil)
    throws -> [LintFinding]
  {
    var made = try project([first, second, third])
    let text = lines.map { "      " + $0 }.joined(separator: "\n")
    try made.write(
      "One.mapping.yaml",
      """
      godwit-mapping: 1
      source-model: App
      destination-model: App 2
      entity-mappings:
        - name: PersonToPerson
          source: Person
          destination: Person\(policy.map { "\n    policy: \($0)" } ?? "")
          attributes:
      \(text)

      """)
    return try made.report().findings.filter { $0.rule == .severalSteps }
  }

  @Test func `what the path keeps and Core Data's one step loses is a warning with its names`() throws {
    let (a, b, k) = (renamed("a", nil), renamed("b", nil), renamed("k", nil))
    for line in ["b: $source.a", "b: uppercase:($source.a)"] {
      let found = try path([a], [b], [b, k], [line])
      #expect(found.map(\.severity) == [.warning] && found.map(\.key) == ["GW108:App"])
      #expect(found.first?.message.contains("keeps: Person.a") == true)
    }
    let policy = try path([a], [b], [b, k], ["b: '\"x\"'"], policy: "Split")
    #expect(policy.map(\.severity) == [.warning])
    // The path loses it too; then both ways keep it.
    #expect(try path([a], [b], [b, k], ["b: '\"x\"'"]).map(\.severity) == [.note])
    #expect(try path([a], [a, b], [a, b, k], ["a: $source.a"]).map(\.severity) == [.note])
  }
}

struct `Linting models that CloudKit mirrors` {
  private func vault(_ more: String) -> String {
    """
    <entity name="Vault">
    <attribute name="name" attributeType="String"/>
    <attribute name="code" attributeType="String" defaultValueString=""/>
    <relationship name="keys" toMany="YES" ordered="YES" optional="YES" deletionRule="Deny" destinationEntity="Key" inverseName="vault" inverseEntity="Key"/>
    <relationship name="lone" maxCount="1" optional="YES" deletionRule="Nullify" destinationEntity="Key"/>
    <uniquenessConstraints><uniquenessConstraint><constraint value="name"/></uniquenessConstraint></uniquenessConstraints>
    </entity>
    <entity name="Key">
    <relationship name="vault" maxCount="1" deletionRule="Nullify" destinationEntity="Vault" inverseName="keys" inverseEntity="Vault"/>
    </entity>
    \(more)
    """
  }

  private func findings(_ more: String, _ rule: LintRule = .cloudkitRefuses) throws -> [LintFinding] {
    var project = try LintProject()
    try project.version("App", vault(more))
    try project.current("App")
    return try project.report().findings.filter { $0.rule == rule }
  }

  @Test func `constraints, required, ordered and lone properties and the rule Deny are errors`() throws {
    func cloud(_ entities: String...) -> String {
      let members = entities.map { "<memberEntity name=\"\($0)\"/>" }.joined()
      return "<configuration name=\"Cloud\" usedWithCloudKit=\"YES\">\(members)</configuration>"
    }
    #expect(try findings("") == [])
    let found = try findings(cloud("Vault", "Key"))
    #expect(
      found.map(\.key).sorted() == [
        "GW501:Key.vault", "GW501:Vault(name)", "GW501:Vault.keys", "GW501:Vault.lone", "GW501:Vault.name",
      ])
    #expect(found.allSatisfy { $0.severity == .error })
    #expect(found.first { $0.subject == "Vault.keys" }?.message.contains("ordered, deleted by the rule Deny") == true)
    #expect(try findings(cloud("Key")).map(\.key) == ["GW501:Key.vault"])
  }

  @Test func `what a step removes, renames, gives another type or stores no more is reported`() throws {
    func house(_ name: String, _ was: String?) -> String {
      "<entity name=\"\(name)\"\(was.map { " elementID=\"\($0)\"" } ?? "")/>\n<configuration name=\"Cloud\" usedWithCloudKit=\"YES\"><memberEntity name=\"Person\"/><memberEntity name=\"\(name)\"/></configuration>"
    }
    var made = try LintProject()
    try made.version(
      "App",
      P.person(
        renamed("a", nil), renamed("b", nil), renamed("n", nil, "Integer 16"), renamed("t", nil),
        more: house("House", nil)))
    let transient = renamed("t", nil).replacing("<attribute ", with: "<attribute transient=\"YES\" ")
    try made.version(
      "App 2", P.person(renamed("c", "a"), renamed("n", nil, "Integer 32"), transient, more: house("Home", "House")))
    try made.current("App 2")
    let found = try made.report().findings.filter { $0.rule == .cloudkitKeeps }
    #expect(
      found.map(\.key).sorted()
        == ["Home", "Person.b", "Person.c", "Person.n", "Person.t"].map { "GW502:\($0):App→App 2" })
    try made.lock()
    #expect(try made.report().findings.filter { $0.rule == .cloudkitKeeps }.allSatisfy { $0.severity == .note })
  }
}
