import Foundation
import GodwitModel
import TestSupport
import Testing

@Suite struct MappingIDTests {
  private func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  @Test func `the number of a mapping is coded and printed as an integer`() throws {
    #expect(try json([[MappingID(0), 12]]) == "[[0,12]]")
    #expect("godwit_pair_\(MappingID(12))" == "godwit_pair_12")
    #expect(try JSONDecoder().decode([MappingID].self, from: Data("[3,1]".utf8)) == [3, 1])
  }

  @Test func `values by mapping are coded as values by integer`() throws {
    let values: [MappingID: Int64] = [0: 5, 12: 7]
    #expect(try json(values) == #"{"0":5,"12":7}"#)
    #expect(try JSONDecoder().decode([MappingID: Int64].self, from: Data(#"{"0":5,"12":7}"#.utf8)) == values)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([MappingID: Int64].self, from: Data(#"{"a":5}"#.utf8))
    }
  }
}
