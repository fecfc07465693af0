import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

struct `Tables of an XML store without its model` {
  private func write(_ objects: String) throws -> (folder: TemporaryFolder, path: String) {
    let folder = try TemporaryFolder()
    let path = folder.file("a.xml")
    let text = """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
      <database><databaseInfo><version>134481920</version><UUID>A</UUID><nextObjectID>9</nextObjectID><metadata>\
      <plist version="1.0"><dict><key>NSStoreModelVersionHashesVersion</key><integer>3</integer></dict></plist>\
      </metadata></databaseInfo>
      \(objects)
      </database>
      """
    try Data(text.utf8).write(to: URL(filePath: path))
    return (folder, path)
  }

  @Test func `values have the types that the file names, and a clash of names is resolved`() throws {
    let (folder, path) = try write(
      """
      <object type="NOTE" id="z1"><attribute name="id" type="string">x</attribute>\
      <attribute name="rank" type="int16">7</attribute><attribute name="day" type="date">12.5</attribute>\
      <attribute name="photo" type="binary">AQI=</attribute>\
      <relationship name="rank" type="0/0" destination="NOTE" idrefs="z1 z2"></relationship></object>
      <object type="NOTE" id="z2"><attribute name="rank" type="int16">many</attribute>\
      <attribute name="isdone" type="bool">1</attribute></object>
      <object type="TAG" id="z3"></object>
      """)
    _ = folder
    let connection = try AtomicTables.open(StoreFiles(path: path))
    defer { try? connection.close() }
    let columns = try connection.rows("SELECT name || ' ' || type FROM pragma_table_info('NOTE', 'source')")
    #expect(
      columns.map { $0[0] } == [
        .text("id_ TEXT"), .text("id TEXT"), .text("rank INTEGER"), .text("day REAL"), .text("photo BLOB"),
        .text("rank_ TEXT"), .text("isdone INTEGER"),
      ])
    let rows = try connection.rows("SELECT id_, id, rank, day, photo, rank_, isdone FROM source.NOTE ORDER BY 1")
    #expect(
      rows == [
        [
          .text("z1"), .text("x"), .integer(7), .real(12.5), .blob([1, 2]), .text("z1 z2"), .null,
        ],
        [.text("z2"), .null, .text("many"), .null, .null, .null, .integer(1)],
      ])
    #expect(try connection.integer("SELECT COUNT(*) FROM source.TAG") == 1)
  }
}
