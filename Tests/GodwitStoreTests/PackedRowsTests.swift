import GodwitModel
import GodwitStore
import Testing

/// Values of rows that are read by one thread and used by another come out as they went in.
struct PackedRowsTests {
  @Test func `values of every kind and size come out as they went in`() throws {
    let connection = try StoreConnection(path: nil)
    let statement = try connection.prepare(
      """
      WITH n(i) AS (VALUES (1), (2), (3)) \
      SELECT i, NULL, -0.5 * i, 'text ' || i, x'', '', CAST(x'FF0041' AS TEXT), zeroblob(i * 9000), 'last' FROM n ORDER BY i
      """)
    var packed = PackedRows()
    var expected: [SQLValue] = []
    while try statement.step() {
      packed.append(statement.row, 0..<9)
      expected += statement.row.values(0..<9)
    }
    #expect(packed.count == 27)
    #expect(packed.values(0..<27) == expected)
    #expect(packed.value(25) == .blob([UInt8](repeating: 0, count: 27_000)))
    #expect(packed.byteCount > 54_000)
    packed.removeLast(from: 18)
    #expect(packed.count == 18)
    #expect(packed.values(9..<18) == Array(expected[9..<18]))
  }
}
