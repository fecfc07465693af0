import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Drafts for an attribute that has another type.
struct MappingDraftTests {
  private static func draft(_ before: AttributeType, _ after: AttributeType) throws -> MappingDraft {
    MappingDraft(
      from: try ManagedObjectModel(name: "1", entities: [.make("A", ["n": before])]),
      to: try ManagedObjectModel(name: "2", entities: [.make("A", ["n": after])]))
  }

  private static let kept: [(AttributeType, AttributeType)] = [
    (.integer16, .integer32), (.integer16, .integer64), (.integer32, .integer64), (.boolean, .integer16),
    (.boolean, .integer64), (.integer16, .double), (.integer32, .double), (.integer64, .double), (.integer16, .float),
  ]

  @Test(arguments: kept)
  func `a change of numbers of which Core Data's result is known takes the source's value`(
    before: AttributeType, after: AttributeType
  ) throws {
    let draft = try Self.draft(before, after)
    let value = try #require(draft.model["AToA"]?.attributeMappings.first)
    #expect(value.name == "n" && value.value.description == "$source.n")
    #expect(draft.remarks.allSatisfy { !$0.isPlaceholder })
    let remark = try #require(draft.remarks.first { $0.subject == .attribute("n") }?.text)
    #expect(remark.hasPrefix("\(before.xcodeName) to \(after.xcodeName)"))
    #expect(remark.contains("nearest Double") == (before == .integer64 && after == .double))
  }

  private static let open: [(AttributeType, AttributeType)] = [
    (.integer64, .integer16), (.integer32, .integer16), (.double, .integer64), (.double, .float), (.float, .double),
    (.integer32, .float), (.integer64, .float), (.integer16, .decimal), (.decimal, .double), (.decimal, .integer64),
    (.integer16, .boolean), (.boolean, .double), (.date, .double), (.string, .integer16), (.integer16, .string),
  ]

  @Test(arguments: open)
  func `any other change of type takes an expression, with what does not fit`(
    before: AttributeType, after: AttributeType
  ) throws {
    let draft = try Self.draft(before, after)
    let conversion = try #require(TypeConversion.between(before, after))
    #expect(
      draft.model["AToA"]?.attributeMappings.map(\.value.source.text) == [conversion.expression(of: "$source.n")])
    let remark = try #require(draft.remarks.first { $0.subject == .attribute("n") })
    #expect(!remark.isPlaceholder && remark.text.contains(conversion.misfit))
  }

  @Test func `a change of type that no expression makes is left to a person`() throws {
    let draft = try Self.draft(.date, .uuid)
    #expect(draft.model["AToA"]?.attributeMappings.isEmpty == true)
    #expect(draft.remarks.filter(\.isPlaceholder).map(\.subject) == [.attribute("n")])
  }

  @Test func `a draft with wider numbers runs unchanged, and rounds as a Double does`() throws {
    let before: [EntityDescription] = [
      .make("A", ["small": .integer16, "large": .integer64, "flag": .boolean, "short": .integer16])
    ]
    let after: [EntityDescription] = [
      .make("A", ["small": .integer64, "large": .double, "flag": .integer32, "short": .float])
    ]
    let fixture = try MigrationFixture(before, to: after)
    let numbers: [Int64] = [Int64.min, -9_007_199_254_740_993, -1, 9_007_199_254_740_992, 9_007_199_254_740_993, .max]
    try fixture.build { store in
      for (index, number) in numbers.enumerated() {
        let small = index.isMultiple(of: 2) ? Int64(Int16.min) : Int64(Int16.max)
        try store.insert(
          "A", key: Int64(index + 1),
          attributes: [
            "small": .integer(small), "large": .integer(number), "flag": .boolean(index.isMultiple(of: 2)),
            "short": .integer(small),
          ])
      }
      try store.insert("A", key: Int64(numbers.count + 1))
    }
    let draft = MappingDraft(from: fixture.source, to: fixture.destination)
    #expect(draft.remarks.allSatisfy { !$0.isPlaceholder })
    fixture.mappings = draft.model.entityMappings
    try fixture.run()
    let connection = try StoreConnection.openStore(readingAt: fixture.destinationPath)
    let rows = try connection.rows("SELECT ZSMALL, ZLARGE, ZFLAG, ZSHORT FROM source.ZA ORDER BY Z_PK")
    var expected: [[SQLValue]] = numbers.enumerated().map { index, number in
      let small = index.isMultiple(of: 2) ? Int64(Int16.min) : Int64(Int16.max)
      return [.integer(small), .real(Double(number)), .integer(index.isMultiple(of: 2) ? 1 : 0), .real(Double(small))]
    }
    expected.append([.null, .null, .null, .null])
    #expect(rows == expected)
  }
}
