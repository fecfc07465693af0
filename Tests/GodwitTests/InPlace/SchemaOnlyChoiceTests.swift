import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Which changes definitions alone cannot make, and which strategy makes them instead.
struct SchemaOnlyChoiceTests: SchemaOnlyFixture {
  static let otherChanges: [(reason: String, earlier: Library, later: Library)] = {
    func derived(_ expression: String) -> AttributeDescription {
      var count = AttributeDescription.make("count", .integer64)
      count.derivationExpression = expression
      return count
    }
    var cases: [(String, Library, Library)] = []
    func add(
      _ reason: String, _ change: (inout Library) -> Void, from earlier: (inout Library) -> Void = { _ in }
    ) {
      let earlier = Library().with(earlier)
      // A version hash does not cover rules, so a new attribute makes another version.
      cases.append(
        (
          reason, earlier,
          earlier.with(change).with { $0["Tag"].attributes.append(AttributeDescription.make("passage")) }
        ))
    }
    add("Book.zeta is new and has a default") {
      $0["Book"].attributes.append(AttributeDescription.make("zeta", default: .init("z")))
    }
    add("Book.zeta is new and has a default") {
      $0["Book"].attributes.append(
        AttributeDescription.make("zeta", .boolean, isOptional: false, default: .boolean(false)))
    }
    add("Book.title becomes required") {
      $0["Book"].attributes[0].isOptional = false
      $0["Book"].attributes[0].defaultValue = .init("none")
    }
    add("Book.title has a stricter rule") { $0["Book"].attributes[0].maximumLength = 100 }
    add("Book.title has a stricter rule") { $0["Book"].attributes[0].regularExpression = "b[0-9]+" }
    add("Book.pages has a stricter rule") { $0["Book"].attributes[1].minimumValue = .integer(1) }
    add("Book.pages goes") { $0["Book"].attributes.remove(at: 1) }
    add("Opera.acts goes") { $0["Opera"].attributes = [] }
    add("Author.count is new and derived") { $0["Author"].attributes.append(derived("books.@count")) }
    add(
      "Author.count changes its derivation", { $0["Author"].attributes[2] = derived("books.pages.@sum") },
      from: { $0["Author"].attributes.append(derived("books.@count")) })
    add(
      "Author.count is derived, and is computed for every object", { _ in },
      from: { $0["Author"].attributes.append(derived("books.@count")) })
    add("Author.photo changes its external storage") { $0["Author"].attributes[1] = Library.photo(isExternal: false) }
    add("entity Opera goes") { $0.entities.removeLast() }
    add("the entity number of Author changes, 1 to 2") { $0["Aaa"] = EntityDescription(name: "Aaa") }
    add("entity Suite moves into the table of Work") {
      $0["Suite"] = EntityDescription(name: "Suite", superentityName: "Work")
    }
    add("Book.author becomes required") { $0["Book"].relationships[0].isOptional = false }
    add("Book.tags has a stricter rule") { $0["Book"].relationships[1].maxCount = 5 }
    add("Author.books changes its storage") { $0["Author"].relationships[0].isOrdered = false }
    add("Author.books goes") { library in
      library["Book"].relationships.remove(at: 0)
      library["Author"].relationships.remove(at: 0)
    }
    add("Tag has a new uniqueness constraint, word") { $0["Tag"].uniquenessConstraints = [["word"]] }
    return cases
  }()

  @Test(arguments: otherChanges.indices) func `a change that concerns rows uses another strategy, with the same result`(
    number: Int
  ) throws {
    let (reason, earlier, later) = Self.otherChanges[number]
    let fixture = try fixture(later, from: earlier)
    let step = try #require(try plan(fixture).steps.first)
    let isByExecutor = reason.contains("external storage")
    if isByExecutor {
      #expect(step.way?.hasPrefix("through the executor: ") == true)
      return
    }
    #expect(step.way == "in place by SQL, loading no rows")
    #expect(
      step.costs?.last?.hasSuffix(" rows compared with what the destination requires, and the file checked: \(reason)")
        == true, "\(step.costs ?? []), expected \(reason)")
    try fixture.run()
  }

  @Test(arguments: [
    ("ALTER TABLE ZTAG ADD COLUMN ZMINE VARCHAR", "column ZMINE of table ZTAG goes"),
    (
      "ALTER TABLE ZTAG ADD COLUMN ZMINE VARCHAR DEFAULT 'x'",
      "the definition of table ZTAG is not spelt as Core Data spells it"
    ),
    ("DROP INDEX Z_Author_UNIQUE_name", "index Z_Author_UNIQUE_name is missing, so two rows may have the same values"),
  ])
  func `a table that is not the model's needs another strategy`(sql: String, reason: String) throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    try fixture.alter(sql)
    let step = try #require(try plan(fixture).steps.first)
    #expect(step.way == "in place by SQL, loading no rows")
    #expect(step.costs?.last?.hasSuffix(": \(reason)") == true, "\(step.costs ?? [])")
    try fixture.run()
  }
}
