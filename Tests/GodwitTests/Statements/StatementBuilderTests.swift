import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// Constants, aliases and places of one statement.
struct StatementBuilderTests {
  @Test func `whole numbers are written as text, and all other constants are bound after the two keys`() {
    let builder = StatementBuilder()
    #expect(builder.bind(.null) == "NULL")
    #expect(builder.bind(.integer(7)) == "7" && builder.bind(.integer(-7)) == "(-7)")
    // No literal of SQL is the least number.
    #expect(builder.bind(.integer(.min)) == "?3")
    #expect(builder.bind(.text(Array("a'b".utf8))) == "?4")
    #expect(builder.bind(.real(0.1)) == "?5")
    #expect(
      builder.arguments(from: 1, through: 9)
        == [.integer(1), .integer(9), .integer(.min), .text(Array("a'b".utf8)), .real(0.1)])
  }

  @Test func `a repeated constant is bound once`() {
    let builder = StatementBuilder()
    #expect(builder.bind(.real(0.5)) == builder.bind(.real(0.5)))
    #expect(builder.bind(.real(1.5)) == "?4")
  }

  @Test func `every table alias is different`() {
    let builder = StatementBuilder()
    #expect(Set((0..<5).map { _ in builder.alias() } + (0..<5).map { _ in builder.alias("a") }).count == 10)
  }

  @Test func `an abandoned expression leaves no bound constant`() {
    let builder = StatementBuilder()
    _ = builder.bind(.real(0.5))
    let mark = builder.mark
    _ = builder.bind(.real(2.5))
    builder.restore(mark)
    #expect(builder.arguments().count == 3)
    #expect(builder.bind(.real(3.5)) == "?4")
  }
}
