import GodwitStore
import Testing

@Test(arguments: [
  ("SELECT * FROM source.\"Z\" AS s", "SELECT * FROM main.\"Z\" AS s"),
  ("PRAGMA source.table_info(Z)", "PRAGMA main.table_info(Z)"),
  (
    "SELECT u.source, 'source.x', \"source.y\" FROM resource.z",
    "SELECT u.source, 'source.x', \"source.y\" FROM resource.z"
  ),
  ("SELECT 'it''s source.' || source.a", "SELECT 'it''s source.' || main.a"), ("source", "source"), ("", ""),
  ("(source.é,source.b)", "(main.é,main.b)"), ("x_source.a ésource.b", "x_source.a ésource.b"),
])
func `a store used as its own source changes only the database name in SQL`(sql: String, expected: String) {
  #expect(StoreConnection.movedToMain(sql) == expected)
}
