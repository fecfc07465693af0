import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@Suite struct `Store metadata` {
  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `the metadata of every corpus store is read, and agrees with Foundation's reader`() throws {
    var unreadable: [String] = []
    for path in CorpusStores.paths {
      do {
        let connection = try StoreConnection.openStore(readingAt: path)
        let metadata = try StoreMetadata(reading: connection, path: path)
        #expect(metadata.versionHashes.values.allSatisfy { $0.count == 32 }, "\(path)")
        #expect(!metadata.versionHashes.isEmpty, "\(path)")
        #expect(metadata.hashesVersion == 3, "\(path)")
        #expect(UUID(uuidString: metadata.uuid) != nil, "\(path)")
        guard case .blob(let bytes) = try connection.value("SELECT Z_PLIST FROM source.Z_METADATA") else {
          Issue.record("\(path) has no property list")
          continue
        }
        let oracle = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil) as? NSDictionary
        let again =
          try PropertyListSerialization.propertyList(from: Data(metadata.plistData), format: nil) as? NSDictionary
        #expect(oracle != nil && oracle == again, "\(path)")
        #expect(try PropertyListValue(binary: metadata.plistData) == .dictionary(metadata.values))
      } catch let error as GodwitError {
        #expect(error.code == .dataWrong)
        unreadable.append(
          path.split(separator: "/").last.map {
            $0 + ": " + error.message.split(separator: ": ").dropFirst().joined(separator: ": ")
          } ?? "")
      }
    }
    #expect(unreadable == ["NotesV7.storedata: expected a property list in 'Z_PLIST', found NULL"])
  }

  @Test func `damaged metadata is an error that names the damage`() throws {
    let table = "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"
    let good = StoreMetadata(versionHashes: ["A": Array(repeating: 7, count: 32)])
    let cases: [([(String, [SQLValue])], String)] = [
      ([], "table 'Z_METADATA' is missing"),
      ([("CREATE TABLE Z_METADATA (Z_VERSION, Z_UUID)", [])], "column 'Z_PLIST' of table 'Z_METADATA' is missing"),
      ([(table, [])], "table 'Z_METADATA' has no row"),
      (
        [(table, []), ("INSERT INTO Z_METADATA VALUES (1, NULL, ?1)", [.blob(good.plistData)])],
        "expected an identifier in 'Z_UUID', found none"
      ),
      (
        [(table, []), ("INSERT INTO Z_METADATA VALUES (1, 'X', NULL)", [])],
        "expected a property list in 'Z_PLIST', found NULL"
      ),
      (
        [(table, []), ("INSERT INTO Z_METADATA VALUES (1, 'X', x'00')", [])],
        "the property list cannot be read: it is not a binary property list, or is cut off"
      ),
      (
        [(table, []), ("INSERT INTO Z_METADATA VALUES (1, 'X', zeroblob(17000000))", [])],
        "expected a property list of at most 16 MiB, found 17000000 bytes"
      ),
      (
        [
          (table, []),
          ("INSERT INTO Z_METADATA VALUES (1, 'X', ?1)", [.blob(PropertyListValue.array([]).binaryPropertyList)]),
        ],
        "the property list is not a dictionary"
      ),
      (
        [
          (table, []),
          (
            "INSERT INTO Z_METADATA VALUES (1, 'X', ?1)",
            [
              .blob(
                PropertyListValue.dictionary(["NSStoreModelVersionHashes": .dictionary(["A": .integer(1)])])
                  .binaryPropertyList
              )
            ]
          ),
        ],
        "key 'NSStoreModelVersionHashes' holds no hashes"
      ),
    ]
    for (statements, problem) in cases {
      let connection = try StoreConnection(path: nil)
      for (sql, arguments) in statements { try connection.execute(sql, arguments) }
      #expect {
        try StoreMetadata(reading: connection, schema: "main", path: "x")
      } throws: { error in
        (error as? GodwitError)?.message == "cannot read the metadata of 'x': " + problem
      }
    }
  }

  @Test func `a store without version information has no hashes`() throws {
    let connection = try StoreConnection(path: nil)
    try connection.execute("CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)")
    try connection.execute(
      "INSERT INTO Z_METADATA VALUES (1, 'X', ?1)",
      [.blob(PropertyListValue.dictionary(["app": .integer(1)]).binaryPropertyList)])
    let metadata = try StoreMetadata(reading: connection, schema: "main", path: "x")
    #expect(metadata.versionHashes.isEmpty)
    #expect(metadata.applicationValues["app"] == .integer(1))
  }

  @Test func `a property list with any byte changed or cut off is read or refused`() throws {
    var metadata = StoreMetadata(versionHashes: ["A": Array(0..<32), "Ünïcode": Array(repeating: 9, count: 32)])
    metadata.values["app"] = .dictionary([
      "list": .array([.integer(-1), .real(0.5), .date(1), .boolean(true), .uid(3)])
    ])
    let bytes = metadata.plistData
    var refused = 0
    for position in bytes.indices {
      for change in [UInt8(0x01), 0x0F, 0x80, 0xFF] {
        var damaged = bytes
        damaged[position] ^= change
        if (try? PropertyListValue(binary: damaged)) == nil { refused += 1 }
      }
      #expect(throws: PropertyListValue.Malformed.self) { try PropertyListValue(binary: Array(bytes[..<position])) }
    }
    #expect(refused > 100)
  }

  @Test func `a property list that contains itself is refused`() throws {
    // One array whose only member is itself.
    let bytes: [UInt8] =
      Array("bplist00".utf8) + [0xA1, 0x00, 0x08] + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1]
      + Array(repeating: 0, count: 8) + [0, 0, 0, 0, 0, 0, 0, 10]
    #expect(throws: PropertyListValue.Malformed(problem: "it is nested more than 100 deep")) {
      try PropertyListValue(binary: bytes)
    }
  }

  @Test func `a changed model keeps the application's keys and the framework version`() throws {
    var old = StoreMetadata(versionHashes: ["A": [1]])
    old.values["app.key"] = .string("kept")
    old.values[StoreMetadata.Key.frameworkVersion] = .integer(977)
    old.values[StoreMetadata.Key.ancillaryHashes] = .dictionary([:])
    old.values[StoreMetadata.Key.checksum] = .string("old")
    old.values = old.values(
      versionHashes: ["B": [2]], digest: "D", checksum: nil, versionIdentifiers: ["v2"],
      extra: ["GodwitJobs": .array([.string("job")])])
    let values = try #require(try PropertyListValue(binary: old.plistData).dictionary)
    #expect(
      values == [
        "app.key": .string("kept"), "NSPersistenceFrameworkVersion": .integer(977), "NSStoreType": .string("SQLite"),
        "NSStoreModelVersionHashes": .dictionary(["B": .data([2])]), "NSStoreModelVersionHashesVersion": .integer(3),
        "NSStoreModelVersionIdentifiers": .array([.string("v2")]), "NSStoreModelVersionHashesDigest": .string("D"),
        "_NSAutoVacuumLevel": .string("2"), "GodwitJobs": .array([.string("job")]),
      ])
    #expect(
      StoreMetadata(versionHashes: ["A": [1]]).frameworkVersion == 1344)
  }

  @Test func `metadata keys are written in byte order`() throws {
    let list = PropertyListValue.dictionary(["b": .integer(1), "a": .integer(300), "é": .string("ü")])
    #expect(
      list.binaryPropertyList == Array("bplist00".utf8)
        + [0xD3, 1, 2, 3, 4, 5, 6, 0x51, 0x61, 0x51, 0x62, 0x61, 0x00, 0xE9, 0x11, 0x01, 0x2C, 0x10, 0x01]
        + [0x61, 0x00, 0xFC, 8, 15, 17, 19, 22, 25, 27] + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 7]
        + Array(repeating: 0, count: 8) + [0, 0, 0, 0, 0, 0, 0, 30])
  }
}
