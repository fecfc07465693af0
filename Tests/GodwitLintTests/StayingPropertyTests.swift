import GodwitLint
import TestSupport
import Testing

private typealias P = LintProject

/// A model's attribute with a default and a rule that the default breaks.
private func broken(_ more: String = "optional=\"YES\" ") -> String {
  P.attribute("code", "String", more + "defaultValueString=\"long\" maxValueString=\"2\"")
}

/// The warnings and errors of a project with these versions, the last of them current.
private func warnings(_ versions: String...) throws -> [LintFinding] {
  var project = try LintProject()
  for (place, body) in versions.enumerated() {
    let name = place == 0 ? "App" : "App \(place + 1)"
    try project.version(name, body)
    try project.current(name)
  }
  return try project.report().findings.filter { $0.severity > .note }
}

private func keys(_ findings: [LintFinding]) -> [String] { findings.map(\.key).sorted() }

private let name = P.attribute("name")
private let step = "App→App 2"

struct `Linting properties that stay` {
  @Test func `an attribute that becomes derived loses its values`() throws {
    let derived = P.attribute(
      "code", "String", "optional=\"YES\" derived=\"YES\" derivationExpression=\"uppercase:(name)\"")
    let found = try warnings(P.person(name, P.attribute("code")), P.person(name, derived))
    #expect(keys(found) == ["GW201:Person.code:\(step)"])
    #expect(found.first?.message.contains("makes Person.code derived") == true)
    // It was computed before: nothing is lost.
    #expect(try warnings(P.person(name, derived), P.person(name, derived, P.attribute("note"))) == [])
  }

  @Test(arguments: ["Shed", "Home"])
  func `a relationship that leads elsewhere loses its links`(target: String) throws {
    func world(_ target: String, _ more: String = "") -> String {
      P.person(
        name,
        "<relationship name=\"at\" destinationEntity=\"\(target)\" deletionRule=\"Nullify\" optional=\"YES\" maxCount=\"1\"/>",
        more,
        more: """
          <entity name="House">\(P.attribute("street"))</entity>
          <entity name="Home" parentEntity="House">\(P.attribute("room"))</entity>
          <entity name="Shed">\(P.attribute("tool"))</entity>
          """)
    }
    let found = try warnings(world("House"), world(target))
    #expect(keys(found) == ["GW202:Person.at:\(step)"])
    #expect(found.first?.message.contains("keeps Person.at without its links to 'House'") == true)
    #expect(try warnings(world("Home"), world("House")) == [])
    // The relationship leads back before the step ends.
    #expect(
      try warnings(world("House"), world(target), world("House", P.attribute("note"))).filter {
        $0.step?.from == "App"
      } == [])
  }

  @Test(arguments: [
    ("Integer 64", "Double", true), ("Decimal", "Double", true), ("Decimal", "Float", true),
    ("Integer 32", "Float", true), ("Double", "Float", true), ("Integer 16", "Float", false),
    ("Integer 32", "Double", false), ("Float", "Double", false), ("Integer 16", "Integer 64", false),
  ])
  func `a type that does not hold every number is told`(was: String, now: String, rounds: Bool) throws {
    let renamed = P.attribute("size", now, "optional=\"YES\" elementID=\"code\"")
    #expect(
      keys(try warnings(P.person(P.attribute("code", was)), P.person(P.attribute("code", now))))
        == (rounds ? ["GW216:Person.code:\(step)"] : []))
    #expect(
      keys(try warnings(P.person(P.attribute("code", was)), P.person(renamed)))
        == (rounds ? ["GW216:Person.code:\(step)"] : []))
  }

  @Test func `what subentities inherit is told once, and so is a property that is dropped`() throws {
    func family(_ lines: String...) -> String {
      P.person(
        lines.joined(separator: "\n"),
        more: "<entity name=\"Adult\" parentEntity=\"Person\"/>\n<entity name=\"Child\" parentEntity=\"Person\"/>")
    }
    #expect(
      keys(try warnings(family(name, P.attribute("age", "Integer 64")), family(name, P.attribute("age", "Float"))))
        == ["GW216:Person.age:\(step)"])
    #expect(keys(try warnings(family(name), family(name, broken()))) == ["GW212:Person.code:\(step)"])
    #expect(keys(try warnings(family(name, P.attribute("zip")), family(name))) == ["GW201:Person.zip:\(step)"])
  }

  @Test(arguments: [
    "maxValueString=\"2\"", "minValueString=\"9\"", "regularExpressionString=\"[0-9]+\"",
  ])
  func `a new attribute whose default breaks its own rule is told`(rule: String) throws {
    func code(_ rule: String, _ more: String = "") -> String {
      P.attribute("code", "String", "defaultValueString=\"long\" \(rule) \(more)")
    }
    for more in ["", "optional=\"YES\""] {
      let found = try warnings(P.person(name), P.person(name, code(rule, more)))
      #expect(keys(found) == ["GW212:Person.code:\(step)"])
      #expect(found.first?.message.contains("every object takes the default") == true)
    }
    #expect(try warnings(P.person(name), P.person(name, code("maxValueString=\"4\""))) == [])
    // No object of a new entity is there.
    #expect(try warnings(P.person(name), P.person(name, more: "<entity name=\"House\">\(code(rule))</entity>")) == [])
  }

  @Test func `a default that breaks a rule is told where it takes the place of nil, or of what was transient`() throws {
    let limit = "maxValueString=\"2\""
    let optional = P.attribute("code", "String", "optional=\"YES\" \(limit)")
    let nils = try warnings(P.person(name, optional), P.person(name, broken("")))
    #expect(keys(nils) == ["GW212:Person.code:\(step)"])
    #expect(nils.first?.message.contains("an object without a value takes the default") == true)
    let transient = P.attribute("code", "String", "optional=\"YES\" transient=\"YES\"")
    #expect(keys(try warnings(P.person(name, transient), P.person(name, broken()))) == ["GW212:Person.code:\(step)"])
    #expect(try warnings(P.person(name, optional), P.person(name, broken(), P.attribute("note"))) == [])
  }

  @Test func `a constraint that an earlier one implies is not told`() throws {
    func unique(_ lists: [String]...) -> String {
      let constraints = lists.map { list in
        "<uniquenessConstraint>\(list.map { "<constraint value=\"\($0)\"/>" }.joined())</uniquenessConstraint>"
      }
      return P.person(
        name, P.attribute("code"), P.attribute("zip"),
        "<uniquenessConstraints>\(constraints.joined())</uniquenessConstraints>")
    }
    #expect(try warnings(unique(["name"]), unique(["name", "code"])) == [])
    #expect(try warnings(unique(["name", "code"]), unique(["code", "name"])) == [])
    #expect(try warnings(unique(["zip"], ["code"]), unique(["name", "code"])) == [])
    for (was, now) in [(["name", "code"], ["name"]), (["name", "code"], ["code", "zip"])] {
      let list = now.joined(separator: ", ")
      #expect(keys(try warnings(unique(was), unique(now))) == ["GW208:Person(\(list)):\(step)"])
    }
  }

  @Test(arguments: ["String", "Transformable"])
  func `a step that stops every run is an error`(type: String) throws {
    let external = P.attribute("code", type, "optional=\"YES\" allowsExternalBinaryDataStorage=\"YES\"")
    let found = try warnings(P.person(name, P.attribute("code", type)), P.person(name, external))
    #expect(keys(found) == ["GW209:\(step)"])
    #expect(found.first?.severity == .error)
    #expect(found.first?.message.contains("stops every run: cannot copy 'Person.code'") == true)
    #expect(found.first?.remedy == "keep the flag as it was")
  }
}
