import Foundation
import GodwitModel
import Testing

@testable import GodwitXcode

/// Version hashes in the forms in which developers have them.
struct PrintedVersionHashesTests {
  private static let bytes = (0..<32).map { UInt8($0 * 7 + 3) }
  private static let hash = VersionHash(bytes: bytes)

  private static func hex(_ bytes: some Sequence<UInt8>, every group: Int = 0) -> String {
    bytes.enumerated().map { index, byte in
      let digits = String(byte, radix: 16)
      return (group > 0 && index > 0 && index.isMultiple(of: group) ? " " : "") + (byte < 16 ? "0" : "") + digits
    }.joined()
  }

  private static let base64 = Data(bytes).base64EncodedString()
  private static let shortened =
    "{length = 32, bytes = 0x\(hex(bytes.prefix(16), every: 4)) ... \(hex(bytes.suffix(8), every: 4)) }"

  @Test(arguments: [
    ("Note = \(shortened);", "Note"), ("\"Note\" = <\(hex(bytes, every: 4))>;", "Note"),
    ("Note: \(hex(bytes))\n", "Note"), ("Note 0x\(hex(bytes).uppercased())", "Note"), ("Note=\(base64)", "Note"),
    ("{\"Note\": \"\(base64)\"}", "Note"), (base64, nil), ("\n\(hex(bytes))\n", nil), ("Émile = \(shortened)", "Émile"),
  ])
  func `a hash is found with the word before it`(text: String, entity: String?) throws {
    let found = try PrintedVersionHashes(Array(text.utf8), file: "x").hashes
    #expect(found.map(\.entity) == [entity], "\(text)")
    let hash = try #require(Self.hash)
    #expect(found.allSatisfy { $0.matches(hash) }, "\(text)")
  }

  @Test func `a message of Core Data gives the hash of each entity, and nothing else that it prints`() throws {
    let message = """
      Error Domain=NSCocoaErrorDomain Code=134100 UserInfo={metadata={
          NSPersistenceFrameworkVersion = 1344;
          NSStoreModelVersionHashes =     {
              Note = \(Self.shortened);
              Tag = \(Self.shortened);
          };
          NSStoreModelVersionChecksumKey = "\(Self.base64)";
          NSStoreModelVersionHashesDigest = "\(Data(Self.bytes + Self.bytes).base64EncodedString())";
          NSStoreUUID = "7C0A0B1E-0000-4000-8000-000000000001";
      }}
      """
    #expect(try PrintedVersionHashes(Array(message.utf8), file: "x").hashes.map(\.entity) == ["Note", "Tag"])
  }

  @Test func `a property list gives the hashes of the metadata or of the current version`() throws {
    let data = Data(Self.bytes)
    let lists: [[String: Any]] = [
      ["NSStoreModelVersionHashes": ["Note": data], "NSStoreUUID": "x"], ["Note": data],
      [
        "NSManagedObjectModel_CurrentVersionName": "B",
        "NSManagedObjectModel_VersionHashes": ["A": ["Old": data], "B": ["Note": data]],
      ],
    ]
    for list in lists {
      for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
        let bytes = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
        let found = try PrintedVersionHashes(Array(bytes), file: "x").hashes
        #expect(found == [.init(entity: "Note", head: Self.bytes)])
      }
    }
  }

  @Test func `lists of several versions, hashes of another length and two hashes of one entity are refused`() throws {
    let (data, other) = (Data(Self.bytes), Data(Self.bytes.reversed()))
    let lists: [[String: Any]] = [
      ["NSManagedObjectModel_VersionHashes": ["A": ["Old": data], "B": ["Note": data]]], ["Note": data.dropLast()],
    ]
    for list in lists {
      let bytes = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      #expect(throws: GodwitError.self) { try PrintedVersionHashes(Array(bytes), file: "x") }
    }
    let text = "Note = \(Self.base64); Note = \(other.base64EncodedString());"
    let error = #expect(throws: GodwitError.self) { try PrintedVersionHashes(Array(text.utf8), file: "x") }
    #expect(error?.code == .dataWrong && error?.message.contains("'Note'") == true)
    // A log may speak of a property list.
    #expect(try PrintedVersionHashes(Array("in a <plist>: Note \(Self.base64)".utf8), file: "x").hashes.count == 1)
  }

  @Test(arguments: ["", "no hash", hex(bytes.dropLast()), "{length = 32, bytes = 0x1 ... }", "<0011>", "{length = 32"])
  func `a text without a hash is an error`(text: String) {
    let error = #expect(throws: GodwitError.self) { try PrintedVersionHashes(Array(text.utf8), file: "x") }
    #expect(error?.code == .dataWrong && error?.remedy != nil)
  }
}
